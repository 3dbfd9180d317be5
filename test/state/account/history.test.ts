import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bucketOf } from '../../../src/core/ports/state-store.ts';
import { manualClock } from '../support/manual-clock.ts';
import {
  commit,
  HISTORY_SAMPLES,
  load,
  openPlaces,
  PLACE_KINDS,
  type Place,
  type Places,
} from '../support/place.ts';

describe.each(PLACE_KINDS)('history in %s', (kind) => {
  let places: Places;
  let place: Place;
  beforeAll(async () => {
    places = await openPlaces(kind);
    place = places.open();
  });
  afterAll(() => places.close());

  const sample = (mark: number) => [
    { subject: 'position:1', values: { mark: String(mark) } },
    { subject: 'creditLine:BTC@1', values: { ltv: mark / 10 } },
  ];

  test("samples are kept at the store's rate, for each subject, whichever process commits", async () => {
    const clock = manualClock();
    const states = [1, 2].map(() => place.open({ clock, historyEveryMs: 1_000 }));
    for (let poll = 0; poll < 10; poll += 1) {
      const state = states[poll % 2]!;
      await commit(state, { base: await load(state, 'curve'), history: sample(poll) });
      clock.advance(400);
    }
    const { history } = place.open();
    const marks = (await history.read('curve', 'position:1')).map(({ values }) => values['mark']);
    expect(marks).toEqual(['0', '3', '6', '9']);
    const ltvs = (await history.read('curve', 'creditLine:BTC@1')).map(({ values }) => values['ltv']);
    expect(ltvs).toEqual([0, 0.3, 0.6, 0.9]);
    expect(
      (await history.read('curve', 'position:1', { limit: 2 })).map(({ values }) => values['mark']),
    ).toEqual(['6', '9']);
    expect(await history.read('curve', 'position:2')).toEqual([]);
    const all = await history.readAll('curve');
    expect(all.map(({ samples }) => samples)).toEqual([0, 3, 6, 9].map(sample));
    expect(all.map(({ atMs }) => atMs)).toEqual(
      (await history.read('curve', 'position:1')).map(({ atMs }) => atMs),
    );
    // A part of the series, the newest first, both ends included. Two samples may share a millisecond.
    const [oldest, , third] = all;
    const between = { fromMs: oldest!.atMs, toMs: third!.atMs };
    const within = all.filter(({ atMs }) => atMs <= between.toMs);
    expect(await history.readAll('curve', { ...between, limit: 2 })).toEqual(within.slice(-2));
    expect(await history.readAll('curve', { toMs: oldest!.atMs - 1 })).toEqual([]);
    const [first] = await history.read('curve', 'position:1');
    expect(await history.read('curve', 'position:1', { fromMs: first!.atMs + 3_600_000 })).toEqual([]);
  });

  test('a clock that was set back does not stop the samples', async () => {
    const clock = manualClock();
    const state = place.open({ clock, historyEveryMs: 1_000 });
    await commit(state, { base: await load(state, 'back'), history: sample(1) });
    clock.stepWall(-3_600_000);
    await commit(state, { base: await load(state, 'back'), history: sample(2) });
    expect(await state.history.read('back', 'position:1')).toHaveLength(2);
  });

  test('the series is trimmed', async () => {
    const state = place.open({ historyEveryMs: 0 });
    let account = await load(state, 'long');
    for (let index = 0; index < 600; index += 1) {
      account = await commit(state, { base: account, history: sample(index) });
    }
    const kept = await place.raw.history(bucketOf('long'), 'long', {
      fromMs: 0,
      toMs: Infinity,
      count: 10_000,
    });
    // Redis trims whole nodes of 100 entries.
    expect(kept.length).toBeGreaterThanOrEqual(HISTORY_SAMPLES);
    expect(kept.length).toBeLessThanOrEqual(HISTORY_SAMPLES + 100);
    expect(kept.at(-1)?.values.get('position:1')).toBe('{"mark":"599"}');
  });
});
