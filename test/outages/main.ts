import process from 'node:process';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { ask } from '../support/threads.ts';
import type { Judged } from './judge.ts';
import {
  killedOutages,
  MOMENTS,
  nameOf,
  type Outage,
  PARTITIONS,
  type Partition,
  partitionOutages,
} from './outage.ts';

const HELP = `Takes Redis, or the way to it or to the exchange, from real daemons while a market falls, and checks by the
simulated exchange's ledger that protection goes on, that no target is crossed and that nothing is sent twice; and that
state and audit trail are whole when it is back. Needs redis-server or valkey-server.

  npm run outages -- [--moments N] [--instances 1|2] [--seed S] [--down SECONDS] [--at-once N] [--json]
      Redis is killed at N (default ${MOMENTS.length}) moments of an action, by default with one instance and with two
  npm run outages -- --partition NAME|all [--runs N] [--seed S] ...
      a network that lets nothing through, N (default 20) times each: ${PARTITIONS.join(', ')}

  --down     how long it lasts, in seconds; default 60
  --at-once  how many are played at the same time; default 4

Ends with 0 when everything held, with 1 when something did not, with 2 for options that make no sense, and with 130
when it was interrupted (what was played by then is summed up).
`;

class UsageError extends Error {}

function whole(name: string, text: string, [least, most]: readonly [number, number]): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`--${name} ${text}: expected a whole number from ${least} to ${most}`);
}

function flagsOf() {
  try {
    return parseArgs({
      options: {
        moments: { type: 'string' },
        instances: { type: 'string' },
        partition: { type: 'string' },
        runs: { type: 'string' },
        seed: { type: 'string', default: '1' },
        down: { type: 'string', default: '60' },
        'at-once': { type: 'string', default: '4' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

type Flags = ReturnType<typeof flagsOf>;

function outagesOf(flags: Flags): readonly Outage[] {
  const seed = whole('seed', flags.seed, [0, 999_999_999]);
  const downMs = whole('down', flags.down, [1, 600]) * 1_000;
  if (flags.partition === undefined) {
    if (flags.runs !== undefined) throw new UsageError('--runs goes with --partition');
    const moments = whole('moments', flags.moments ?? String(MOMENTS.length), [1, 1_000]);
    const instances =
      flags.instances === undefined
        ? ([1, 2] as const)
        : [whole('instances', flags.instances, [1, 2]) as 1 | 2];
    return instances.flatMap((count) => killedOutages(seed, moments, count, downMs));
  }
  if (flags.moments !== undefined || flags.instances !== undefined) {
    throw new UsageError('--moments and --instances do not go with --partition');
  }
  const runs = whole('runs', flags.runs ?? '20', [1, 1_000]);
  return partitionsOf(flags.partition).flatMap((between) => partitionOutages(seed, runs, between, downMs));
}

function partitionsOf(name: string): readonly Partition[] {
  const found = PARTITIONS.filter((one) => name === 'all' || one === name);
  if (found.length === 0) throw new UsageError(`--partition ${name}: expected all, ${PARTITIONS.join(', ')}`);
  return found;
}

type Answer = Judged | { readonly outage: Outage; readonly broken: string; readonly isStopped: boolean };

async function playAll(
  outages: readonly Outage[],
  atOnce: number,
  take: (answer: Answer) => void,
): Promise<boolean> {
  const left = [...outages];
  let isStopped = false;
  const workers = new Set<Worker>();
  const stop = (): void => {
    isStopped = true;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    for (const worker of workers) worker.postMessage('stop');
  };
  process.once('SIGINT', stop);
  const next = (): Outage | undefined => (isStopped ? undefined : left.shift());
  const work = async (): Promise<void> => {
    const worker = new Worker(new URL('./worker.ts', import.meta.url));
    workers.add(worker);
    for (let outage = next(); outage !== undefined; outage = next()) {
      const answer = await ask<Answer>(worker, outage);
      if (!('broken' in answer && answer.isStopped)) take(answer);
    }
    await worker.terminate();
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, outages.length) }, work));
  process.removeListener('SIGINT', stop);
  return isStopped;
}

function line(answer: Answer): string {
  const { outage } = answer;
  const who = `${outage.instances} ${outage.instances === 1 ? 'instance ' : 'instances'}`;
  if ('broken' in answer) return `${nameOf(outage)}, ${who}, seed ${outage.seed}: ${answer.broken}`;
  const { name, noticedMs, protectedMs, uncoveredMs, orders, refusedAsTaken, overshoots, finalSize } = answer;
  const inS = (ms: number | null): string => (ms === null ? '-' : (ms / 1_000).toFixed(1)).padStart(5);
  const figures = [
    inS(noticedMs),
    inS(protectedMs),
    inS(uncoveredMs),
    ...[orders, refusedAsTaken, overshoots].map((one) => String(one).padStart(6)),
  ];
  const held = answer.violations.length === 0 ? 'held' : answer.violations.join('; ');
  return `${name.padEnd(38)} ${who} ${String(outage.seed).padStart(4)} ${figures.join(' ')} ${finalSize.toFixed(3)}  ${held}`;
}

const HEAD = `${'what'.padEnd(38)} ${'who'.padEnd(11)} seed   noticed protected uncovered (s) orders refused overshoots size`;

async function main(): Promise<number> {
  const flags = flagsOf();
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const outages = outagesOf(flags);
  const atOnce = whole('at-once', flags['at-once'], [1, 64]);
  let [played, failed] = [0, 0];
  if (!flags.json) process.stdout.write(`${HEAD}\n`);
  const isStopped = await playAll(outages, atOnce, (answer) => {
    played += 1;
    if ('broken' in answer || answer.violations.length > 0) failed += 1;
    process.stdout.write(`${flags.json ? JSON.stringify(answer) : line(answer)}\n`);
  });
  if (!flags.json) process.stdout.write(`${played} of ${outages.length} played, ${failed} did not hold\n`);
  if (isStopped) return 130;
  return failed > 0 ? 1 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
