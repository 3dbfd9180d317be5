import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sha256Hex } from '../../src/core/audit/sha256.ts';
import { MAX_ACKNOWLEDGEMENTS, MAX_CONTROLS, MAX_INBOX_ORDERS } from '../../src/core/controls/controls.ts';
import { bucketOf } from '../../src/core/ports/state-store.ts';
import { type StoredKeys, storedKeys } from '../fuzz/redis-keys.ts';
import {
  ACCOUNT,
  BUDGET,
  MARKET,
  NONCES,
  openStores,
  SCOPE,
  type Stores,
  seedRedis,
  THREAD,
} from '../fuzz/redis-seed.ts';
import { type PrivateRedis, startPrivateRedis } from '../support/redis.ts';

/** Findings of the fuzzer in Redis (`npm run fuzz -- --target redis,scripts`): data that others could write. */

let server: PrivateRedis;
let redis: Redis;
let prefix: string;
let stored: StoredKeys;
let stores: Stores;

beforeAll(async () => {
  server = await startPrivateRedis();
  redis = new Redis(server.url);
  prefix = `${server.prefix}x`;
  await seedRedis(redis, prefix);
  stored = await storedKeys(redis, prefix);
});
beforeEach(async () => {
  await stored.restore();
  stores?.state.close();
  await stores?.nonces.close();
  stores = openStores(redis, prefix);
});
afterAll(async () => {
  stores.state.close();
  await stores.nonces.close();
  redis.disconnect();
  await server.stop();
});

const key = (name: string): string => `${prefix}:{b${bucketOf(ACCOUNT)}}:${name}`;
const account = (): string => key(`account:${ACCOUNT}`);
const hourAhead = (): number => Date.now() + 3_600_000;

async function problem(): Promise<string> {
  const { load } = await stores.state.store.read(ACCOUNT);
  return load.kind === 'refused' ? `${load.problem.code} ${load.problem.document}` : load.kind;
}

describe('a lane is not blocked for everybody by', () => {
  test.each([
    ['a lease that ends at infinity', { [`m:${MARKET}`]: '1795440317555|inf|somebody' }],
    ['a lease whose token is no number', { wish: '0x1F|1795440320556|another', [`m:${MARKET}`]: '' }],
    [
      'a lease with a token of four hundred digits',
      { [`m:${MARKET}`]: `${'9'.repeat(400)}|9999999999999|x` },
    ],
    ['a last token beyond every clock', { n: '9e20' }],
    ['a last token that is none', { n: 'nan' }],
  ])('%s', async (_what, fields) => {
    await redis.del(key(`leases:${ACCOUNT}`));
    await redis.hset(key(`leases:${ACCOUNT}`), fields);
    const reply = await stores.state.store.leases.acquire(ACCOUNT, MARKET, 'me', 2_000);
    expect(reply.kind).toBe('held');
    if (reply.kind !== 'held') return;
    expect(reply.lease.token).toBeLessThan(Date.now() + 700_000);
    expect(await stores.state.store.leases.renew(reply.lease, 2_000)).toBe('held');
  });
});

describe('a thread of notices is not silenced by', () => {
  const thread = (): string => `${prefix}:receipts:{${sha256Hex(THREAD)}}`;
  test.each([
    ['a hold without end', () => ({ owner: 'x', until: '9e15' })],
    ['a hold of an hour', () => ({ owner: 'x', until: String(hourAhead()) })],
    ['a hold that ends at no time', () => ({ owner: 'x', until: 'soon' })],
  ])('%s', async (_what, fields) => {
    await redis.hset(thread(), fields());
    expect((await stores.receipts.hold(THREAD, 'me', 5_000)).kind).toBe('held');
  });

  test.each(['{"kind":"delivered","atMs":9e99}', '{"kind":["failed"]}', '{', 'null'])(
    'the receipt %s, which is ignored',
    async (text) => {
      await redis.hset(thread(), 'm:z', text);
      const [receipts] = await stores.receipts.peek([THREAD]);
      expect(Object.keys(receipts ?? {}).sort()).toEqual(['a', 'b']);
    },
  );
});

test.each(['nan', 'inf', '1.5', '9e20'])('a budget is not spent by an invalid count (%s)', async (taken) => {
  const window = `${prefix}:{limit/${SCOPE}}:window`;
  const [bucket = '0'] = await redis.hkeys(window);
  await redis.del(window, `${prefix}:{limit/${SCOPE}}:penalty`);
  await redis.hset(window, bucket, taken);
  const width = Math.ceil(BUDGET.periodMs / 40);
  await redis.hset(window, String(Math.floor(Date.now() / width)), taken);
  expect(await stores.limits.take({ ...BUDGET, ignorePenalty: false })).toEqual({
    granted: 3,
    retryInMs: 0,
    isPause: false,
  });
});

test.each(['{"market":"BTC', '[1]', 'null', '{"a":{}}'])(
  'the sample %s of a history is ignored, and the others are shown',
  async (text) => {
    const before = await stores.state.history.read(ACCOUNT, 'position:1');
    expect(before.length).toBeGreaterThan(0);
    await redis.xadd(key(`history:${ACCOUNT}`), `${hourAhead()}-0`, 'position:1', text);
    await redis.xadd(key(`history:${ACCOUNT}`), '18446744073709551614-0', 'position:1', '{}');
    expect(await stores.state.history.read(ACCOUNT, 'position:1')).toEqual(before);
    const all = await stores.state.history.readAll(ACCOUNT);
    expect(all.flatMap(({ samples }) => samples)).toHaveLength(before.length);
  },
);

describe('the audit trail', () => {
  async function rewriteFirst(change: (record: Record<string, unknown>) => void): Promise<void> {
    const stream = key(`audit:${ACCOUNT}`);
    const entries = await redis.xrange(stream, '-', '+');
    await redis.del(stream);
    for (const [index, [id, [, text = '']]] of entries.entries()) {
      const record = JSON.parse(text) as Record<string, unknown>;
      if (index === 0) change(record);
      const written = JSON.stringify(record);
      await redis.xadd(stream, id, 't', written, 'h', sha256Hex(written));
    }
  }

  test.each(['content', 'attachments', 'seq', 'previous', 'atMs', 'accountId'])(
    'with a record without its %s is reported by every reader',
    async (name) => {
      await rewriteFirst((record) => Reflect.deleteProperty(record, name));
      const coded = { code: 'AUDIT_FORMAT' };
      await expect(stores.state.audit.read(ACCOUNT, { from: 1 })).rejects.toMatchObject(coded);
      const exporter = { write: async () => undefined, end: async () => undefined };
      const prune = stores.state.audit.prune(ACCOUNT, { keepRecords: 0, reason: 'x', atMs: 1, exporter });
      await expect(prune).rejects.toMatchObject(coded);
      expect(await stores.state.audit.verify(ACCOUNT)).toMatchObject({ kind: 'broken', why: 'form' });
    },
  );

  test('does not present a changed attachment as the inputs of a decision', async () => {
    const records = await stores.state.audit.read(ACCOUNT, { from: 1 });
    const decision =
      records.find(({ record }) => record.content.kind === 'decision')?.record ?? expect.fail();
    const hash = decision.attachments['rules'] ?? '';
    for (const text of ['[]', '{"rules":']) {
      await redis.hset(key(`files:${ACCOUNT}`), hash, text);
      await expect(stores.state.audit.inputs(decision)).rejects.toMatchObject({ code: 'AUDIT_INPUTS' });
    }
  });

  test('of an unreadable account is not pruned, and the error has a name', async () => {
    await redis.hset(account(), 'd:limits', '[]');
    const exporter = { write: async () => undefined, end: async () => undefined };
    const prune = stores.state.audit.prune(ACCOUNT, { keepRecords: 0, reason: 'x', atMs: 1, exporter });
    await expect(prune).rejects.toMatchObject({ code: 'DOCUMENT_UNREADABLE', document: 'limits' });
  });

  test.each(['x|4|9e20', 'x|4|1.5'])(
    'of an account that counts %s is not taken for a lost store',
    async (tally) => {
      await redis.hset(account(), 't', tally);
      const exporter = { write: async () => undefined, end: async () => undefined };
      const prune = stores.state.audit.prune(ACCOUNT, { keepRecords: 0, reason: 'x', atMs: 1, exporter });
      const failed = await prune.then(
        () => undefined,
        (error: { code?: string }) => error.code,
      );
      expect(failed).not.toBe('STORE_LOST');
    },
  );

  test('that contradicts its account makes the discarding of a document fail instead of looping', async () => {
    await redis.hset(account(), 'd:routes', '[]');
    await redis.xadd(key(`audit:${ACCOUNT}`), '18446744073709551614-1', 't', 'x');
    const request = { document: 'routes', author: 'ann', reason: 'x', atMs: 1 };
    const discard = stores.state.store.discard(ACCOUNT, request);
    await expect(discard).rejects.toMatchObject({ code: 'AUDIT_CONTRADICTS' });
  });
});

type Question = Readonly<Record<string, unknown>> & { readonly asked: readonly object[] };

describe('an account is refused with a reason for', () => {
  test('a document of millions of characters', async () => {
    await redis.hset(account(), 'd:routes', `{"version":1,"routes":{"a":"${'x'.repeat(5_000_000)}"}}`);
    expect(await problem()).toBe('DOCUMENT_UNREADABLE routes');
  });

  test.each([
    ['a field of an unknown name', (name: string) => `d:${name}`],
    ['a lane of an unknown market', (name: string) => `l:${name}`],
  ])('%s that has thousands of characters, quoted briefly', async (_what, fieldOf) => {
    await redis.hset(account(), fieldOf('x'.repeat(5_000)), '{');
    const { load } = await stores.state.store.read(ACCOUNT);
    expect(load.kind === 'refused' ? load.problem.message.length : load).toBeLessThan(1_000);
  });

  test('a header of 70,000 characters, which are not repeated', async () => {
    await redis.hset(account(), 'h', '/'.repeat(70_000));
    const { load } = await stores.state.store.read(ACCOUNT);
    expect(load.kind).toBe('refused');
    expect(load.kind === 'refused' && load.problem.message.length).toBeLessThan(400);
  });

  test.each<[string, (one: Question) => object]>([
    [
      'whose targets are no numbers',
      (one: Question) => ({ ...one, asked: [{ ...one.asked[0], targets: [{}] }] }),
    ],
    ['that asks nothing', (one: Question) => ({ ...one, asked: 1 })],
    ['of no rule', (one: Question) => ({ ...one, stageKey: '{' })],
    ['in a state that there is not', (one: Question) => ({ ...one, state: 'approvedByNobody' })],
  ])('a question to people %s', async (_how, change) => {
    const stored = JSON.parse((await redis.hget(account(), 'd:approvals')) ?? '') as {
      questions: Question[];
    };
    const questions = stored.questions.map(change);
    await redis.hset(account(), 'd:approvals', JSON.stringify({ ...stored, questions }));
    expect(await problem()).toBe('DOCUMENT_UNREADABLE approvals');
  });

  test('a header with invalid record numbers', async () => {
    const header = (await redis.hget(account(), 'h')) ?? '';
    const parts = header.split('|');
    parts[7] = '1.5';
    await redis.hset(account(), 'h', parts.join('|'));
    expect(await problem()).toBe('DOCUMENT_NEWER header');
  });
});

test('an inbox with thousands of orders is read only up to its limit', async () => {
  const inbox = JSON.parse((await redis.hget(account(), 'd:inbox')) ?? '') as { orders: object[] };
  const orders = Array.from({ length: 5_000 }, () => inbox.orders[0]);
  await redis.hset(account(), 'd:inbox', JSON.stringify({ version: 1, orders }));
  const { load } = await stores.state.store.read(ACCOUNT);
  const read = load.kind === 'loaded' ? load.account.documents.inbox : undefined;
  expect([read?.orders.length, read?.unread]).toEqual([2 * MAX_INBOX_ORDERS, 5_000 - 2 * MAX_INBOX_ORDERS]);
});

test.each([
  ['too long', 'x'.repeat(5_000_000)],
  ['too many', Array.from({ length: 3 * (MAX_CONTROLS + MAX_ACKNOWLEDGEMENTS) }, () => 1)],
])('controls that are %s pause everything instead of blocking the daemon', async (what, entries) => {
  const text = JSON.stringify({ version: 1, entries });
  await redis.set(key('controls'), `abcdefghijkl${text}`);
  const { controls } = await stores.state.store.read(ACCOUNT);
  const reason = expect.stringContaining(`are ${what}`) as unknown;
  expect(controls.entries).toEqual([expect.objectContaining({ kind: 'pause', accountId: null, reason })]);
});

test.each([9e99, -1, 1e17])('a stress test with an invalid time (%s) is ignored', async (nextAtMs) => {
  const latest = `${prefix}:{stress}:latest`;
  const text = JSON.parse((await redis.get(latest)) ?? '') as object;
  expect(await stores.stress.read()).toBeDefined();
  await redis.set(latest, JSON.stringify({ ...text, nextAtMs }));
  expect(await stores.stress.read()).toBeUndefined();
});

describe('a reply that no script gives is an error', () => {
  const answering = (name: string, reply: unknown): Stores =>
    openStores(
      new Proxy(redis, {
        get(target, member) {
          if (member === name) return async () => reply;
          const found: unknown = Reflect.get(target, member);
          return typeof found === 'function' ? (found.bind(target) as unknown) : found;
        },
      }),
      prefix,
    );
  const refusal = { message: 'unexpected reply of a Redis script' };
  const within = { cause: expect.objectContaining(refusal) as unknown };
  const LEASES = (stores_: Stores) => stores_.state.store.leases.acquire(ACCOUNT, MARKET, 'me', 2_000);

  test.each<[string, string, unknown, (of: Stores) => Promise<unknown>, object]>([
    ['a token that is none', 'bwLeaseAcquire', [1, 'x'], LEASES, within],
    ['a wait for ever', 'bwLeaseAcquire', [0, 'x', 1e300], LEASES, within],
    [
      'a sequence below what was asked',
      'bwNonceReserve',
      ['1', '0'],
      (of) => of.nonces.reserve(NONCES, 5, 1),
      refusal,
    ],
    [
      'a sequence that is none',
      'bwNonceReserve',
      [null, '0'],
      (of) => of.nonces.reserve(NONCES, 5, 1),
      refusal,
    ],
    [
      'a nonce outside its window',
      'bwNonceReserveWindow',
      [1, 9, 1],
      (of) => of.nonces.reserveWindow(NONCES, 1, 5, 1),
      refusal,
    ],
    [
      'more permits than were asked for',
      'bwLimitTake',
      [1e300, 0],
      (of) => of.limits.take({ ...BUDGET, ignorePenalty: false }),
      refusal,
    ],
    [
      'fewer permits than none',
      'bwLimitTake',
      [-1, 5],
      (of) => of.limits.take({ ...BUDGET, ignorePenalty: false }),
      refusal,
    ],
    ['a hold for ever', 'bwReceiptHold', [0, 1e300], (of) => of.receipts.hold(THREAD, 'me', 1), refusal],
  ])('%s', async (_what, name, reply, use, error) => {
    const hostile = answering(name, reply);
    try {
      await expect(use(hostile)).rejects.toMatchObject(error);
    } finally {
      hostile.state.close();
      await hostile.nonces.close();
    }
  });
});
