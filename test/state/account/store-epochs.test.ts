import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { bucketOf, StoreLostError } from '../../../src/core/ports/state-store.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import type { Backend } from '../../../src/state/account/account-backend.ts';
import {
  createMemoryPlace,
  createMemoryState,
  createRedisState,
  type State,
} from '../../../src/state/state.ts';
import { type RedisServer, startRedisServer } from '../../support/redis.ts';
import { commit, commitOne, connectTo, episodeOf, evaluation, lane, load, note } from '../support/place.ts';

/** A new store epoch: stored lanes are no longer trusted to know the open orders. */

let server: RedisServer;
const connections: Redis[] = [];
const states: State[] = [];
let prefixes = 0;

beforeAll(async () => {
  server = await startRedisServer({ persistent: true, args: ['--appendfsync', 'always'] });
});
afterAll(async () => {
  for (const state of states) state.close();
  for (const redis of connections) redis.disconnect();
  await server.stop();
});

function connect(): Redis {
  const redis = connectTo(server.url);
  connections.push(redis);
  return redis;
}

function open(prefix: string, timeoutMs = 10_000): State {
  const state = createRedisState({ redis: connect(), prefix, clock: systemClock, timeoutMs });
  states.push(state);
  return state;
}

const newPrefix = (): string => `epoch${(prefixes += 1)}`;

async function withLane(state: State, accountId: string) {
  const base = await load(state, accountId);
  return commit(state, {
    base,
    documents: { evaluation: evaluation(accountId, 5) },
    lanes: new Map([['BTC_PERP', lane(base, 'BTC_PERP', 3)]]),
    audit: [note('before')],
  });
}

test('one epoch for every process from the first commit on', async () => {
  const prefix = newPrefix();
  const [a, b] = [open(prefix), open(prefix)];
  const written = await withLane(a, 'calm');
  const read = await load(b, 'calm');
  expect(read.epoch).toEqual(written.epoch);
  expect(read.epoch.why).toBe('empty');
  expect(read.isNewEpoch).toBe(false);
});

test('a restarted server begins a new store epoch once, for all processes, and keeps its data', async () => {
  const prefix = newPrefix();
  const [a, b] = [open(prefix), open(prefix)];
  const before = await withLane(a, 'restart');
  await load(b, 'restart');
  await server.kill();
  await server.start();
  // Earlier reads belong to the old store epoch, whichever process notices first.
  expect((await commitOne(a, { base: before, quiet: 1 })).kind).toBe('epochChanged');
  const [first, second] = await Promise.all([load(a, 'restart'), load(b, 'restart')]);
  expect(first.epoch.id).not.toBe(before.epoch.id);
  expect(second.epoch).toEqual(first.epoch);
  expect(first.epoch.why).toBe('serverChanged');
  expect(first.isNewEpoch).toBe(true);
  expect(first.lanes.get('BTC_PERP')?.epoch).toBe(before.epoch.id);
  expect(episodeOf(first)).toBe(5);
  const after = await commit(b, { base: second });
  expect(after.isNewEpoch).toBe(false);
  const records = await b.audit.tail('restart', 1);
  expect(records[0]?.record.content).toMatchObject({
    kind: 'epochStarted',
    epoch: first.epoch.id,
    previousEpoch: before.epoch.id,
    why: 'serverChanged',
  });
  expect(await b.audit.verify('restart')).toMatchObject({ kind: 'intact' });
});

test('an emptied store begins a new store epoch', async () => {
  const prefix = newPrefix();
  const state = open(prefix);
  const before = await withLane(state, 'emptied');
  await connections[0]!.flushall();
  expect((await commitOne(state, { base: before })).kind).toBe('epochChanged');
  const after = await load(state, 'emptied');
  expect(after).toMatchObject({ version: 0, documents: {} });
  expect(after.epoch.why).toBe('empty');
  expect(after.epoch.id).not.toBe(before.epoch.id);
});

test('an account lost by the store begins a new store epoch although the server is the same', async () => {
  const prefix = newPrefix();
  const [a, b] = [open(prefix), open(prefix)];
  const before = await withLane(a, 'vanished');
  await connect().del(`${prefix}:{b${bucketOf('vanished')}}:account:vanished`);
  const after = await load(a, 'vanished');
  expect(after.epoch).toMatchObject({ why: 'rolledBack' });
  expect(after.epoch.id).not.toBe(before.epoch.id);
  expect((await load(b, 'vanished')).epoch).toEqual(after.epoch);
});

test('a version below one that this process committed begins a new store epoch', async () => {
  const prefix = newPrefix();
  const state = open(prefix);
  const redis = connect();
  const key = `${prefix}:{b${bucketOf('older')}}:account:older`;
  const before = await withLane(state, 'older');
  const dump = await redis.dumpBuffer(key);
  await commit(state, { base: before, documents: { evaluation: evaluation('older', 6) } });
  await redis.restore(key, 0, dump, 'REPLACE');
  const after = await load(state, 'older');
  expect(after.epoch).toMatchObject({ why: 'rolledBack' });
  expect(after.isNewEpoch).toBe(true);
  expect(episodeOf(after)).toBe(5);
});

test('the same version with another writer begins a new store epoch: a commit of this process is lost', async () => {
  const prefix = newPrefix();
  const [a, b] = [open(prefix), open(prefix)];
  const redis = connect();
  const key = `${prefix}:{b${bucketOf('twice')}}:account:twice`;
  await withLane(a, 'twice');
  const dump = await redis.dumpBuffer(key);
  await commit(a, { base: await load(a, 'twice'), documents: { evaluation: evaluation('twice', 6) } });
  await redis.restore(key, 0, dump, 'REPLACE');
  await commit(b, { base: await load(b, 'twice'), documents: { evaluation: evaluation('twice', 7) } });
  const after = await load(a, 'twice');
  expect(after.epoch.why).toBe('rolledBack');
  expect(episodeOf(after)).toBe(7);
});

test('overlapping reads and commits of one process begin no new store epoch', async () => {
  const prefix = newPrefix();
  const state = open(prefix);
  let base = await withLane(state, 'interleaved');
  const epoch = base.epoch.id;
  for (let turn = 0; turn < 30; turn += 1) {
    const reading = [1, 2, 3].map(() => state.store.read('interleaved'));
    base = await commit(state, { base, documents: { evaluation: evaluation('interleaved', turn + 10) } });
    await Promise.all(reading);
  }
  const after = await load(state, 'interleaved');
  expect(after.epoch.id).toBe(epoch);
  expect(after.version).toBe(base.version);
});

test.each([
  // The store leaves out what this process wrote, so it is fetched once more in its current form.
  ['this process', 2],
  ['another process', 1],
])('a late answer about a commit of %s begins no new store epoch', async (who, version) => {
  const place = createMemoryPlace({ clock: systemClock });
  const answered = Promise.withResolvers<void>();
  const arriving = Promise.withResolvers<void>();
  let isSlow = false;
  const slow = new Proxy(place.backend, {
    get(backend, name: keyof Backend) {
      if (name !== 'view') {
        const member: unknown = backend[name];
        return typeof member === 'function' ? (member.bind(backend) as unknown) : member;
      }
      return async (...args: Parameters<Backend['view']>) => {
        const view = await backend.view(...args);
        if (isSlow) {
          isSlow = false;
          answered.resolve();
          await arriving.promise;
        }
        return view;
      };
    },
  });
  const state = createMemoryState({ clock: systemClock }, { backend: slow });
  const other = createMemoryState({ clock: systemClock }, place);
  await withLane(who === 'this process' ? state : other, 'late');
  const base = await load(state, 'late');
  isSlow = true;
  const reading = state.store.read('late');
  await answered.promise;
  const next = await commit(state, { base, documents: { evaluation: evaluation('late', 6) } });
  arriving.resolve();
  const { load: found } = await reading;
  expect(found).toMatchObject({ account: { version, epoch: { id: base.epoch.id } } });
  expect(state.store.remembered('late')?.version).toBe(next.version);
  expect((await load(state, 'late')).epoch.id).toBe(base.epoch.id);
});

test('reads that begin a store epoch together agree on it, even if one of them is answered late', async () => {
  const place = createMemoryPlace({ clock: systemClock });
  const arriving = Promise.withResolvers<void>();
  let begun = 0;
  const startEpoch: Backend['startEpoch'] = async (...args) => {
    begun += 1;
    const isLate = begun === 2;
    const text = await place.backend.startEpoch(...args);
    if (isLate) await arriving.promise;
    return text;
  };
  const backend = new Proxy(place.backend, {
    get(target, name: keyof Backend) {
      const member: unknown = target[name];
      if (name === 'startEpoch') return startEpoch;
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
  const state = createMemoryState({ clock: systemClock }, { backend });
  const [first, second] = [load(state, 'twice'), load(state, 'twice')];
  const base = await first;
  arriving.resolve();
  await second;
  expect(begun).toBe(2);
  expect((await commitOne(state, { base, quiet: 1 })).kind).toBe('committed');
});

test('a claim handed out just when a store epoch began is still handed out', async () => {
  const prefix = newPrefix();
  const state = open(prefix);
  const bucket = bucketOf('claimed');
  const view = await state.store.takeDue(bucket, {
    accountIds: ['claimed'],
    claimMs: 30_000,
    maxAheadMs: 60_000,
  });
  expect(view.epoch.why).toBe('empty');
  expect(view.accounts).toHaveLength(1);
});

test('a store that does not answer is lost within the allowed time, and found again', async () => {
  const prefix = newPrefix();
  const state = open(prefix, 1_000);
  await withLane(state, 'silent');
  server.pause();
  try {
    await expect(state.store.read('silent')).rejects.toThrow(StoreLostError);
    expect(episodeOf(state.store.remembered('silent')!)).toBe(5);
  } finally {
    server.resume();
  }
  const patient = open(prefix);
  expect(episodeOf(await load(patient, 'silent'))).toBe(5);
});

test('a commit whose answer was lost is found by reading, and its process goes on from it', async () => {
  const prefix = newPrefix();
  const state = open(prefix, 1_000);
  const base = await withLane(state, 'lostReply');
  server.pause();
  try {
    const change = { base, documents: { evaluation: evaluation('lostReply', 6) } };
    await expect(state.store.commit([change])).rejects.toThrow(StoreLostError);
  } finally {
    server.resume();
  }
  const after = await load(open(prefix), 'lostReply');
  expect(episodeOf(after)).toBe(6);
  const own = await load(state, 'lostReply');
  expect(own).toMatchObject({ version: after.version, documents: after.documents, epoch: base.epoch });
  await commit(state, { base: own, documents: { evaluation: evaluation('lostReply', 7) } });
});

test('a server that became a replica loses the store: it was read as a trail that contradicts its account', async () => {
  const state = open(newPrefix());
  const base = await load(state, 'replica');
  const admin = connect();
  await admin.replicaof('127.0.0.1', 1);
  onTestFinished(() => admin.replicaof('NO', 'ONE').then(() => undefined));
  await expect(commitOne(state, { base, audit: [note('x')] })).rejects.toThrow(StoreLostError);
});
