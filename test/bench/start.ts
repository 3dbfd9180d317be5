import { builtProgram, openInstalled } from './installed.ts';
import { median, report } from './rounds.ts';

/**
 * From the start of the installed program to its first judged account, with an empty store: processor time of all its
 * threads, and elapsed time. The first start after an installation is a separate figure.
 */
const ACCOUNTS = Number(process.env['BENCH_ACCOUNTS'] ?? '3');
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? '7');

const installed = await openInstalled(await builtProgram(), ACCOUNTS);
const starts: Awaited<ReturnType<typeof installed.start>>[] = [];
for (let round = 0; round <= ROUNDS; round++) {
  const started = await installed.start();
  starts.push(started);
  await started.daemon.stop();
}
await installed.close();
const [first, ...others] = starts;
const of = (figure: 'firstCpuMs' | 'firstMs' | 'allCpuMs' | 'allMs'): number =>
  median(others.map((start) => start[figure]));
report('start: until the first account is judged, ms', {
  accounts: ACCOUNTS,
  cpuMs: of('firstCpuMs'),
  targetCpuMs: 1_200,
  worstCpuMs: Math.max(...others.map(({ firstCpuMs }) => firstCpuMs)),
  elapsedMs: of('firstMs'),
  allJudgedCpuMs: of('allCpuMs'),
  allJudgedMs: of('allMs'),
  rounds: ROUNDS,
  firstAfterInstallCpuMs: first?.firstCpuMs ?? Number.NaN,
});
