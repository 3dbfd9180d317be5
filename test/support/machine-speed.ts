import process from 'node:process';

/** Time of the work below on a server's core, for which bounds in milliseconds are meant. */
const REFERENCE_MS = 40;
/** Some kernels count processor time in steps of 4 ms. */
const TIMES = 5;

/** As long as the longest replies, so that it needs as much memory. */
const TEXT = JSON.stringify(
  Array.from({ length: 16_000 }, (_, index) => ({
    id: index,
    name: `n${index}`,
    amount: `${index}.5`,
    on: true,
  })),
);

/** Scans a text character by character, and parses it as JSON: typical work of a program that reads replies. */
function work(): number {
  let commas = 0;
  for (let at = 0; at < TEXT.length; at += 1) if (TEXT.charCodeAt(at) === 0x2c) commas += 1;
  const rows = JSON.parse(TEXT) as readonly { readonly id: number }[];
  return commas + rows.reduce((sum, { id }) => sum + id, 0);
}

/**
 * How many times slower this machine currently is than the core that bounds in milliseconds are meant for; at least 1.
 * A shared core changes within moments: measure right before and after what is judged.
 */
export function slowness(): number {
  const before = process.threadCpuUsage();
  for (let times = 0; times < TIMES; times += 1) work();
  const { user, system } = process.threadCpuUsage(before);
  return Math.max(1, (user + system) / 1000 / REFERENCE_MS);
}
