import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { ask } from '../support/threads.ts';
import { faultWorld, PRESSING_FROM } from './fault-world.ts';
import { REMOVED_GUARDS } from './guards.ts';
import { type Judged, judge } from './judge.ts';
import type { FaultWorld } from './parts.ts';
import { playForReal, realWorlds } from './real-play.ts';
import { shrink } from './shrink.ts';
import { type Summary, Tally } from './tally.ts';
import { playWithout } from './without-guard.ts';

const HELP = `Plays worlds of the fault matrix: every fault of the simulated exchange, every kind of request and
every reading of the specification, with hosts, stores, markets and people that trouble them, and checks what must hold
by the exchange's ledger.

  npm run faults -- [--seeds N] [--from SEED] [--workers N] [--record FILE] [--fill TIMES] [--json]
  npm run faults -- --seed SEED [--shrink] [--spec]      plays one world again
  npm run faults -- --real [--seeds N] [--from SEED] [--workers N] [--json]
                                                         plays such worlds in real time: daemons are processes, on a
                                                         real Redis, and the exchange is asked over HTTP
  npm run faults -- --guards [--seeds N] [--from SEED]   takes each guard of the design out of the code, and plays a
                                                         world that shows it (--seeds: looks for such worlds)

  --record   notes each world in FILE; those that FILE says to have held are counted, not played again
  --fill     plays N worlds at most, and of those from SEED on only such as may meet a pair of fault, request and reading
             that was met fewer TIMES; all worlds of FILE are counted
  --shrink   finds the shortest list of faults and events with which it still fails
  --spec     prints the world as JSON

Ends with 0 when everything held (or every missing guard was shown), with 1 when something did not, with 2 for options that make no sense, and with 130
when it was interrupted, 143 when it was terminated (what was played by then is summed up).
`;

const LONGEST_WORLD_MS = 300_000;
const MOST_LETTERS = 160;
/** Plays on real parts mostly wait. */
const REAL_PER_CORE = 3;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string', default: String(PRESSING_FROM) },
    guards: { type: 'boolean', default: false },
    real: { type: 'boolean', default: false },
    workers: { type: 'string' },
    record: { type: 'string' },
    fill: { type: 'string' },
    seed: { type: 'string' },
    shrink: { type: 'boolean', default: false },
    spec: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function whole(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  process.stderr.write(`--${name} ${text}: expected a whole number\n`);
  process.exit(2);
}

if (values.help) process.stdout.write(HELP);
else if (values.guards) await playGuards();
else if (values.seed !== undefined) await playOne(faultWorld(whole('seed', values.seed)));
else {
  const from = whole('from', values.from);
  const cores = availableParallelism();
  const workers = whole('workers', values.workers ?? String(values.real ? REAL_PER_CORE * cores : cores));
  if (values.real) await playMany(playsForReal(from, whole('seeds', values.seeds ?? '100')), workers);
  else {
    const before = values.record === undefined ? new Map<number, Judged>() : heldBefore(values.record);
    const count = whole('seeds', values.seeds ?? '200');
    const tally = new Tally();
    const times = values.fill === undefined ? undefined : whole('fill', values.fill);
    for (const [seed, judged] of before)
      if (times !== undefined || (seed >= from && seed < from + count)) tally.add(judged);
    const isNew = (seed: number): boolean => !before.has(seed);
    const seeds =
      times === undefined
        ? Array.from({ length: count }, (_, at) => from + at).filter(isNew)
        : fillingSeeds(tally, { from, count, times, isNew });
    await playMany(playsInWorlds(seeds, count), workers, tally);
  }
}

interface Filling {
  readonly from: number;
  readonly count: number;
  /** How often each pair must be met. */
  readonly times: number;
  readonly isNew: (seed: number) => boolean;
}

function* fillingSeeds(tally: Tally, { from, count, times, isNew }: Filling): Generator<number> {
  let left = count;
  for (let seed = from; left > 0 && !tally.isFilled(times); seed++) {
    if (!isNew(seed) || !tally.mayFill(faultWorld(seed), times)) continue;
    left -= 1;
    yield seed;
  }
}

/** Each guard by itself; a guard whose lack no world shows is an untested check. */
async function playGuards(): Promise<void> {
  for (const guard of REMOVED_GUARDS) {
    const searched = values.seeds === undefined ? undefined : whole('seeds', values.seeds);
    const from = whole('from', values.from);
    const seeds =
      searched === undefined ? [guard.seed] : Array.from({ length: searched }, (_, at) => from + at);
    const shown = await playWithout(guard, seeds);
    if (shown === undefined) process.exitCode = 1;
    const { name, shows } = guard;
    if (values.json) process.stdout.write(`${JSON.stringify({ name, shows, ...shown })}\n`);
    else {
      const found =
        shown === undefined ? 'NOT SHOWN' : `seed ${shown.seed}: ${shown.violation.slice(0, MOST_LETTERS)}`;
      process.stdout.write(`without "${name}": ${found}\n`);
    }
  }
}

async function playOne(world: FaultWorld): Promise<void> {
  const judged = await judge(world);
  const fails = judged.violations.length > 0;
  const shown =
    fails && values.shrink
      ? await shrink(world, async (smaller) => failsAlike(judged, await judge(smaller)))
      : world;
  if (values.spec) process.stdout.write(`${JSON.stringify(shown.spec, null, 2)}\n`);
  else {
    const { faults = [], events = [] } = shown.spec;
    for (const one of [...faults, ...events]) process.stderr.write(`${JSON.stringify(one).slice(0, 300)}\n`);
    process.stdout.write(`${JSON.stringify(shown === world ? judged : await judge(shown))}\n`);
  }
  if (fails) process.exitCode = 1;
}

/** Whether both break the same invariant. */
function failsAlike(one: Judged, other: Judged): boolean {
  const invariants = new Set(one.violations.map(invariantOf));
  return other.violations.some((words) => invariants.has(invariantOf(words)));
}

function invariantOf(words: string): string {
  return words.split(':', 1)[0] ?? '';
}

type Answer = Judged | { readonly seed: number; readonly broken: string };

/** Work shared by several workers. Each plays one after another, until none are left or it is stopped. */
interface Plays {
  readonly count: number;
  readonly work: (take: (answer: Answer) => void, signal: AbortSignal) => Promise<void>;
}

/** Each worker is a thread; one that a world blocks for too long is terminated, and that world is a finding. */
function playsInWorlds(seeds: Iterable<number>, count: number): Plays {
  // All workers take from the same iterator.
  const left = seeds[Symbol.iterator]();
  const work: Plays['work'] = async (take, signal) => {
    let worker: Worker | undefined;
    for (let next = left.next(); next.done !== true && !signal.aborted; next = left.next()) {
      const seed = next.value;
      worker ??= new Worker(new URL('./worker.ts', import.meta.url));
      const answer = await playedBy(worker, seed);
      if (answer !== undefined) take(answer);
      else {
        await worker.terminate();
        worker = undefined;
        take({ seed, broken: `not played to its end within ${LONGEST_WORLD_MS / 1_000} s` });
      }
    }
    await worker?.terminate();
  };
  return { count, work };
}

async function playedBy(worker: Worker, seed: number): Promise<Answer | undefined> {
  const given = AbortSignal.timeout(LONGEST_WORLD_MS);
  try {
    return await ask<Answer>(worker, seed, given);
  } catch (error) {
    if (given.aborted) return undefined;
    throw error;
  }
}

function playsForReal(from: number, count: number): Plays {
  const worlds = realWorlds(from, count);
  const work: Plays['work'] = async (take, signal) => {
    while (!signal.aborted) {
      const { value: world } = worlds.next();
      if (world === undefined) return;
      const { seed } = world.spec;
      try {
        take(await playForReal(world, signal));
      } catch (error) {
        if (!signal.aborted) take({ seed, broken: String(error) });
      }
    }
  };
  return { count, work };
}

/** Earlier worlds that held are skipped; the others are played again. */
function heldBefore(record: string): Map<number, Judged> {
  const lines = existsSync(record) ? readFileSync(record, 'utf8').split('\n') : [];
  const held = lines
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Judged)
    .filter((judged) => judged.violations.length === 0);
  return new Map(held.map((judged) => [judged.seed, judged]));
}

async function playMany({ count, work }: Plays, workers: number, tally = new Tally()): Promise<void> {
  const startedMs = Date.now();
  const over = new AbortController();
  let played = 0;
  const stopBy = (exitCode: number) => (): void => {
    over.abort();
    process.exitCode = exitCode;
  };
  const [stop, terminate] = [stopBy(130), stopBy(143)];
  process.once('SIGINT', stop);
  process.once('SIGTERM', terminate);
  const take = (answer: Answer): void => {
    const violations = 'broken' in answer ? [answer.broken] : answer.violations;
    if (!('broken' in answer)) {
      tally.add(answer);
      if (values.record !== undefined) appendFileSync(values.record, `${JSON.stringify(answer)}\n`);
    }
    if (violations.length > 0) {
      process.exitCode ||= 1;
      process.stdout.write(`${JSON.stringify({ seed: answer.seed, violations })}\n`);
    }
    played += 1;
    const { isTTY } = process.stderr;
    if (played % (isTTY ? 20 : 500) === 0)
      process.stderr.write(isTTY ? `\r${played} of ${count} worlds ` : `${played} of ${count} worlds\n`);
  };
  const atOnce = Math.max(1, Math.min(workers, count));
  await Promise.all(Array.from({ length: atOnce }, () => work(take, over.signal)));
  process.removeListener('SIGINT', stop);
  process.removeListener('SIGTERM', terminate);
  const seconds = (Date.now() - startedMs) / 1_000;
  report({ ...tally.summary(), seconds });
}

function report(summary: Summary & { readonly seconds: number }): void {
  if (values.json) {
    process.stdout.write(`${JSON.stringify(summary)}\n`);
    return;
  }
  const { worlds, atStake, violating, polls, orders, hits, pairs, events, seconds } = summary;
  const lines = [
    `${worlds} worlds in ${seconds.toFixed(0)} s, ${violating} with a violation`,
    `${atStake} with at least ten polls, an order and three hits; ${polls} polls, ${orders} orders, ${hits} hits in all`,
    ...Object.entries(pairs).map(
      ([name, { possible, rarest, rarestPair }]) =>
        `${name}: ${possible} pairs, the rarest met ${rarest} times (${rarestPair})`,
    ),
    `events: ${Object.entries(events)
      .map(([kind, times]) => `${kind} ${times}`)
      .join(', ')}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
