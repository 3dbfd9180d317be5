import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AuditEvent } from '../../../src/core/audit/audit-event.ts';
import type { LaneState } from '../../../src/core/lanes/lane-state.ts';
import { bucketOf, type StoredAccount } from '../../../src/core/ports/state-store.ts';
import type { State } from '../../../src/state/state.ts';
import {
  commit,
  commitOne,
  episodeOf,
  evaluation,
  lane,
  load,
  NO_CHANGE,
  note,
  openPlaces,
  PLACE_KINDS,
  type Place,
  type Places,
} from '../support/place.ts';

const MARKETS = ['M0_PERP', 'M1_PERP'] as const;
const BTC = 'BTC_PERP';
const ETH = 'ETH_PERP';

function eventIn(market: string, words: string): AuditEvent {
  return { kind: 'doubt', accountId: 'a', market, atMs: 1, reason: 'test', words, alarm: false };
}

function laneChange(base: StoredAccount, market: string, attempt: number) {
  const audit = [{ kind: 'action' as const, event: eventIn(market, `attempt ${attempt}`) }];
  return { base, lanes: new Map([[market, lane(base, market, attempt)]]), audit };
}

const attempts = (account: StoredAccount): Record<string, number> =>
  Object.fromEntries(Array.from(account.lanes, ([market, { attempt }]) => [market, attempt]));

describe.each(PLACE_KINDS)('versions of lanes in %s', (kind) => {
  let places: Places;
  let place: Place;
  beforeAll(async () => {
    places = await openPlaces(kind);
    place = places.open();
  });
  afterAll(() => places.close());

  const opened = async (accountId: string): Promise<{ state: State; base: StoredAccount }> => {
    const state = place.open();
    const first = await commit(state, { base: await load(state, accountId), audit: [note('begun')] });
    const lanes = new Map([BTC, ETH].map((market): [string, LaneState] => [market, lane(first, market, 1)]));
    return { state, base: await commit(state, { base: first, lanes }) };
  };

  test('lanes and the rest of an account change at the same time without conflict', async () => {
    const { state, base } = await opened('apart');
    const rest = { base, documents: { evaluation: evaluation('apart', 9) }, due: { inMs: 0, danger: 1 } };
    for (const change of [laneChange(base, BTC, 2), laneChange(base, ETH, 2), rest]) {
      expect((await commitOne(state, change)).kind).toBe('committed');
    }
    const stored = await load(place.open(), 'apart');
    expect(attempts(stored)).toEqual({ [BTC]: 2, [ETH]: 2 });
    expect(episodeOf(stored)).toBe(9);
    expect((await commitOne(state, laneChange(base, BTC, 3))).kind).toBe('conflict');
    expect((await commitOne(state, rest)).kind).toBe('conflict');
  });

  test('60 lanes of 2 processes, each changed 10 times at once: no change is refused or lost', async () => {
    await opened('busy');
    const states = [place.open(), place.open()];
    const many = Array.from({ length: 60 }, (_, index) => `L${index}_PERP`);
    await Promise.all(
      many.map(async (market, index) => {
        const state = states[index % 2]!;
        let current = await load(state, 'busy');
        for (let attempt = 1; attempt <= 10; attempt += 1) {
          current = await commit(state, laneChange(current, market, attempt));
        }
      }),
    );
    for (const state of [...states, place.open()]) {
      const found = attempts(await load(state, 'busy'));
      expect(many.map((market) => found[market])).toEqual(many.map(() => 10));
    }
    expect(await place.open().audit.verify('busy')).toMatchObject({ kind: 'intact' });
  });

  test("the state of other lanes in a commit's answer is the newest this process knows", async () => {
    const { state, base } = await opened('newest');
    await commit(state, laneChange(base, BTC, 2));
    const after = await commit(state, laneChange(base, ETH, 2));
    expect(attempts(after)).toEqual({ [BTC]: 2, [ETH]: 2 });
    expect(attempts(state.store.remembered('newest')!)).toEqual({ [BTC]: 2, [ETH]: 2 });
    expect(await commit(state, laneChange(after, BTC, 3))).toBeDefined();
  });

  test('a process reads what another one did between two of its commits', async () => {
    const { state, base } = await opened('between');
    const other = place.open();
    const seen = await load(other, 'between');
    await commit(state, laneChange(base, BTC, 2));
    await commit(other, laneChange(seen, ETH, 7));
    await commit(state, laneChange(base, 'SOL_PERP', 2));
    expect(attempts(await load(state, 'between'))).toEqual({ [BTC]: 2, [ETH]: 7, SOL_PERP: 2 });
  });

  test('a separable lane changed by another process is left out with its events; the rest is committed', async () => {
    const { state, base } = await opened('left-out');
    const other = place.open();
    await commit(other, laneChange(await load(other, 'left-out'), BTC, 5));
    const lanes = new Map(MARKETS.map((market): [string, LaneState] => [market, lane(base, market, 1)]));
    lanes.set(BTC, lane(base, BTC, 8));
    const audit = [BTC, MARKETS[0]].map((market) => ({
      kind: 'action' as const,
      event: eventIn(market, 'poll'),
    }));
    const documents = { evaluation: evaluation('left-out', 4) };
    const result = await commitOne(state, {
      base,
      documents,
      lanes,
      separable: new Set(lanes.keys()),
      audit,
    });
    expect(result).toMatchObject({ kind: 'committed', leftOut: [BTC] });
    const stored = await load(place.open(), 'left-out');
    expect(attempts(stored)).toMatchObject({ [BTC]: 5, [MARKETS[0]]: 1, [MARKETS[1]]: 1 });
    expect(episodeOf(stored)).toBe(4);
    const told = (await state.audit.tail('left-out', 100)).filter(
      ({ record }) => record.content.kind === 'action' && record.content.event.words === 'poll',
    );
    expect(told.map(({ record }) => record.market)).toEqual([MARKETS[0]]);
    expect(attempts(await load(state, 'left-out'))).toMatchObject({ [BTC]: 5 });
  });

  test('a lane that is not separable makes the whole commit fail', async () => {
    const { state, base } = await opened('whole');
    const other = place.open();
    await commit(other, laneChange(await load(other, 'whole'), BTC, 5));
    const change = { ...laneChange(base, BTC, 2), documents: { evaluation: evaluation('whole', 4) } };
    expect((await commitOne(state, change)).kind).toBe('conflict');
    expect(episodeOf(await load(place.open(), 'whole'))).toBe(0);
  });

  test('a commit under the lease of all lanes writes the versions of all lanes', async () => {
    const { state, base } = await opened('all');
    const reply = await state.store.leases.acquire('all', null, 'me', 20_000);
    if (reply.kind !== 'held') throw new Error(reply.by);
    const { lease } = reply;
    const other = place.open();
    await commit(other, laneChange(await load(other, 'all'), ETH, 5));
    const documents = { evaluation: evaluation('all', 4) };
    const lanes = new Map([[BTC, lane(base, BTC, 2)]]);
    expect((await commitOne(state, { base, documents, lanes, lease })).kind).toBe('conflict');
    const again = await load(state, 'all');
    expect((await commitOne(state, { base: again, documents, lanes, lease })).kind).toBe('committed');
    // A lane that was only compared has not changed.
    expect((await commitOne(other, laneChange(await load(other, 'all'), ETH, 6))).kind).toBe('committed');
  });

  test('a store that has lost a commit of a lane starts a new epoch', async () => {
    const { state, base } = await opened('forgets');
    const bucket = bucketOf('forgets');
    const before = await place.raw.fields(bucket, 'forgets');
    await commit(state, laneChange(base, BTC, 2));
    const { epoch } = await place.raw.view(bucket, { writer: '', stamp: '', accountIds: [], due: null });
    const fields = ['t', `v:${BTC}`, `l:${BTC}`].flatMap((field) => [field, before.get(field) ?? '']);
    await place.raw.commit(bucket, {
      epoch: epoch ?? '',
      writer: 'x'.repeat(12),
      controls: null,
      changes: [
        {
          accountId: 'forgets',
          expected: before.get('h') ?? '',
          header: before.get('h') ?? '',
          set: fields,
          ...NO_CHANGE,
        },
      ],
    });
    const after = await load(state, 'forgets');
    expect(after.isNewEpoch).toBe(true);
    expect(after.epoch).toMatchObject({ why: 'rolledBack' });
  });
});
