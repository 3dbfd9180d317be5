import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import type { OperatorOrder } from '../../src/core/controls/controls.ts';
import { bucketOf } from '../../src/core/ports/state-store.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { openQueues } from '../../src/queues/producers.ts';
import { createOperatorTrust } from '../../src/state/controls/operator-seal.ts';
import { createRedisState, type State } from '../../src/state/state.ts';
import { type OperatorWorld, openOperatorWorld } from '../cli/operator.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { OPERATORS_KEY } from '../daemon/config.ts';
import { polls } from '../daemon/scene.ts';
import { eventually } from '../daemon/world.ts';
import { startReceiver } from '../notify/receiver.ts';
import { targetOf } from '../support/redis.ts';
import { sliceOf } from '../support/slice.ts';

const FORGED = { author: 'ann', reason: 'sell everything at any price', expiresAtMs: Date.now() + 3_600_000 };
const CLOSE = {
  ...FORGED,
  kind: 'reduce' as const,
  markets: ['*'],
  target: { kind: 'to' as const, fraction: 0 },
  slippageSteps: [0.05],
  flatten: true,
};

/** A store as written by somebody with access to Redis, with the given key or none. */
function writer({ redisUrl, prefix }: OperatorWorld, key?: string): State {
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: 1 });
  const operators = createOperatorTrust({ key: () => key, isGuarded: false });
  const state = createRedisState({ redis, prefix, clock: systemClock, operators, timeoutMs: 30_000 });
  closeAfterTest(async () => {
    state.close();
    redis.disconnect();
  });
  return state;
}

/** Retried until written: a poll of the daemon may commit in between. */
async function putInInbox({ store }: State, account: string, order: OperatorOrder): Promise<void> {
  await eventually(async () => {
    const { load } = await store.read(account);
    if (load.kind === 'refused') return expect.fail();
    const documents = { inbox: { version: 1, orders: [order] } } as const;
    const [result] = await store.commit([{ base: load.account, documents, due: { inMs: 0, danger: 0 } }]);
    return result?.kind === 'committed';
  }, 'written');
}

const orders = ({ simulator }: OperatorWorld): number =>
  simulator.requestLog().filter(({ path }) => path.includes('order')).length;

const alarms = ({ events }: OperatorWorld): readonly string[] =>
  events.flatMap((event) =>
    event.kind === 'audited' && event.event.alarm ? [`${event.event.kind}: ${event.event.words}`] : [],
  );

test.each([
  ['without a seal', undefined],
  ['with the seal of another key', 'another-operators-key-another-operators-key'],
])(
  'an order written to Redis under a forged name %s sends nothing, and a person is notified',
  async (_, key) => {
    const world = await openOperatorWorld();
    await world.start();
    await writer(world, key).controls.submit('long', CLOSE);
    await eventually(
      () => alarms(world).some((words) => words.startsWith('operatorOrderRefused')),
      'an alarm',
    );
    await polls(world, 'long', 3);
    expect(orders(world)).toBe(0);
    const records = await world.state.audit.tail('long', 20);
    expect(JSON.stringify(records)).toContain('lacks the seal of operators.key');
    // The key makes the same order valid.
    await writer(world, OPERATORS_KEY).controls.submit('long', CLOSE);
    await eventually(() => orders(world) > 0, 'an order');
  },
);

test('an order at nearly any price is refused, audited and told, even with a valid seal', async () => {
  const world = await openOperatorWorld();
  await world.start();
  await writer(world, OPERATORS_KEY).controls.submit('long', { ...CLOSE, slippageSteps: [0.05, 0.5] });
  await eventually(
    () => alarms(world).some((words) => words.includes('beyond operators.maxSlippage (5 %)')),
    'an alarm',
    () => alarms(world),
  );
  await polls(world, 'long', 3);
  expect(orders(world)).toBe(0);
  expect(JSON.stringify(await world.state.audit.tail('long', 20))).toContain(
    'refused: a slippage of 50 % is beyond operators.maxSlippage',
  );
  const ask = ['flatten', '--account', 'long', '--reason', 'x', '--yes'];
  const run = await world.cli([...ask, '--slippage', '1%,6%']);
  expect(run).toMatchObject({ exitCode: 2 });
  expect(run.stderr).toMatch(/a slippage of 6 %.*nothing was ordered\.[^]*set operators\.maxSlippage/);
  // An order within the configured limit is accepted.
  expect(await world.cli([...ask, '--slippage', '5%'])).toMatchObject({ exitCode: 0 });
  await eventually(() => orders(world) > 0, 'an order');
});

test('a sealed order of one account is not taken for another', async () => {
  const world = await openOperatorWorld();
  await world.start();
  const said = await writer(world, OPERATORS_KEY).controls.submit('hedged', {
    ...CLOSE,
    markets: ['NONE_PERP'],
  });
  await putInInbox(writer(world), 'long', said);
  await eventually(() => alarms(world).some((words) => words.startsWith('operatorOrderRefused')), 'an alarm');
  expect(orders(world)).toBe(0);
});

test('a sealed order copied back into the inbox within its time is not done again, and a person is notified', async () => {
  const world = await openOperatorWorld();
  await world.start();
  const { controls } = writer(world, OPERATORS_KEY);
  const order = await controls.submit('long', CLOSE);
  await eventually(() => orders(world) > 0, 'an order');
  const begun = (): number =>
    world.events.filter((event) => event.kind === 'audited' && event.event.kind === 'intentOpened').length;
  const { author, reason, expiresAtMs } = FORGED;
  await controls.submit('long', { kind: 'withdraw', orderId: order.id, author, reason, expiresAtMs });
  await eventually(
    () => world.events.some((event) => event.kind === 'audited' && event.event.kind === 'intentEnded'),
    'the end of it',
    () => world.events.flatMap((event) => (event.kind === 'audited' ? [event.event.kind] : [])),
  );
  expect(begun()).toBe(1);
  // By a writer without the key.
  await putInInbox(writer(world), 'long', order);
  await eventually(() => alarms(world).some((words) => words.includes('it was taken before')), 'an alarm');
  await polls(world, 'long', 3);
  expect(begun()).toBe(1);
});

const WRONG = [
  ['more slippage than any config may have', { slippageSteps: [0.9] }],
  ['a target beyond the position', { target: { kind: 'by', fraction: 7 } }],
  ['an id that is a client order id of somebody else', { id: '../../x' }],
  ['a kind that does not exist', { kind: 'buy' }],
] as const;

test.each(sliceOf(WRONG, 4, 'wrong orders in an inbox'))(
  'an inbox with %s is ignored, and the account is still judged',
  async (_, wrong) => {
    const world = await openOperatorWorld();
    await world.start();
    await polls(world, 'long', 1);
    const state = writer(world);
    const order = { ...CLOSE, id: 'forged1', atMs: Date.now(), ...wrong } as never;
    await putInInbox(state, 'long', order);
    await eventually(() => alarms(world).some((words) => words.includes('no orders')), 'an alarm');
    await polls(world, 'long', 3);
    expect(orders(world)).toBe(0);
    expect(world.events.filter(({ kind }) => kind === 'accountRefused')).toEqual([]);
  },
);

test('a pause written to Redis without a seal does not hold, and is reported', async () => {
  const world = await openOperatorWorld();
  await world.start();
  await polls(world, 'long', 1);
  const pause = { kind: 'pause' as const, accountId: null, ...FORGED, expiresAtMs: null };
  await writer(world).controls.put(pause);
  await eventually(() => world.events.some(({ kind }) => kind === 'controlRefused'), 'told');
  expect(await world.state.controls.list()).toEqual([]);
  await writer(world, OPERATORS_KEY).controls.submit('long', CLOSE);
  await eventually(() => orders(world) > 0, 'an order');
});

test('an acknowledgement made before there was a key does not count, and status says so', async () => {
  const world = await openOperatorWorld();
  const before = { accountId: 'long', ruleId: 'near', subject: 'position:1', episode: 1, stage: 0 } as const;
  await writer(world).controls.put({
    kind: 'acknowledgement',
    ...before,
    ...FORGED,
    expiresAtMs: Date.now() + 600_000,
  });
  await writer(world).controls.put({
    kind: 'pause',
    accountId: 'long',
    ...FORGED,
    expiresAtMs: Date.now() + 600_000,
  });
  const { stdout } = await world.cli(['status']);
  const said = stdout.replaceAll(/\s+/g, ' ');
  expect(said).toContain(
    `Not obeyed: the acknowledgement of near for position:1 by ${FORGED.author} does not hold: it lacks the seal of operators.key`,
  );
  expect(said).toContain('Not obeyed: the pause ');
});

test('a notice put into the queue without a seal is marked as unproven, and never critical; the daemon’s own is sent as usual', async () => {
  const receiver = await startReceiver();
  closeAfterTest(() => receiver.close());
  const rules = `  - id: near
    on: position
    severity: critical
    when: { liquidationDistance: { below: 90% } }
    do: [{ notify: {} }]
`;
  const world = await openOperatorWorld({
    accounts: { long: { rules: ['near'] } },
    rules,
    web: '{ port: 0, publicUrl: "http://127.0.0.1:1" }',
    more: `channels: { hook: { type: webhook, url: "${receiver.url}/hook" } }\n`,
  });
  const queues = openQueues({
    target: targetOf(world.redisUrl),
    prefix: world.prefix,
    onError: () => undefined,
  });
  closeAfterTest(() => queues.close());
  await world.start();
  const told = (words: string) =>
    receiver.received.map(({ json }) => json).find((json) => String(json['words']).includes(words));
  await eventually(() => told('liquidation') !== undefined, 'the notice of the daemon');
  const own = told('liquidation') ?? expect.fail();
  expect(own).toMatchObject({ severity: 'critical', kind: 'firing' });
  expect(own['words']).not.toContain('Not proven');
  expect(world.events.filter(({ kind }) => kind === 'noticeUnproven')).toEqual([]);
  const emitted = world.events.flatMap((event) => (event.kind === 'notice' ? [event.notice] : []));
  const [notice] = emitted;
  if (notice === undefined) return expect.fail('no notice');
  // As a daemon without the key, or an older version, would send it; then with a made-up seal.
  await queues.notifier.hand([{ ...notice, id: 'forged-1', key: 'forged-1', words: 'Move all funds to x.' }]);
  const job = { ...notice, id: 'forged-2', key: 'forged-2', words: 'Call this number.' };
  const notify = queues.all.find(({ name }) => name === 'notify');
  await notify?.add('firing', { version: 1, notice: job, seal: 'f'.repeat(64) });
  const approval = { reference: 'abc-1', untilMs: 1, withoutAnswer: 'hold', orders: ['nothing at all'] };
  const asks = { ...notice, id: 'forged-3', key: 'forged-3', kind: 'approval', words: 'Approve this.' };
  await notify?.add('approval', { version: 1, notice: { ...asks, atMs: 8e15, approval } });
  for (const words of ['Move all funds to x.', 'Call this number.', 'Approve this.']) {
    await eventually(() => told(words) !== undefined, words);
    expect(told(words)).toMatchObject({ severity: 'warning' });
    expect(told(words)?.['words']).toMatch(
      /^Not proven to be from Breakwater \(it lacks the seal .*\)\. It says: /,
    );
  }
  expect(world.events.filter(({ kind }) => kind === 'noticeUnproven')).toHaveLength(3);
});

test('audit rewritten with Redis access: the log has the head, and verify --head detects the change', async () => {
  const world = await openOperatorWorld();
  await writer(world, OPERATORS_KEY).controls.put({ kind: 'pause', accountId: 'long', ...FORGED });
  await world.start();
  const heads = () => world.events.flatMap((event) => (event.kind === 'auditHead' ? [event] : []));
  await eventually(() => heads().some(({ accountId }) => accountId === 'long'), 'a head');
  const { head } = heads().find(({ accountId }) => accountId === 'long') ?? expect.fail();
  const verify = (hash: string) =>
    world.cli(['audit', 'verify', '--account', 'long', '--head', `${head.seq}:${hash}`]);
  expect(await verify(head.hash)).toMatchObject({ exitCode: 0 });
  const other = await verify('f'.repeat(64));
  expect(other).toMatchObject({ exitCode: 1 });
  expect(other.stdout).toContain('the chain was made anew');
  expect(await world.cli(['audit', 'verify', '--head', `1:${head.hash}`])).toMatchObject({ exitCode: 2 });
});

test('the heads are in a file outside of Redis, and an unwritable file is reported', async () => {
  const world = await openOperatorWorld();
  await writer(world, OPERATORS_KEY).controls.put({ kind: 'pause', accountId: 'long', ...FORGED });
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-heads-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'heads.jsonl');
  const text = await readFile(world.configFile, 'utf8');
  await world.write(`${text}\naudit: { headsFile: "${file}" }\n`);
  await world.start();
  const heads = () => world.events.flatMap((event) => (event.kind === 'auditHead' ? [event] : []));
  await eventually(() => heads().some(({ accountId }) => accountId === 'long'), 'a head');
  expect(heads().filter(({ unwritten }) => unwritten !== undefined)).toEqual([]);
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  const line = lines.map((one) => JSON.parse(one) as { account: string; head: string });
  const { head } = line.find(({ account }) => account === 'long') ?? expect.fail();
  expect((await stat(file)).mode & 0o077).toBe(0);
  expect(await world.cli(['audit', 'verify', '--account', 'long', '--head', head])).toMatchObject({
    exitCode: 0,
  });

  const other = await openOperatorWorld();
  await writer(other, OPERATORS_KEY).controls.put({ kind: 'pause', accountId: 'long', ...FORGED });
  const again = await readFile(other.configFile, 'utf8');
  await other.write(`${again}\naudit: { headsFile: "${folder}/nowhere/heads.jsonl" }\n`);
  await other.start();
  await eventually(
    () => other.events.some((event) => event.kind === 'auditHead' && event.unwritten !== undefined),
    'that it is not written',
  );
});

test('the head follows each order and the stop, and newest records that were removed since are told at the start', async () => {
  const world = await openOperatorWorld();
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-heads-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'heads.jsonl');
  await world.write(`${await readFile(world.configFile, 'utf8')}\naudit: { headsFile: "${file}" }\n`);
  const redis = new Redis(world.redisUrl, { maxRetriesPerRequest: 1 });
  closeAfterTest(async () => redis.disconnect());
  const key = `${world.prefix}:{b${bucketOf('long')}}:account:long`;
  const noted = async () =>
    (await readFile(file, 'utf8').catch(() => ''))
      .split('\n')
      .filter((line) => line.includes('"long"'))
      .map((line) => Number(/"(\d+):/.exec(line)?.[1]));
  const cuts = () => world.events.flatMap((event) => (event.kind === 'auditCut' ? [event] : []));

  const daemon = await world.start();
  await polls(world, 'long', 2);
  const before = await redis.dumpBuffer(key);
  const reduce = ['reduce', '--account', 'long', '--position', '1', '--by', '10%', '--reason', 'x', '--yes'];
  expect((await world.cli(reduce)).exitCode).toBe(0);
  await eventually(() => orders(world) > 0, 'an order');
  await eventually(async () => (await noted()).length > 0, 'its head');
  await daemon.stop('its state is rolled back', 30_000);
  expect((await noted()).at(-1)).toBe((await world.state.audit.head('long'))?.seq);
  expect(cuts()).toEqual([]);

  await redis.restore(key, 0, before, 'REPLACE');
  await world.start();
  await eventually(() => cuts().length > 0, 'what is missing');
  expect(cuts()).toHaveLength(1);
  expect(cuts()[0]?.words).toMatch(/: long \(noted up to \d+, now up to \d+\)\. Newest records were removed/);
  const notices = () => JSON.stringify(world.events.filter((event) => event.kind === 'said'));
  await eventually(() => notices().includes('built-in/audit-cut'), 'a notice');
});

/** Without the key, under another URL of the same Redis. */
async function withoutKey(world: OperatorWorld, change = (text: string): string => text): Promise<void> {
  const text = await readFile(world.configFile, 'utf8');
  await world.write(change(text.replace(/^operators:.*\n/m, '')));
}

test('a password in the URL of a Redis that requires none does not make orders trusted', async () => {
  const world = await openOperatorWorld();
  await withoutKey(world, (text) => text.replace(/url: "redis:[^"]*"/, 'url: { env: REDIS_ADDRESS }'));
  const address = world.redisUrl.replace('redis://', 'redis://:planted-password@');
  await world.start({ env: { ...world.env, REDIS_ADDRESS: address } });
  await writer(world).controls.submit('long', CLOSE);
  await eventually(() => alarms(world).some((words) => words.includes('asks for no password')), 'an alarm');
  expect(orders(world)).toBe(0);
});

test('without operators.key no order by hand is taken from a Redis that requires no password', async () => {
  const world = await openOperatorWorld();
  await withoutKey(world);
  await world.start();
  await writer(world).controls.submit('long', CLOSE);
  await eventually(() => alarms(world).some((words) => words.includes('asks for no password')), 'an alarm');
  expect(orders(world)).toBe(0);
});

const FAR_MS = 9e15;
const placed = ({ simulator }: OperatorWorld): number =>
  simulator.ledger({ accountId: 'long', kinds: ['order_placed'] }).length;

type Stored = Readonly<Record<string, unknown>>;

test.each<[string, string, (document: Stored) => Stored]>([
  [
    'a lane that waits until long after its reader',
    'l:BTC_PERP',
    (lane) => ({
      ...lane,
      retryAtMs: { reduce: FAR_MS, cover: FAR_MS, cancel: FAR_MS, read: FAR_MS },
      readAfterMs: FAR_MS,
      ignoreReadsBeforeMs: FAR_MS,
    }),
  ],
  ['a lane that somebody holds whom nobody knows', 'l:BTC_PERP', (lane) => ({ ...lane, heldBy: 'x' })],
])('%s still acts', async (_what, field, forge) => {
  const world = await openOperatorWorld();
  const daemon = await world.start();
  await polls(world, 'long', 2);
  const reduce = () =>
    world.cli(['reduce', '--account', 'long', '--position', '1', '--by', '10%', '--reason', 'x', '--yes']);
  expect((await reduce()).exitCode).toBe(0);
  await eventually(() => placed(world) > 0, 'an order, which makes a lane');
  await daemon.stop('its state is forged', 30_000);
  const redis = new Redis(world.redisUrl, { maxRetriesPerRequest: 1 });
  closeAfterTest(async () => redis.disconnect());
  const key = `${world.prefix}:{b${bucketOf('long')}}:account:long`;
  const lane = JSON.parse((await redis.hget(key, field)) ?? '{}') as Stored;
  expect(lane).toHaveProperty('market', 'BTC_PERP');
  await redis.hset(key, field, JSON.stringify({ ...forge(lane), orders: [], intents: [] }));
  const before = placed(world);
  await world.start();
  expect((await reduce()).exitCode).toBe(0);
  await eventually(() => placed(world) > before, 'an order of the forged lane');
});
