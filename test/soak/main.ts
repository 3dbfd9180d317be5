import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { shortId } from '../../src/notify/short-id.ts';
import { createRandom } from '../../src/simulator/scenarios/random.ts';
import { startReceiver } from '../notify/receiver.ts';
import { startRedisServer } from '../support/redis-server.ts';
import { soakConfig } from './config.ts';
import type { DaemonAnswer, ExchangeAnswer } from './messages.ts';
import { type Slope, slopeOf } from './slope.ts';

const HELP = `Runs the daemon for long, with a real Redis, a simulated exchange that fails often and a receiver of webhooks that
fails sometimes, and looks at what it holds: heap after collection, descriptors, keys and memory of Redis; and at what
came of every notice.

  npm run soak -- [--minutes N] [--warm-up N] [--accounts N] [--seed N] [--json]

  --minutes   measured, after the warm-up (default 60)
  --warm-up   minutes until windows and caches are full (default 12)
  --accounts  default 100

Ends with 0 when everything held, with 1 when something did not, with 2 for options that make no sense, and with 130
when it was interrupted (what was measured by then is summed up).
`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    'warm-up': { type: 'string', default: '12' },
    accounts: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const MINUTE_MS = 60_000;
const MEGABYTE = 1_000_000;
const SAMPLES = 120;
const SOONEST_MS = 5_000;
/** Time for work still in progress at the last sample. */
const DRAIN_MS = 45_000;
/** Share of webhooks that are answered with an error. */
const REFUSED_SHARE = 0.03;
/**
 * Each collection ages code, and V8 discards old code. Each sample collects twice: up to a megabyte of code would come
 * and go, and look like a slope.
 */
const DAEMON_FLAGS = ['--expose-gc', '--no-flush-bytecode'];

const KEYS_AT_ONCE = 1_000;
/** Redis's answer for a key without expiry. */
const LASTS = -1;
const KEPT_NOTICE = /:notify:notice-/;

const LIMITS = {
  heapBytesPerHour: 1 * MEGABYTE,
  /** Connections for retries come and go: only a trend beyond its error counts. */
  descriptorsPerHour: 10,
  /** Limit for keys that nothing removes; those of jobs come and go. The others are bounded by their retention. */
  moreLastingKeysShare: 0.05,
} as const;

type Sample = Extract<DaemonAnswer, { kind: 'sample' }> & {
  readonly atMs: number;
  readonly redisBytes: number;
  readonly keys: number;
  /** Keys that neither expire nor are notices, which the queue keeps for a day. */
  readonly lastingKeys: number;
};

if (values.help) process.stdout.write(HELP);
else await soak();

function whole(name: 'minutes' | 'warm-up' | 'accounts' | 'seed', most: number): number {
  const text = values[name];
  if (/^\d{1,6}$/.test(text) && Number(text) <= most) return Number(text);
  process.stderr.write(`--${name} ${text}: expected a whole number up to ${most}\n`);
  process.exit(2);
}

async function soak(): Promise<void> {
  const minutes = whole('minutes', 10_000);
  const warmUpMs = whole('warm-up', 1_000) * MINUTE_MS;
  const accounts = whole('accounts', 2_000);
  const seed = whole('seed', 999_999);
  const over = new AbortController();
  process.once('SIGINT', () => {
    process.exitCode = 130;
    over.abort();
  });
  const parts = await open(accounts, seed);
  try {
    say(`${accounts} accounts, seed ${seed}; warming up`);
    await pause(warmUpMs, over.signal);
    const samples = await measure(parts, minutes * MINUTE_MS, over.signal);
    const figures = ask(parts.exchange, 'figures', 'figures');
    const traded = (await figures) as Extract<ExchangeAnswer, { kind: 'figures' }>;
    await pause(DRAIN_MS, over.signal);
    report({ minutes, accounts, seed, samples, traded, told: parts.told, deliveries: parts.deliveries });
  } finally {
    await parts.close();
  }
}

interface Told {
  readonly handed: Set<string>;
  readonly superseded: Set<string>;
  readonly failed: Map<string, string>;
}

type Parts = Awaited<ReturnType<typeof open>>;

async function open(accounts: number, seed: number) {
  const closings: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const end of closings.reverse()) await end();
  };
  try {
    const redisServer = await startRedisServer({ persistent: true });
    closings.push(() => redisServer.stop());
    const redis = new Redis(redisServer.url);
    closings.push(async () => redis.disconnect());
    const receiver = await startReceiver();
    closings.push(() => receiver.close());
    const deliveries = new Map<string, number>();
    const random = createRandom(seed + 17);
    receiver.behave(({ headers }) => {
      // Keeps its required state, but not every request.
      receiver.received.length = 0;
      if (random.uniform() < REFUSED_SHARE) return { status: 503 };
      const id = String(headers['breakwater-delivery']);
      deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
      return {};
    });
    const exchange = start('./exchange.ts', [String(accounts), String(seed)]);
    closings.push(() => end(exchange, 'close'));
    const opened = await next<ExchangeAnswer, 'open'>(exchange, 'open');
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-soak-'));
    closings.push(() => rm(folder, { recursive: true, force: true }));
    const configFile = path.join(folder, 'breakwater.yaml');
    const ids = opened.keys.map(({ id }) => id);
    const { baseUrls } = opened;
    const addresses = { baseUrls, redisUrl: redisServer.url, webhookUrl: receiver.url };
    await writeFile(configFile, soakConfig({ ...addresses, ids }));
    const keys = opened.keys.flatMap(({ apiKey, apiSecret }, index) => [
      [`KEY_${index}`, apiKey],
      [`SECRET_${index}`, apiSecret],
    ]);
    const env = { ...process.env, ...Object.fromEntries(keys), HOOK: 'a secret of sixteen letters or more' };
    const daemon = start('./daemon.ts', [configFile], { env, execArgv: DAEMON_FLAGS });
    closings.push(() => end(daemon, 'stop'));
    const told: Told = { handed: new Set(), superseded: new Set(), failed: new Map() };
    daemon.on('message', (answer: DaemonAnswer) => hear(told, answer));
    await next<DaemonAnswer, 'watching'>(daemon, 'watching');
    return { redisServer, redis, exchange, daemon, told, deliveries, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function hear({ handed, superseded, failed }: Told, answer: DaemonAnswer): void {
  if (answer.kind === 'handed') handed.add(answer.id);
  else if (answer.kind === 'superseded') superseded.add(answer.id);
  else if (answer.kind === 'failed') failed.set(answer.id, answer.why);
}

function start(
  file: string,
  args: readonly string[],
  options: Parameters<typeof fork>[2] = {},
): ChildProcess {
  return fork(new URL(file, import.meta.url), args, {
    ...options,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
}

/** Ends gracefully, or is killed. */
async function end(child: ChildProcess, message: string): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  if (child.connected) child.send(message);
  const killer = setTimeout(() => child.kill('SIGKILL'), 40_000);
  await ended;
  clearTimeout(killer);
}

/** The next message of that kind. @throws if the process ends first */
async function next<A extends { readonly kind: string }, K extends A['kind']>(
  child: ChildProcess,
  kind: K,
): Promise<Extract<A, { kind: K }>> {
  return await new Promise((resolve, reject) => {
    const take = (answer: A): void => {
      if (answer.kind !== kind) return;
      child.off('message', take).off('exit', fail);
      resolve(answer as Extract<A, { kind: K }>);
    };
    const fail = (): void => reject(new Error('a process of the soak ended by itself'));
    child.on('message', take).on('exit', fail);
  });
}

async function ask(child: ChildProcess, question: string, kind: string): Promise<unknown> {
  const answer = next(child, kind as never);
  child.send(question);
  return await answer;
}

async function pause(forMs: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, forMs), undefined, { signal }).catch(() => undefined);
}

async function measure(parts: Parts, forMs: number, signal: AbortSignal): Promise<readonly Sample[]> {
  const { daemon, redis } = parts;
  const everyMs = Math.max(SOONEST_MS, forMs / SAMPLES);
  const startedMs = performance.now();
  const samples: Sample[] = [];
  for (;;) {
    const atMs = performance.now() - startedMs;
    const taken = (await ask(daemon, 'sample', 'sample')) as Extract<DaemonAnswer, { kind: 'sample' }>;
    const redisBytes = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
    const sample = { ...taken, atMs, redisBytes, ...(await keysIn(redis)) };
    samples.push(sample);
    say(
      `${(atMs / MINUTE_MS).toFixed(1)} min: heap ${mb(sample.heapBytes)} MB (${mb(sample.codeBytes)} of code), resident ${mb(sample.residentBytes)} MB, ` +
        `${sample.descriptors} descriptors, Redis ${mb(redisBytes)} MB in ${sample.keys} keys (${sample.lastingKeys} lasting), ${sample.evaluated} judged, ${sample.failed} polls failed`,
    );
    if (atMs + everyMs > forMs || signal.aborted) return samples;
    await pause(everyMs - (performance.now() - startedMs - atMs), signal);
    if (signal.aborted) return samples;
  }
}

async function keysIn(redis: Redis): Promise<Pick<Sample, 'keys' | 'lastingKeys'>> {
  let [keys, lastingKeys, cursor] = [0, 0, '0'];
  do {
    const [next, found] = await redis.scan(cursor, 'COUNT', KEYS_AT_ONCE);
    const pipeline = redis.pipeline();
    for (const key of found) pipeline.pttl(key);
    const answers = (await pipeline.exec()) ?? [];
    keys += found.length;
    lastingKeys += found.filter(
      (key, index) => answers[index]?.[1] === LASTS && !KEPT_NOTICE.test(key),
    ).length;
    cursor = next;
  } while (cursor !== '0');
  return { keys, lastingKeys };
}

interface Result {
  readonly minutes: number;
  readonly accounts: number;
  readonly seed: number;
  readonly samples: readonly Sample[];
  readonly traded: Extract<ExchangeAnswer, { kind: 'figures' }>;
  readonly told: Told;
  /** How often the receiver accepted each delivery. */
  readonly deliveries: ReadonlyMap<string, number>;
}

function report({ minutes, accounts, seed, samples, traded, told, deliveries }: Result): void {
  const points = (of: (sample: Sample) => number) => samples.map((one) => [one.atMs, of(one)] as const);
  const heap = slopeOf(points(({ heapBytes }) => heapBytes));
  const code = slopeOf(points(({ codeBytes }) => codeBytes));
  const resident = slopeOf(points(({ residentBytes }) => residentBytes));
  const redis = slopeOf(points(({ redisBytes }) => redisBytes));
  const early = samples.slice(0, Math.max(3, Math.floor(samples.length / 5)));
  const late = samples.slice(-early.length);
  const descriptors = slopeOf(points((one) => one.descriptors));
  const keys = [median(early, 'keys'), median(late, 'keys')] as const;
  const lastingKeys = [median(early, 'lastingKeys'), median(late, 'lastingKeys')] as const;
  const undelivered = [...told.handed].filter(
    (id) => !deliveries.has(shortId(id)) && !told.superseded.has(id),
  );
  const repeated = [...deliveries].filter(([, times]) => times > 1).map(([id]) => id);
  const problems = [
    ...(heap.perHour < LIMITS.heapBytesPerHour ? [] : [`the heap grows by ${mb(heap.perHour)} MB an hour`]),
    ...(descriptors.perHour - descriptors.error < LIMITS.descriptorsPerHour ? [] : ['descriptors grow']),
    ...(lastingKeys[1] <= lastingKeys[0] * (1 + LIMITS.moreLastingKeysShare)
      ? []
      : ['keys in Redis grow that nothing takes away']),
    ...undelivered.map((id) => `a notice was handed over and not delivered: ${told.failed.get(id) ?? id}`),
    ...(repeated.length === 0 ? [] : [`${repeated.length} notices were delivered more than once`]),
    ...(traded.opening === 0 ? [] : [`${traded.opening} orders or fills of the daemon opened something`]),
    ...(traded.placed === 0 ? ['nothing was ordered: it proves nothing'] : []),
    ...(deliveries.size === 0 ? ['nobody was told anything: it proves nothing'] : []),
  ];
  const summary = {
    minutes,
    accounts,
    seed,
    samples: samples.length,
    heapMbPerHour: rounded(heap),
    codeMbPerHour: rounded(code),
    residentMbPerHour: rounded(resident),
    redisMbPerHour: rounded(redis),
    heapMb: [mb(samples[0]?.heapBytes ?? 0), mb(samples.at(-1)?.heapBytes ?? 0)],
    residentMb: [mb(samples[0]?.residentBytes ?? 0), mb(samples.at(-1)?.residentBytes ?? 0)],
    descriptors: [median(early, 'descriptors'), median(late, 'descriptors')],
    descriptorsPerHour: { perHour: descriptors.perHour.toFixed(1), error: descriptors.error.toFixed(1) },
    keys,
    lastingKeys,
    notices: { handed: told.handed.size, delivered: deliveries.size, superseded: told.superseded.size },
    exchange: { placed: traded.placed, liquidated: traded.liquidated },
    judged: samples.at(-1)?.evaluated ?? 0,
    problems,
  };
  process.stdout.write(`${values.json ? JSON.stringify(summary) : JSON.stringify(summary, null, 2)}\n`);
  if (problems.length > 0) process.exitCode ||= 1;
}

function median(samples: readonly Sample[], name: 'descriptors' | 'keys' | 'lastingKeys'): number {
  const sorted = samples.map((one) => one[name]).sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? 0;
}

function mb(bytes: number): string {
  return (bytes / MEGABYTE).toFixed(2);
}

function rounded({ perHour, error }: Slope): { readonly perHour: string; readonly error: string } {
  return { perHour: mb(perHour), error: mb(error) };
}

function say(words: string): void {
  process.stderr.write(`${words}\n`);
}
