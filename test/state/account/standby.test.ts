import { describe, expect, test } from 'vitest';
import { bucketOf } from '../../../src/core/ports/state-store.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createMemoryPlace, createMemoryState, createStandby, type State } from '../../../src/state/state.ts';
import { commit, episodeOf, evaluation, load, note } from '../support/place.ts';

const OPTIONS = { clock: systemClock, sharedNowMs: () => systemClock.nowMs() };
const KNOWN = 'known';
const IDS = Array.from({ length: 10_000 }, (_, number) => `account-${number}`);
const beside = IDS.find((id) => bucketOf(id) === bucketOf(KNOWN)) ?? '';
const apart = IDS.find((id) => bucketOf(id) !== bucketOf(KNOWN)) ?? '';

function open() {
  const place = createMemoryPlace(OPTIONS);
  const standby = createStandby(place.backend, OPTIONS);
  return {
    standby,
    own: createMemoryState(OPTIONS, { backend: standby }),
    other: (): State => createMemoryState(OPTIONS, place),
  };
}

async function count(state: State, accountId: string): Promise<number> {
  const base = await load(state, accountId);
  const next = episodeOf(base) + 1;
  await commit(state, {
    base,
    documents: { evaluation: evaluation(accountId, next) },
    audit: [note(`counted ${next}`)],
  });
  return next;
}

describe('handed back after the shared store was lost', () => {
  test.each([
    ['beside one that was known', beside],
    ['where none was known', apart],
  ])('is an account that was first seen alone, %s', async (_, accountId) => {
    const { standby, own, other } = open();
    await count(own, KNOWN);
    standby.takeOver();
    await count(own, accountId);
    await count(own, accountId);
    await count(own, KNOWN);
    await standby.handBack();
    own.store.forgetAll();
    for (const state of [own, other()]) {
      expect(episodeOf(await load(state, accountId))).toBe(2);
      expect(episodeOf(await load(state, KNOWN))).toBe(2);
      expect((await state.audit.verify(accountId)).kind).toBe('intact');
    }
    expect(await count(own, accountId)).toBe(3);
    // A second loss begins with what there is now.
    standby.takeOver();
    expect(await count(own, accountId)).toBe(4);
  });
});
