import process from 'node:process';

/** Best time of the work below on a server's core, for which bounds in milliseconds are meant. */
const REFERENCE_MS = 8;
const ROUNDS = 5;

const TEXT = JSON.stringify(
  Array.from({ length: 4_000 }, (_, index) => ({
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
 * A bound on processor time multiplied by it means the same anywhere.
 */
export function slowness(): number {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.threadCpuUsage();
    for (let times = 0; times < 4; times += 1) work();
    const { user, system } = process.threadCpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return Math.max(1, best / REFERENCE_MS);
}
