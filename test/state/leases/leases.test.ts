import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LaneLease, LeaseReply } from '../../../src/core/ports/state-store.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createMemoryLeases } from '../../../src/state/leases/leases-memory.ts';
import { commitOne, lane, load, openPlaces, PLACE_KINDS, type Place, type Places } from '../support/place.ts';

const LEASE_MS = 20_000;
const SHORT_MS = 80;

function held(reply: LeaseReply): LaneLease {
  if (reply.kind !== 'held') throw new Error(`held by ${reply.by}`);
  return reply.lease;
}

describe.each(PLACE_KINDS)('lane leases in %s', (kind) => {
  let places: Places;
  let place: Place;
  beforeAll(async () => {
    places = await openPlaces(kind);
    place = places.open();
  });
  afterAll(() => places.close());

  test('exactly one of many gets a lane; other markets and accounts stay free', async () => {
    const stores = Array.from({ length: 6 }, () => place.open().store);
    const replies = await Promise.all(
      stores.map(({ leases }, index) => leases.acquire('one', 'BTC_PERP', `owner-${index}`, LEASE_MS)),
    );
    expect(replies.filter((reply) => reply.kind === 'held')).toHaveLength(1);
    for (const reply of replies) {
      if (reply.kind === 'busy') expect(reply.retryInMs).toBeLessThanOrEqual(LEASE_MS);
    }
    held(await stores[5]!.leases.acquire('one', 'ETH_PERP', 'other', LEASE_MS));
    held(await stores[5]!.leases.acquire('two', 'BTC_PERP', 'other', LEASE_MS));
  });

  test('the holder gets its lease again, under the same token', async () => {
    const { leases } = place.open().store;
    const first = held(await leases.acquire('again', 'BTC_PERP', 'me', LEASE_MS));
    expect(held(await leases.acquire('again', 'BTC_PERP', 'me', LEASE_MS))).toEqual(first);
  });

  test('a lane whose holder left or died is taken over with a larger token, and the old lease is lost', async () => {
    const { leases } = place.open().store;
    const dead = held(await leases.acquire('fence', 'BTC_PERP', 'dead', SHORT_MS));
    expect((await leases.acquire('fence', 'BTC_PERP', 'heir', LEASE_MS)).kind).toBe('busy');
    await systemClock.sleep(SHORT_MS + 10);
    const heir = held(await leases.acquire('fence', 'BTC_PERP', 'heir', LEASE_MS));
    expect(heir.token).toBeGreaterThan(dead.token);
    expect(await leases.renew(dead, LEASE_MS)).toBe('lost');
    await leases.release(dead);
    expect(await leases.renew(heir, LEASE_MS)).toBe('held');
    await leases.release(heir);
    const third = held(await leases.acquire('fence', 'BTC_PERP', 'third', LEASE_MS));
    expect(third.token).toBeGreaterThan(heir.token);
  });

  test('tokens grow with every lease, however fast they follow one another', async () => {
    const { leases } = place.open().store;
    const tokens: number[] = [];
    for (let turn = 0; turn < 60; turn += 1) {
      const lease = held(await leases.acquire('fast', 'BTC_PERP', `owner-${turn}`, LEASE_MS));
      tokens.push(lease.token);
      await leases.release(lease);
    }
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
  });

  test('a lease from before the clock stepped back ends like one that begins now', async () => {
    const { leases } = place.open().store;
    const hourMs = 3_600_000;
    held(await leases.acquire('stepped', 'BTC_PERP', 'dead', hourMs));
    const reply = await leases.acquire('stepped', 'BTC_PERP', 'heir', SHORT_MS);
    expect(reply.kind === 'busy' && reply.retryInMs <= SHORT_MS).toBe(true);
    await systemClock.sleep(SHORT_MS + 10);
    held(await leases.acquire('stepped', 'BTC_PERP', 'heir', SHORT_MS));
  });

  test('a renewed lease does not end', async () => {
    const { leases } = place.open().store;
    const lease = held(await leases.acquire('renew', 'BTC_PERP', 'me', SHORT_MS));
    await systemClock.sleep(SHORT_MS / 2);
    expect(await leases.renew(lease, LEASE_MS)).toBe('held');
    await systemClock.sleep(SHORT_MS);
    expect((await leases.acquire('renew', 'BTC_PERP', 'other', LEASE_MS)).kind).toBe('busy');
  });

  test('a commit under a lost lease changes nothing', async () => {
    const state = place.open();
    const { leases } = state.store;
    const lease = held(await leases.acquire('fenced', 'BTC_PERP', 'slow', SHORT_MS));
    const base = await load(state, 'fenced');
    const change = { base, lanes: new Map([['BTC_PERP', lane(base, 'BTC_PERP', 1)]]), lease };
    const first = await commitOne(state, change);
    if (first.kind !== 'committed') throw new Error(first.kind);
    await systemClock.sleep(SHORT_MS + 10);
    held(await leases.acquire('fenced', 'BTC_PERP', 'heir', LEASE_MS));
    const late = { ...change, base: first.account, lanes: new Map([['BTC_PERP', null]]) };
    expect(await commitOne(state, late)).toEqual({ kind: 'leaseLost' });
    expect((await load(place.open(), 'fenced')).lanes.size).toBe(1);
  });

  test('a token that only starts like the right one is refused', async () => {
    const state = place.open();
    const lease = held(await state.store.leases.acquire('prefix', 'BTC_PERP', 'me', LEASE_MS));
    const forged = { ...lease, token: Math.floor(lease.token / 10) };
    const base = await load(state, 'prefix');
    expect((await commitOne(state, { base, lease: forged })).kind).toBe('leaseLost');
    expect((await commitOne(state, { base, lease: { ...lease, market: 'ETH_PERP' } })).kind).toBe(
      'leaseLost',
    );
    expect((await commitOne(state, { base, lease })).kind).toBe('committed');
  });

  test('an account-wide action waits for lanes in use, blocks others, and then has all lanes', async () => {
    const { leases } = place.open().store;
    const btc = held(await leases.acquire('wide', 'BTC_PERP', 'a', LEASE_MS));
    expect((await leases.acquire('wide', null, 'wide', LEASE_MS)).kind).toBe('busy');
    expect((await leases.acquire('wide', 'ETH_PERP', 'b', LEASE_MS)).kind).toBe('busy');
    expect(await leases.renew(btc, LEASE_MS)).toBe('wanted');
    expect(held(await leases.acquire('wide', 'BTC_PERP', 'a', LEASE_MS)).token).toBe(btc.token);
    await leases.release(btc);
    const wide = held(await leases.acquire('wide', null, 'wide', LEASE_MS));
    expect((await leases.acquire('wide', 'BTC_PERP', 'a', LEASE_MS)).kind).toBe('busy');
    expect((await leases.acquire('wide', null, 'other', LEASE_MS)).kind).toBe('busy');
    const state = place.open();
    const base = await load(state, 'wide');
    expect((await commitOne(state, { base, lease: wide })).kind).toBe('committed');
    await leases.release(wide);
    // Now `other` is the one that waits for all lanes.
    expect((await leases.acquire('wide', 'BTC_PERP', 'a', LEASE_MS)).kind).toBe('busy');
    held(await leases.acquire('wide', null, 'other', LEASE_MS));
    await leases.release({ accountId: 'wide', market: null, owner: 'other' });
    held(await leases.acquire('wide', 'BTC_PERP', 'a', LEASE_MS));
  });

  test('a wait for all lanes that was given up, or whose process died, blocks nobody', async () => {
    const { leases } = place.open().store;
    held(await leases.acquire('wish', 'BTC_PERP', 'a', LEASE_MS));
    await leases.acquire('wish', null, 'wide', LEASE_MS);
    await leases.release({ accountId: 'wish', market: null, owner: 'wide' });
    held(await leases.acquire('wish', 'ETH_PERP', 'b', LEASE_MS));
    await leases.acquire('wish', null, 'dies', SHORT_MS);
    await systemClock.sleep(SHORT_MS + 10);
    held(await leases.acquire('wish', 'XRP_PERP', 'c', LEASE_MS));
  });

  test('of two account-wide actions the first in line goes first', async () => {
    const { leases } = place.open().store;
    const btc = held(await leases.acquire('line', 'BTC_PERP', 'a', LEASE_MS));
    await leases.acquire('line', null, 'first', LEASE_MS);
    await leases.acquire('line', null, 'second', LEASE_MS);
    await leases.release(btc);
    expect((await leases.acquire('line', null, 'second', LEASE_MS)).kind).toBe('busy');
    held(await leases.acquire('line', null, 'first', LEASE_MS));
  });
});

test('a lease in memory never seems longer than asked for, at any fraction of a millisecond', async () => {
  // Shortly before a power of two: beyond it a double is coarser, and a difference does not undo the rounding of a sum.
  const times = fc
    .tuple(fc.integer({ min: 8, max: 40 }), fc.integer({ min: 1, max: 100_000 }))
    .map(([power, microseconds]) => 2 ** power - microseconds / 1_000);
  await fc.assert(
    fc.asyncProperty(times, fc.integer({ min: 100, max: 1e5 }), async (nowMs, leaseMs) => {
      const leases = createMemoryLeases({ ...systemClock, monotonicMs: () => nowMs });
      held(await leases.acquire('any', 'BTC_PERP', 'me', leaseMs));
      const reply = await leases.acquire('any', 'BTC_PERP', 'other', leaseMs);
      expect(reply).toEqual({ kind: 'busy', by: 'me', retryInMs: leaseMs });
    }),
  );
});
