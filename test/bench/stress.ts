import { runInThread } from '../../src/app/scheduled-stress/run-in-thread.ts';
import { decimal, formatDecimal } from '../../src/core/quantities/decimal.ts';
import type { StartingBook } from '../../src/replay/positions/starting-account.ts';
import { median, report } from './rounds.ts';
import { type Measured, openSteady } from './steady.ts';

/**
 * How much a stress test delays the polls of the process that runs it: the same daemon in windows without and with one,
 * alternating. Then the cost of a whole test with the default scenarios, beside the daemon at work.
 */
const ACCOUNTS = Number(process.env['BENCH_ACCOUNTS'] ?? '200');
const STRESSED = Number(process.env['BENCH_STRESSED'] ?? '7');
const WINDOW_MS = Number(process.env['BENCH_WINDOW_MS'] ?? '10000');
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? '6');
const SCENARIOS = ['shock-down-20', '2020-03-12', '2025-10-10', 'rally'];

const text = (value: number) => formatDecimal(decimal(String(value)));

function book(accounts: number): readonly StartingBook[] {
  return Array.from({ length: accounts }, (_, index) => ({
    id: `bench-${index}`,
    collateral: { USDT: text(3_000 + 1_000 * index) },
    hedgeMode: false,
    positions: [{ market: 'BTC_PERP', side: index % 3 === 2 ? 'short' : 'long', amount: text(0.5) }],
    loans: [],
    markPrices: { BTC_PERP: 60_000 },
  }));
}

type Window = Omit<Measured, 'redisBytes'>;

const lagOf = ({ lagsMs }: Window, part: number): number => {
  const sorted = lagsMs.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN;
};

const steady = await openSteady();
const daemon = await steady.start(ACCOUNTS);
const input = {
  configFile: daemon.configFile,
  accounts: book(STRESSED),
  scenarios: SCENARIOS,
  conditions: ['crash'],
};

async function windowWith(): Promise<Window> {
  const over = new AbortController();
  const running = (async () => {
    while (!over.signal.aborted) await runInThread(input, { timeLimitMs: 600_000, signal: over.signal });
  })();
  const window = await daemon.during(WINDOW_MS);
  over.abort();
  await running;
  return window;
}

const without: Window[] = [];
const withStress: Window[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const turns = [
    async () => void without.push(await daemon.during(WINDOW_MS)),
    async () => void withStress.push(await windowWith()),
  ];
  for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
}
const lag = (windows: readonly Window[], part: number): number =>
  median(windows.map((window) => lagOf(window, part)));
const cores = (windows: readonly Window[]): number =>
  median(windows.map(({ cpuUs, elapsedMs }) => cpuUs / 1_000 / elapsedMs));
report('stress: lag of polls without and with a stress test in the same process, ms', {
  accounts: ACCOUNTS,
  stressed: STRESSED,
  rounds: ROUNDS,
  lagP50WithoutMs: lag(without, 0.5),
  lagP50WithMs: lag(withStress, 0.5),
  lagP99WithoutMs: lag(without, 0.99),
  lagP99WithMs: lag(withStress, 0.99),
  coresWithout: cores(without),
  coresWith: cores(withStress),
  pollsPerSecondWithout: median(without.map(({ polls, elapsedMs }) => (polls * 1_000) / elapsedMs)),
  pollsPerSecondWith: median(withStress.map(({ polls, elapsedMs }) => (polls * 1_000) / elapsedMs)),
});
const startedMs = performance.now();
const { cases } = await runInThread(input, { timeLimitMs: 600_000, signal: new AbortController().signal });
report('stress: a whole test with the scenarios of the default, beside the daemon', {
  stressed: STRESSED,
  cases: cases.length,
  wallS: (performance.now() - startedMs) / 1_000,
});
await daemon.stop();
await steady.close();
