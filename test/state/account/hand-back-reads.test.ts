import { describe, expect, test } from 'vitest';
import type { Approvals } from '../../../src/core/approvals/question.ts';
import { newAccountLane } from '../../../src/core/lanes/account-lane.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createMemoryPlace, createMemoryState, createStandby, type State } from '../../../src/state/state.ts';
import { commit, episodeOf, evaluation, lane, load, note } from '../support/place.ts';

const ACCOUNT = 'desk';
const START_MS = 1_767_225_600_000;
const MARKET = 'BTC_PERP';

const CLOCK = { ...systemClock, nowMs: () => START_MS };
const OPTIONS = { clock: CLOCK, sharedNowMs: CLOCK.nowMs };

function open() {
  const place = createMemoryPlace(OPTIONS);
  const standby = createStandby(place.backend, OPTIONS);
  return {
    standby,
    own: createMemoryState(OPTIONS, { backend: standby }),
    other: createMemoryState(OPTIONS, place),
  };
}

interface Deed {
  /** When the judged read was sent, since the start. */
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
  /** Deeds of others just before the shared store was lost, unknown to this process. */
  readonly before: Deed;
  readonly alone: Deed;
}

async function handBack({ before, alone }: Course) {
  const scene = open();
  const { standby, own, other } = scene;
  await judge(other, before);
  const { epoch } = await load(other, ACCOUNT);
  standby.takeOver();
  await judge(own, alone);
  const [handedBack] = await standby.handBack(() => own.store.forgetAll());
  return { ...scene, how: handedBack?.how, epochBefore: epoch.id };
}

const BEFORE = { readAtMs: 9_500, episode: 1 };
const ALONE = { readAtMs: 18_500, episode: 2, sends: true };

describe('what was done alone is in force if others had decided nothing unknown to this process,', () => {
  test('even if they had judged the account last', async () => {
    const { own, other, how, epochBefore } = await handBack({ before: BEFORE, alone: ALONE });
    expect(how).toBe('merged');
    for (const state of [own, other]) {
      const account = await load(state, ACCOUNT);
      expect(episodeOf(account)).toBe(2);
      expect(account.lanes.get(MARKET)).toMatchObject({ attempt: 2 });
      expect(account.epoch.id).toBe(epochBefore);
      expect(await state.audit.verify(ACCOUNT)).toMatchObject({ kind: 'intact' });
    }
  });

  test('together with operator orders given there', async () => {
    const { standby, own, other } = open();
    await judge(other, BEFORE);
    const { id } = await other.controls.submit(ACCOUNT, ORDER);
    standby.takeOver();
    await judge(own, ALONE);
    const alone = await own.controls.submit(ACCOUNT, ORDER);
    await standby.handBack(() => own.store.forgetAll());
    const { inbox } = (await load(other, ACCOUNT)).documents;
    expect(inbox?.orders.map((order) => order.id).toSorted()).toEqual([id, alone.id].toSorted());
  });

  test('together with their writes that this process had not seen', async () => {
    const { standby, own, other } = open();
    await judge(other, BEFORE);
    const limits = { version: 1, admitted: [], rebasedMs: 7 } as const;
    await commit(other, { base: await load(other, ACCOUNT), documents: { limits } });
    standby.takeOver();
    await judge(own, ALONE);
    await standby.handBack(() => own.store.forgetAll());
    const { documents } = await load(other, ACCOUNT);
    expect(documents.limits).toEqual(limits);
    expect(documents.evaluation).toMatchObject({
      nextEpisode: 2,
      positionsReadMs: START_MS + ALONE.readAtMs,
    });
  });
});

test('a document discarded in the shared store does not come back with what was done alone', async () => {
  const { standby, own, other } = open();
  await judge(other, BEFORE);
  const limits = { version: 1, admitted: [], rebasedMs: 7 } as const;
  await commit(other, { base: await load(other, ACCOUNT), documents: { limits } });
  await load(own, ACCOUNT);
  await other.store.discard(ACCOUNT, { document: 'limits', author: 'ann', reason: 'x', atMs: START_MS });
  standby.takeOver();
  await judge(own, { ...ALONE, episode: 1 });
  expect(await standby.handBack(() => own.store.forgetAll())).toMatchObject([{ how: 'merged' }]);
  expect((await load(other, ACCOUNT)).documents.limits).toBeUndefined();
});

describe('what was done alone is superseded', () => {
  test.each<[string, Course]>([
    ['by an episode that others had begun', { before: { ...BEFORE, episode: 2 }, alone: ALONE }],
    ['by what they had recorded of a lane', { before: { ...BEFORE, sends: true }, alone: ALONE }],
    ['by a later read', { before: BEFORE, alone: { ...ALONE, readAtMs: 9_400 } }],
  ])('%s', async (_, { before, alone }) => {
    const { own, how } = await handBack({ before, alone: { ...alone, episode: 3 } });
    expect(how).toBe('superseded');
    expect(episodeOf(await load(own, ACCOUNT))).toBe(before.episode);
  });

  test('by an account-wide cancel', async () => {
    const { standby, own, other } = open();
    await judge(other, BEFORE);
    await load(own, ACCOUNT);
    const documents = { accountLane: newAccountLane(ACCOUNT) };
    await commit(other, { base: await load(other, ACCOUNT), documents, audit: [note('cancelled')] });
    standby.takeOver();
    await judge(own, { ...ALONE, episode: 1 });
    expect(await standby.handBack()).toMatchObject([{ how: 'superseded' }]);
  });

  test('by an answer of people', async () => {
    const { standby, own, other } = open();
    const approvals = (atMs: number): Approvals => ({
      version: 1,
      questions: [],
      rebasedMs: START_MS + atMs,
    });
    await judge(other, BEFORE);
    await load(own, ACCOUNT);
    await commit(other, {
      base: await load(other, ACCOUNT),
      documents: { approvals: approvals(1) },
      audit: [note('answered')],
    });
    standby.takeOver();
    await judge(own, { ...ALONE, episode: 1 });
    await commit(own, { base: await load(own, ACCOUNT), documents: { approvals: approvals(2) } });
    expect(await standby.handBack()).toMatchObject([{ how: 'superseded' }]);
  });
});

describe('a hand-back repeated because the first answer was lost', () => {
  const limits = { version: 1, admitted: [], rebasedMs: 7 } as const;

  async function handBackTwice(before: Deed) {
    const place = createMemoryPlace(OPTIONS);
    const { backend } = place;
    const standby = createStandby(backend, OPTIONS);
    const own = createMemoryState(OPTIONS, { backend: standby });
    const other = createMemoryState(OPTIONS, place);
    await judge(other, before);
    await commit(other, { base: await load(other, ACCOUNT), documents: { limits } });
    const { id } = await other.controls.submit(ACCOUNT, ORDER);
    standby.takeOver();
    await judge(own, ALONE);
    const commitNow = backend.commit.bind(backend);
    backend.commit = async (...args) => {
      await commitNow(...args);
      backend.commit = commitNow;
      throw new Error('its answer is lost');
    };
    await expect(standby.handBack()).rejects.toThrow('its answer is lost');
    const [handedBack] = await standby.handBack(() => own.store.forgetAll());
    const { documents } = await load(other, ACCOUNT);
    expect([documents.limits, documents.inbox?.orders.map((order) => order.id)]).toEqual([limits, [id]]);
    return { how: handedBack?.how, nextEpisode: documents.evaluation?.nextEpisode };
  }

  test('keeps what another process had written', async () => {
    expect(await handBackTwice(BEFORE)).toEqual({ how: 'merged', nextEpisode: 2 });
  });

  test('keeps what superseded it', async () => {
    expect(await handBackTwice({ ...BEFORE, episode: 7 })).toEqual({ how: 'superseded', nextEpisode: 7 });
  });
});
