import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bucketOf } from '../../../src/core/ports/state-store.ts';
import { bucketKeys } from '../../../src/state/account/keys.ts';
import { openWorld, type World } from '../../../src/world/open-world.ts';
import { runCommandLine } from '../../support/cli.ts';
import { type PrivateRedis, startPrivateRedis } from '../../support/redis.ts';
import { longAccount } from '../../world/long-account.ts';

const MINUTE_MS = 60_000;

/** In observe mode the price alone decides when rules fire and end. */
const CONFIG = `mode: observe
exchange: { baseUrls: ["https://one.example"] }
cadence: { calm: 2s, alert: 500ms }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near, losing, many, never] }
rules:
  - id: near
    on: position
    where: { direction: long }
    when: { liquidationDistance: { below: 3%, clearAbove: 5% } }
    for: 20s
    do: [{ reduce: { untilDistance: 8%, slippage: 1% } }]
    escalate: [{ after: 1m, do: [{ reduce: { to: 25%, slippage: 2% } }] }]
    severity: critical
  - { id: losing, on: position, when: { pnlPercent: { below: -40% } }, do: [{ notify: {} }] }
  - { id: many, on: account, when: { positionCount: { above: 5 } }, do: [{ notify: {} }] }
  - { id: never, on: position, when: { liquidationDistance: { below: 0.1% } }, do: [{ notify: {} }] }
`;

/** Near liquidation from the second to the fifth minute. */
async function breach(): Promise<World> {
  const price = (minute: number, value: string) =>
    ({ atMs: minute * MINUTE_MS, kind: 'setPrice', market: 'BTC_USDT', price: value }) as const;
  const world = openWorld({
    seed: 7,
    durationMs: 8 * MINUTE_MS,
    exchange: {
      accounts: [longAccount('4000')],
    },
    daemons: [{ name: 'north', config: CONFIG }],
    events: [price(2, '54800'), price(5, '60000')],
  });
  await world.run();
  expect(world.errors).toEqual([]);
  return world;
}

interface Line {
  readonly event: string;
  readonly rule?: string;
  readonly firedMs?: number;
  readonly endedMs?: number | null;
  readonly [key: string]: unknown;
}

let folder: string;
let world: World;
let redis: PrivateRedis;
/** When `near` changed, as the world's daemon reported it. */
let fired: number;
let ended: number;
const at = (name: string): string => path.join(folder, name);
const judge = (history: string, ...args: readonly string[]) =>
  runCommandLine(['replay', '--config', at('breakwater.yaml'), '--history', history, ...args]);
const linesOf = (stdout: string): Line[] =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'breakwater-history-'));
  world = await breach();
  redis = await startPrivateRedis();
  const prefix = redis.prefix.replace(/:$/, '');
  const place = `redis: { url: "${redis.url}", prefix: "${prefix}" }\n`;
  await writeFile(at('breakwater.yaml'), `${CONFIG}${place}`);
  const transitions = (await world.audit.read('desk-1', { from: 1, limit: 1_000 }))
    .flatMap(({ record }) => (record.content.kind === 'decision' ? record.content.transitions : []))
    .filter(({ ruleId }) => ruleId === 'near');
  fired = transitions.find(({ to, from }) => to === 'firing' && from !== 'firing')?.atMs ?? 0;
  ended = transitions.find(({ to, from }) => to === 'inactive' && from === 'firing')?.atMs ?? 0;
  expect(fired - world.startMs).toBeGreaterThan(2 * MINUTE_MS + 20_000);
  expect(ended - world.startMs).toBeGreaterThan(5 * MINUTE_MS);
  await storeSamples(prefix);
  await writeFile(at('desk-1.audit'), await exportOf(world));
});

afterAll(async () => {
  await redis.stop();
  await rm(folder, { recursive: true });
});

/** History of the world's daemon, stored in Redis as a daemon stores it. */
async function storeSamples(prefix: string): Promise<void> {
  const kept = (await world.daemon('north').store?.history.readAll('desk-1')) ?? [];
  expect(kept.length).toBeGreaterThan(40);
  const client = new Redis(redis.url);
  const key = bucketKeys(prefix, bucketOf('desk-1')).history('desk-1');
  for (const { atMs, samples } of kept) {
    const fields = samples.flatMap(({ subject, values }) => [subject, JSON.stringify(values)]);
    await client.xadd(key, `${atMs}-0`, ...fields);
  }
  client.disconnect();
}

/** The same trail in the format of `breakwater audit export`. */
async function exportOf({ audit }: World): Promise<string> {
  const records = await audit.read('desk-1', { from: 1, limit: 1_000 });
  const hashes = new Set(records.flatMap(({ record }) => Object.values(record.attachments)));
  const attached = await Promise.all(
    [...hashes].map(async (hash) => `${hash} ${await audit.attachment('desk-1', hash)}`),
  );
  return [...records.map(({ hash, text }) => `${hash} ${text}`), ...attached, ''].join('\n');
}

describe('samples in Redis', () => {
  test('a rule fires within a sample of when the daemon fired it, with words and figures', async () => {
    const { stdout, stderr, exitCode } = await judge('redis', '--json');
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('samples, one every 10 s')]);
    const lines = linesOf(stdout);
    const [episode, ...more] = lines.slice(0, -1);
    expect(more).toEqual([]);
    expect(episode).toMatchObject({
      event: 'episode',
      account: 'desk-1',
      rule: 'near',
      severity: 'critical',
      subject: expect.stringMatching(/^BTC_PERP \(position \S+\)$/),
      words: expect.stringMatching(/distance to liquidation is 2\.\d+ %, below 3 %/),
      endWords: expect.stringMatching(/distance to liquidation is \d+\.?\d* %/),
      stages: [{ stage: 1 }],
    });
    expect(Math.abs((episode?.firedMs ?? 0) - fired)).toBeLessThanOrEqual(10_000);
    expect(Math.abs((episode?.endedMs ?? 0) - ended)).toBeLessThanOrEqual(10_000);
    expect(lines.at(-1)).toMatchObject({
      event: 'history',
      accounts: [
        {
          id: 'desk-1',
          everyMs: 10_000,
          gaps: [],
          rules: [
            { id: 'near', fired: 1, undecided: 0, notJudged: null },
            { id: 'losing', fired: 0, notJudged: 'the samples of positions do not have pnlPercent' },
            {
              id: 'many',
              fired: 0,
              notJudged: 'the samples of the account as a whole do not have positionCount',
            },
            { id: 'never', fired: 0, notJudged: null },
          ],
        },
      ],
    });
  });

  test('prints a table and a page; nothing is guessed where samples are missing', async () => {
    const { stdout } = await judge(redis.url, '--out', at('history.html'));
    expect(stdout).toMatch(/desk-1 +near +1 time +\d min/);
    expect(stdout).toMatch(/losing +.*not judged: the samples of positions do not have pnlPercent/);
    expect(stdout).toMatch(/never +never/);
    expect(await readFile(at('history.html'), 'utf8')).toContain('<h2>When they would have fired</h2>');
    const from = new Date(world.startMs + 6 * MINUTE_MS).toISOString().slice(0, 19);
    expect((await judge('redis', '--from', from)).stdout).toContain('No rule would have fired.');
  });

  test('reports a gap', async () => {
    const client = new Redis(redis.url);
    const key = bucketKeys(redis.prefix.replace(/:$/, ''), bucketOf('desk-1')).history('desk-1');
    const [last] = await client.xrevrange(key, '+', '-', 'COUNT', 1);
    const [id = '', fields = []] = last ?? [];
    await client.xadd(key, `${Number.parseInt(id, 10) + 3_600_000}-0`, ...fields);
    const { stderr } = await judge('redis');
    expect(stderr).toMatch(/Account desk-1: a gap of 1 h from .*: nothing is known of that time\./);
    await client.xtrim(key, 'MAXLEN', 0);
    const empty = await judge('redis');
    expect([empty.exitCode, empty.stderr]).toEqual([
      1,
      expect.stringContaining('Account desk-1 has no samples'),
    ]);
    client.disconnect();
  });
});

describe('an audit export', () => {
  test('the same rules fire when the daemon fired them', async () => {
    const { stdout, exitCode, stderr } = await judge(at('desk-1.audit'), '--json');
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('moments at which something changed')]);
    const lines = linesOf(stdout);
    const near = lines.filter(({ rule }) => rule === 'near');
    expect(near).toMatchObject([{ firedMs: fired, endedMs: ended }]);
    expect(lines.filter(({ rule }) => rule === 'losing').length).toBeGreaterThan(0);
    expect(lines.at(-1)).toMatchObject({ accounts: [{ rules: [{}, { notJudged: null }, {}, {}] }] });
  });

  test('an excerpt that begins while a rule fires knows since when', async () => {
    const from = new Date(fired + 1_000).toISOString().slice(0, 19);
    const { stdout } = await judge(at('desk-1.audit'), '--json', '--from', from);
    expect(linesOf(stdout).filter(({ rule }) => rule === 'near')).toMatchObject([
      { firedMs: fired, endedMs: ended },
    ]);
  });

  test('other rules are judged on the same inputs', async () => {
    const tighter = (await readFile(at('breakwater.yaml'), 'utf8')).replace('below: 3%', 'below: 0.5%');
    await writeFile(at('tighter.yaml'), tighter);
    const args = ['replay', '--config', at('tighter.yaml'), '--history', at('desk-1.audit'), '--json'];
    const lines = linesOf((await runCommandLine(args)).stdout);
    expect(lines.filter(({ rule }) => rule === 'near')).toEqual([]);
    // The timers of a rule that the daemon did not have then count only little of the time between two records.
    const sooner = tighter.replace('below: 0.5%', 'below: 3.5%').replace('for: 20s', 'for: 5s');
    await writeFile(at('tighter.yaml'), sooner);
    const near = linesOf((await runCommandLine(args)).stdout).find(({ rule }) => rule === 'near');
    expect(near?.firedMs).toBeGreaterThanOrEqual(world.startMs + 2 * MINUTE_MS);
    expect(near?.firedMs).toBeLessThanOrEqual(fired);
  });

  test.each<[string, (text: string) => string, RegExp]>([
    [
      'changed',
      (text) => text.replace('2026', '2027').replace('desk-1', 'desk-2'),
      /changed\.audit: record \d+: expected one of an audit export, but its text does not have the hash/,
    ],
    ['empty', () => '', /expected records of an account of the config \(desk-1\), found no records/],
    [
      'no export',
      () => 'a: 1\n',
      /record 1: expected one of an audit export, but its line is not a hash, a space and a text/,
    ],
  ])('an export that is %s is refused', async (name, change, words) => {
    const file = at(`${name}.audit`);
    await writeFile(file, change(await readFile(at('desk-1.audit'), 'utf8')));
    const { exitCode, stderr } = await judge(file);
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(words)]);
  });
});

test('refuses the options of a simulated run', async () => {
  const { exitCode, stderr } = await judge('redis', '--prices', 'BTC_PERP=btc.csv', '--seed', '2');
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--prices, --seed would do nothing')]);
  expect(stderr).toContain(' Leave them out, or leave out --history.\n');
  const one = await judge('redis', '--seed', '2');
  expect(one.stderr).toContain(': --seed would do nothing. Leave it out, or leave out --history.\n');
  expect((await judge('redis://127.0.0.1:1')).stderr).toContain('the Redis server cannot be used');
});
