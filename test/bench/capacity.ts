import { report } from './rounds.ts';
import { type Measured, openSteady } from './steady.ts';

/**
 * The highest rate at which one process polls every account on time, on two cores shared with Redis and the server that
 * stands in for the exchange. Accounts, each polled once a second, are added until one is late.
 */
const RATES = (process.env['BENCH_RATES'] ?? '1000,2000,3000,4000,5000').split(',').map(Number);
const WINDOW_MS = Number(process.env['BENCH_WINDOW_MS'] ?? '10000');
const CADENCE_MS = 1_000;
/** A poll later than this after the previous one is late: it missed its second by a quarter. */
const LONGEST_GAP_MS = CADENCE_MS * 1.25;

const steady = await openSteady();
let highest = 0;
for (const accounts of RATES) {
  const measured = await steady.measure(accounts, WINDOW_MS);
  const isOnTime = say(accounts, measured);
  if (!isOnTime) break;
  highest = accounts;
}
await steady.close();
report('capacity: highest rate held on time by one process, accounts per second (limits overridden)', {
  highest,
  target: 2_000,
});

function say(accounts: number, measured: Measured): boolean {
  const { gapsMs, lagsMs, polls, elapsedMs, cpuUs, redisCpuUs, silent, residentBytes } = measured;
  const late = gapsMs.filter((gap) => gap > LONGEST_GAP_MS).length;
  report('capacity: one step', {
    accounts,
    pollsPerSecond: (polls * 1_000) / elapsedMs,
    late,
    silent,
    gapP99Ms: part(gapsMs, 0.99),
    longestGapMs: part(gapsMs, 1),
    lagP50Ms: part(lagsMs, 0.5),
    lagP99Ms: part(lagsMs, 0.99),
    coreShare: cpuUs / 1_000 / elapsedMs,
    redisShare: redisCpuUs / 1_000 / elapsedMs,
    residentMb: residentBytes / 1e6,
  });
  return late === 0 && silent === 0;
}

function part(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}
