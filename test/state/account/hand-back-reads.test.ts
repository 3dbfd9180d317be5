import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createMemoryPlace, createMemoryState, createStandby, type State } from '../../../src/state/state.ts';
import { commit, episodeOf, evaluation, lane, load, note } from '../support/place.ts';

const ACCOUNT = 'desk';
const START_MS = 1_767_225_600_000;
const MARKET = 'BTC_PERP';

function open() {
  const clock = { ...systemClock, nowMs: () => START_MS };
  const options = { clock, sharedNowMs: clock.nowMs };
  const place = createMemoryPlace(options);
  const standby = createStandby(place.backend, options);
  return {
    standby,
    own: createMemoryState(options, { backend: standby }),
    other: createMemoryState(options, place),
  };
}

interface Deed {
  /** When the read was sent that is judged, from the start. */
  readonly readAtMs: number;
  readonly episode: number;
  readonly sends?: boolean;
}

async function judge(state: State, { readAtMs, episode, sends = false }: Deed): Promise<void> {
  const base = await load(state, ACCOUNT);
  const judged = { ...evaluation(ACCOUNT, episode), positionsReadMs: START_MS + readAtMs };
  const event = { market: MARKET, kind: 'placing', reason: 'reduce', words: 'sell 1', alarm: false } as const;
  const sent = {
    kind: 'action',
    event: { ...event, accountId: ACCOUNT, atMs: START_MS + readAtMs },
  } as const;
  await commit(state, {
    base,
    documents: { evaluation: judged },
    lanes: new Map([[MARKET, lane(base, MARKET, episode)]]),
    audit: sends ? [sent] : [note(`judged ${episode}`)],
  });
}

const ORDER = {
  author: 'ann',
  reason: 'x',
  kind: 'reduce',
  markets: [MARKET],
  target: { kind: 'by', fraction: 0.5 },
  slippageSteps: [0.01],
  flatten: false,
  expiresAtMs: START_MS + 3_600_000,
} as const;

interface Course {
  /** What others did last before the shared store was lost, which this process has not seen. */
  readonly before: Deed;
  readonly alone: Deed;
  /** What others do when the shared store answers again. */
  readonly after?: Deed;
}

async function handBack({ before, alone, after }: Course) {
  const scene = open();
  const { standby, own, other } = scene;
  await judge(other, before);
  const { epoch } = await load(other, ACCOUNT);
  standby.takeOver();
  await judge(own, alone);
  await standby.noteReturn();
  if (after !== undefined) await judge(other, after);
  const [handedBack] = await standby.handBack(() => own.store.forgetAll());
  return { ...scene, how: handedBack?.how, epochBefore: epoch.id };
}

const BEFORE = { readAtMs: 9_500, episode: 1, sends: true };
const ALONE = { readAtMs: 18_500, episode: 2, sends: true };

describe('what was done alone for an account that others had judged last, and do not go on with,', () => {
  test('is in force; of what they had sent the new store epoch knows nothing', async () => {
    const { own, other, how, epochBefore } = await handBack({ before: BEFORE, alone: ALONE });
    expect(how).toBe('merged');
    for (const state of [own, other]) {
      const account = await load(state, ACCOUNT);
      expect(episodeOf(account)).toBe(2);
      expect(account.lanes.get(MARKET)).toMatchObject({ attempt: 2 });
      expect(account.epoch.id).not.toBe(epochBefore);
      expect((await state.audit.verify(ACCOUNT)).kind).toBe('intact');
    }
  });

  test('is in force in the same epoch where nothing was recorded for the lane before', async () => {
    const { own, how, epochBefore } = await handBack({ before: { ...BEFORE, sends: false }, alone: ALONE });
    const account = await load(own, ACCOUNT);
    expect([how, account.epoch.id, episodeOf(account)]).toEqual(['merged', epochBefore, 2]);
  });

  test('is in force together with what people asked for there', async () => {
    const { standby, own, other } = open();
    await judge(other, BEFORE);
    const { id } = await other.controls.submit(ACCOUNT, ORDER);
    standby.takeOver();
    await judge(own, ALONE);
    const alone = await own.controls.submit(ACCOUNT, ORDER);
    await standby.noteReturn();
    await standby.handBack(() => own.store.forgetAll());
    const { inbox } = (await load(other, ACCOUNT)).documents;
    expect(inbox?.orders.map((order) => order.id).toSorted()).toEqual([id, alone.id].toSorted());
  });

  test('is in force together with what they wrote and this process has not; no episode of theirs comes again', async () => {
    const { standby, own, other } = open();
    await judge(other, { ...BEFORE, episode: 7 });
    const limits = { version: 1, admitted: [], rebasedMs: 7 } as const;
    await commit(other, { base: await load(other, ACCOUNT), documents: { limits } });
    standby.takeOver();
    await judge(own, ALONE);
    await standby.noteReturn();
    await standby.handBack(() => own.store.forgetAll());
    const { documents } = await load(other, ACCOUNT);
    expect(documents.limits).toEqual(limits);
    expect(documents.evaluation).toMatchObject({
      nextEpisode: 7,
      positionsReadMs: START_MS + ALONE.readAtMs,
    });
  });
});

describe('what was done alone is superseded', () => {
  test.each<[string, Course]>([
    [
      'where others go on with the account, as they write for it when the store is back',
      { before: BEFORE, alone: ALONE, after: { readAtMs: 18_200, episode: 1 } },
    ],
    ['where the last read is theirs', { before: BEFORE, alone: { ...ALONE, readAtMs: 9_400 } }],
  ])('%s', async (_, course) => {
    const { own, how } = await handBack(course);
    expect(how).toBe('superseded');
    expect(episodeOf(await load(own, ACCOUNT))).toBe(1);
  });

  test('where nobody noted how the account stood when the store was back', async () => {
    const { standby, own, other } = open();
    await judge(other, BEFORE);
    standby.takeOver();
    await judge(own, ALONE);
    expect(await standby.handBack()).toMatchObject([{ how: 'superseded' }]);
  });
});
