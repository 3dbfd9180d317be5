import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { TRUSTING } from '../../../src/core/ports/operator-trust.ts';
import { bucketOf, type LaneLease, type StoredAccount } from '../../../src/core/ports/state-store.ts';
import { systemClock, systemTimers } from '../../../src/exchange/system-clock.ts';
import { Mirror } from '../../../src/state/mirror/mirror.ts';
import { createMemoryPlace, createMemoryState, createStandby, type State } from '../../../src/state/state.ts';
import { createMemoryDisk } from '../support/memory-mirror.ts';
import { commit, commitOne, episodeOf, evaluation, lane, load, note } from '../support/place.ts';

const OPTIONS = { clock: systemClock, sharedNowMs: () => systemClock.nowMs() };
const KNOWN = 'known';
const IDS = Array.from({ length: 10_000 }, (_, number) => `account-${number}`);
const beside = IDS.find((id) => bucketOf(id) === bucketOf(KNOWN)) ?? '';
const apart = IDS.find((id) => bucketOf(id) !== bucketOf(KNOWN)) ?? '';

function open() {
  const place = createMemoryPlace(OPTIONS);
  const standby = createStandby(place.backend, OPTIONS);
  return {
    backend: place.backend,
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

describe('after the shared store was lost, the hand-back', () => {
  test.each([
    ['beside one that was known', beside],
    ['where none was known', apart],
  ])('includes an account that was first seen alone, %s', async (_, accountId) => {
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
      expect(await state.audit.verify(accountId)).toMatchObject({ kind: 'intact' });
    }
    expect(await count(own, accountId)).toBe(3);
    // A second loss starts from the current state.
    standby.takeOver();
    expect(await count(own, accountId)).toBe(4);
  });
});

test('does not append to a chain twice if the store is lost again before all of it was read', async () => {
  const place = createMemoryPlace(OPTIONS);
  let viewsLeft = Number.POSITIVE_INFINITY;
  const { backend } = place;
  const view = backend.view.bind(backend);
  backend.view = (...args) => {
    viewsLeft -= 1;
    return viewsLeft < 0 ? Promise.reject(new Error('lost again')) : view(...args);
  };
  const standby = createStandby(backend, OPTIONS);
  const own = createMemoryState(OPTIONS, { backend: standby });
  const accountIds = [KNOWN, apart];
  for (const accountId of accountIds) await count(own, accountId);
  standby.takeOver();
  for (const accountId of accountIds) await count(own, accountId);
  // One view for each bucket before it is written, and one afterwards: the store is lost at the last one.
  viewsLeft = 2 * accountIds.length - 1;
  await expect(standby.handBack()).rejects.toThrow('lost again');
  viewsLeft = Number.POSITIVE_INFINITY;
  for (const accountId of accountIds) await count(own, accountId);
  await standby.handBack();
  own.store.forgetAll();
  for (const accountId of accountIds) {
    expect(episodeOf(await load(own, accountId))).toBe(3);
    expect(await own.audit.verify(accountId)).toMatchObject({ kind: 'intact' });
  }
});

const WORDS = { author: 'ann', reason: 'x' };
const LATER_MS = Date.now() + 3_600_000;
const PAUSE = { ...WORDS, kind: 'pause', accountId: null, expiresAtMs: null } as const;
const SILENCE = {
  ...WORDS,
  kind: 'silence',
  accountId: null,
  ruleId: 'r',
  subject: null,
  expiresAtMs: LATER_MS,
} as const;
const ACKNOWLEDGEMENT = {
  ...WORDS,
  kind: 'acknowledgement',
  accountId: KNOWN,
  ruleId: 'r',
  subject: 's',
  episode: 1,
  stage: 0,
  expiresAtMs: LATER_MS,
} as const;

const SELL = {
  market: 'BTC_PERP',
  kind: 'placing',
  reason: 'reduce',
  words: 'sell 1',
  alarm: false,
} as const;

/** A decision of the process, with a request if `sends`. Two with the same time cannot be told apart. */
async function act(state: State, accountId: string, sends: boolean, atMs = 1): Promise<void> {
  const base = await load(state, accountId);
  const event = { ...SELL, accountId, atMs };
  const lanes = new Map([['BTC_PERP', lane(base, 'BTC_PERP', 1)]]);
  const audit = sends ? [{ kind: 'action', event } as const] : [note('decided')];
  await commit(state, {
    base,
    documents: { evaluation: evaluation(accountId, episodeOf(base) + 1) },
    lanes,
    audit,
  });
}

const epochOf = async (state: State): Promise<string> => (await load(state, KNOWN)).epoch.id;

describe('if another process went on with an account meanwhile', () => {
  test.each([
    ['nothing was sent alone, the store epoch goes on', false],
    ['something was, another one begins: what stands at the exchange is in no state', true],
  ])('and %s', async (_, sends) => {
    const { standby, own, other } = open();
    await count(own, KNOWN);
    const before = await epochOf(own);
    standby.takeOver();
    await act(own, KNOWN, sends);
    await act(other(), KNOWN, true, 2);
    expect(await standby.handBack()).toMatchObject([{ how: 'superseded' }]);
    own.store.forgetAll();
    expect((await epochOf(own)) === before).toBe(!sends);
  });

  test("and both decided, the other's decision is in force; records made alone wait for their chain, even without a mirror", async () => {
    const { standby, own, other } = open();
    await count(own, KNOWN);
    standby.takeOver();
    await count(own, KNOWN);
    for (const next of [2, 3]) expect(await count(other(), KNOWN)).toBe(next);
    expect(await standby.handBack()).toMatchObject([{ how: 'superseded', segment: [{}] }]);
    expect(standby.unattached.of(KNOWN)?.segment).toMatchObject([
      { text: expect.stringContaining('counted 2') as string },
    ]);
    own.store.forgetAll();
    expect(episodeOf(await load(own, KNOWN))).toBe(3);
  });
});

describe('work on an account during its hand-back waits for the end of it', () => {
  const LEASE_MS = 60_000;

  /** A hand-back whose write to the shared store waits for `goOn`. */
  async function handingBack(openAlone: (scene: ReturnType<typeof open>) => Promise<void>) {
    const scene = open();
    const { backend, standby, own } = scene;
    await count(own, KNOWN);
    standby.takeOver();
    await openAlone(scene);
    const base = await load(own, KNOWN);
    const { promise: isWriting, resolve: writes } = Promise.withResolvers<void>();
    const { promise: mayGoOn, resolve: goOn, reject: lose } = Promise.withResolvers<void>();
    const share = backend.commit.bind(backend);
    backend.commit = async (...args) => {
      writes();
      await mayGoOn;
      return await share(...args);
    };
    const ended = standby.handBack(() => own.store.forgetAll());
    ended.catch(() => undefined);
    await isWriting;
    backend.commit = share;
    const end = async (): Promise<void> => {
      // Lets concurrent work go on as far as it can first.
      await setImmediate();
      goOn();
      await ended;
    };
    return { ...scene, base, ended, end, lose };
  }

  const decide = (base: StoredAccount, lease?: LaneLease) => ({
    base,
    documents: { evaluation: evaluation(KNOWN, 7) },
    lanes: new Map([['BTC_PERP', lane(base, 'BTC_PERP', 7)]]),
    audit: [note('decided meanwhile')],
    ...(lease === undefined ? {} : { lease }),
  });
  const wordsOf = async (state: State): Promise<readonly string[]> =>
    (await state.audit.tail(KNOWN, 100)).flatMap(({ record: { content } }) =>
      content.kind === 'note' ? [content.words] : [],
    );

  test('a commit during it is refused with epochChanged, and made again on the shared store', async () => {
    const { own, other, base, end } = await handingBack(async ({ own: alone }) => {
      for (const next of [2, 3]) expect(await count(alone, KNOWN)).toBe(next);
    });
    const { epoch } = base;
    const [decided, read] = [commitOne(own, decide(base)), load(own, KNOWN)];
    await end();
    expect(await decided).toEqual({ kind: 'epochChanged' });
    expect(await commitOne(own, decide(await read))).toMatchObject({ kind: 'committed' });
    for (const state of [own, other()]) {
      const account = await load(state, KNOWN);
      expect(episodeOf(account)).toBe(7);
      expect(account.epoch.id).toBe(epoch.id);
      expect(await state.audit.verify(KNOWN)).toMatchObject({ kind: 'intact' });
    }
    expect(await wordsOf(other())).toEqual(['counted 1', 'counted 2', 'counted 3', 'decided meanwhile']);
  });

  test('if another process went on with the account, the commit is refused and that work is seen', async () => {
    const { own, base, end } = await handingBack(async ({ own: alone, other }) => {
      await count(alone, KNOWN);
      for (const next of [2, 3]) expect(await count(other(), KNOWN)).toBe(next);
    });
    const [decided, read] = [commitOne(own, decide(base)), load(own, KNOWN)];
    await end();
    expect(await decided).toEqual({ kind: 'epochChanged' });
    expect(episodeOf(await read)).toBe(3);
  });

  test('a lane held alone is no longer held', async () => {
    let lease: LaneLease | undefined;
    const { standby, own, base, end } = await handingBack(async ({ own: alone }) => {
      const reply = await alone.store.leases.acquire(KNOWN, 'BTC_PERP', 'me', LEASE_MS);
      if (reply.kind === 'held') lease = reply.lease;
      await act(alone, KNOWN, true);
    });
    if (lease === undefined) throw new Error('the lane was not free');
    const decided = commitOne(own, decide(base, lease));
    const renewed = standby.leases.renew(lease, LEASE_MS);
    await end();
    expect(await Promise.all([decided, renewed])).toEqual([{ kind: 'epochChanged' }, 'lost']);
    const again = await load(own, KNOWN);
    expect(await commitOne(own, decide(again, lease))).toEqual({ kind: 'leaseLost' });
    expect(again.lanes.get('BTC_PERP')).toMatchObject({ attempt: 1 });
  });

  test('a pause put during it holds in the shared store', async () => {
    const { own, other, end } = await handingBack(async ({ own: alone }) => {
      await count(alone, KNOWN);
    });
    const said = own.controls.put(PAUSE);
    await end();
    await said;
    expect(await other().controls.list()).toMatchObject([{ kind: 'pause' }]);
  });

  test('if the store is lost again, everything goes on alone', async () => {
    const { standby, own, other, base, ended, lose } = await handingBack(async ({ own: alone }) => {
      await count(alone, KNOWN);
    });
    const decided = commitOne(own, decide(base));
    await setImmediate();
    lose(new Error('lost again'));
    await expect(ended).rejects.toThrow('lost again');
    expect(await decided).toMatchObject({ kind: 'committed' });
    expect(standby.isAlone).toBe(true);
    await standby.handBack(() => own.store.forgetAll());
    expect(await wordsOf(other())).toEqual(['counted 1', 'counted 2', 'decided meanwhile']);
    expect(await own.audit.verify(KNOWN)).toMatchObject({ kind: 'intact' });
  });

  test('the next loss starts from controls put during it', async () => {
    const { standby, end } = await handingBack(async ({ own: alone }) => {
      await count(alone, KNOWN);
    });
    const said = standby.setControls(bucketOf(KNOWN), '', 'said');
    await end();
    await said;
    standby.takeOver();
    expect(await standby.allControls()).toContain('said');
  });

  test('a decision made before, still on its way to the disk, is in force without a new store epoch', async () => {
    const { standby, own, other } = open();
    await count(own, KNOWN);
    const before = await epochOf(own);
    standby.takeOver();
    await count(own, KNOWN);
    const { promise: onDisk, resolve: reachesDisk } = Promise.withResolvers<void>();
    const place = createMemoryDisk();
    const mirror = new Mirror({
      place: { ...place, write: () => onDisk },
      owner: { prefix: 'bw', ordinal: 0, trust: TRUSTING },
      timers: systemTimers,
      source: standby.mirrored({ nowMs: () => 0, clockOffsetMs: () => 0 }),
      onState: () => undefined,
    });
    standby.mirrorTo(mirror);
    const decided = commitOne(own, decide(await load(own, KNOWN)));
    await setImmediate();
    await standby.handBack(() => own.store.forgetAll());
    reachesDisk();
    expect(await decided).toMatchObject({ kind: 'committed' });
    await mirror.close();
    for (const state of [own, other()]) {
      const account = await load(state, KNOWN);
      expect([account.epoch.id, episodeOf(account)]).toEqual([before, 7]);
    }
    expect(await wordsOf(other())).toEqual(['counted 1', 'counted 2', 'decided meanwhile']);
  });

  test('a commit on a base read alone is refused with epochChanged, without a new store epoch', async () => {
    const { own, base, end } = await handingBack(async ({ own: alone }) => {
      for (const next of [2, 3]) expect(await count(alone, KNOWN)).toBe(next);
    });
    await end();
    const quiet = { base, documents: { evaluation: evaluation(KNOWN, 7) } };
    for (const _ of ['before it is read', 'and afterwards']) {
      expect(await commitOne(own, quiet)).toEqual({ kind: 'epochChanged' });
      const account = await load(own, KNOWN);
      expect([account.epoch.id, episodeOf(account)]).toEqual([base.epoch.id, 3]);
    }
  });
});

describe('what was done alone is in force although people gave orders meanwhile', () => {
  const ORDER = {
    author: 'ann',
    reason: 'x',
    kind: 'reduce',
    markets: ['BTC_PERP'],
    target: { kind: 'by', fraction: 0.5 },
    slippageSteps: [0.01],
    flatten: false,
    expiresAtMs: LATER_MS,
  } as const;

  test.each([
    ['an order by hand, which waits', (state: State) => state.controls.submit(KNOWN, ORDER)],
    ['a pause, which holds', (state: State) => state.controls.put({ ...PAUSE, accountId: KNOWN })],
  ])('%s', async (_, say) => {
    const { standby, own, other } = open();
    await count(own, KNOWN);
    const before = await epochOf(own);
    standby.takeOver();
    await act(own, KNOWN, true);
    const said = await say(other());
    expect(await standby.handBack()).toMatchObject([{ how: 'merged' }]);
    own.store.forgetAll();
    for (const state of [own, other()]) {
      const account = await load(state, KNOWN);
      expect(episodeOf(account)).toBe(2);
      expect(account.lanes.get('BTC_PERP')).toMatchObject({ attempt: 1 });
      expect(account.epoch.id).toBe(before);
      expect(JSON.stringify([account.documents.inbox, (await state.store.read(KNOWN)).controls])).toContain(
        said.id,
      );
      expect(await state.audit.verify(KNOWN)).toMatchObject({ kind: 'intact' });
    }
  });

  test('an operator order taken alone does not wait again', async () => {
    const { standby, own, other } = open();
    await count(own, KNOWN);
    const taken = await other().controls.submit(KNOWN, ORDER);
    await load(own, KNOWN);
    standby.takeOver();
    const base = await load(own, KNOWN);
    expect(base.documents.inbox?.orders).toMatchObject([{ id: taken.id }]);
    await commit(own, { base, documents: { inbox: { version: 1, orders: [] } }, audit: [note('taken')] });
    const next = await other().controls.submit(KNOWN, ORDER);
    await standby.handBack();
    own.store.forgetAll();
    expect((await load(own, KNOWN)).documents.inbox?.orders).toMatchObject([{ id: next.id }]);
  });

  test('it is superseded if the waiting orders cannot be read', async () => {
    const { backend, standby, own, other } = open();
    await count(own, KNOWN);
    standby.takeOver();
    await count(own, KNOWN);
    await other().controls.submit(KNOWN, ORDER);
    const view = backend.view.bind(backend);
    backend.view = async (...asked) => {
      const raw = await view(...asked);
      const accounts = raw.accounts.map((account) => ({
        ...account,
        fields: account.fields && new Map([...account.fields, ['d:inbox', '{"version":1,"orders":[{}]}']]),
      }));
      return { ...raw, accounts };
    };
    expect(await standby.handBack()).toMatchObject([{ how: 'superseded' }]);
  });
});

describe('once the shared store is lost', () => {
  test.each([PAUSE, { ...PAUSE, accountId: KNOWN }, SILENCE, ACKNOWLEDGEMENT])(
    'a control that was known and lifted elsewhere is not in force again: $kind of $accountId',
    async (draft) => {
      const { standby, own, other } = open();
      const control = await other().controls.put(draft);
      await own.controls.list();
      await load(own, KNOWN);
      await other().controls.lift({ kind: 'id', id: control.id }, WORDS);
      await standby.allControls();
      standby.takeOver();
      expect(await own.controls.list()).toEqual([]);
      expect((await own.store.read(KNOWN)).controls.entries).toEqual([]);
      await standby.handBack();
      expect(await other().controls.list()).toEqual([]);
    },
  );

  test('of two pauses of the same scope the second is in force, and one lift ends it', async () => {
    const { standby, own, other } = open();
    await other().controls.put(PAUSE);
    await load(own, KNOWN);
    await other().controls.put({ ...PAUSE, reason: 'second' });
    await standby.allControls();
    standby.takeOver();
    expect(await own.controls.list()).toMatchObject([{ reason: 'second' }]);
    await own.controls.lift(PAUSE, WORDS);
    await standby.handBack();
    for (const state of [own, other()]) expect(await state.controls.list()).toEqual([]);
  });

  test('a global pause holds an account first met then, and is handed back for all others', async () => {
    const { standby, own, other } = open();
    await count(own, KNOWN);
    await other().controls.put(PAUSE);
    await standby.allControls();
    standby.takeOver();
    const held = async (state: State): Promise<unknown> => (await state.store.read(apart)).controls.entries;
    expect(await held(own)).toMatchObject([{ kind: 'pause', accountId: null }]);
    await own.controls.lift(PAUSE, WORDS);
    await own.controls.put({ ...PAUSE, reason: 'put alone' });
    await standby.handBack();
    expect(await held(other())).toMatchObject([{ reason: 'put alone' }]);
  });

  test('a pause put alone is handed back for accounts unknown to this process', async () => {
    const { standby, own, other } = open();
    await count(own, KNOWN);
    standby.takeOver();
    await own.controls.put(PAUSE);
    await standby.handBack();
    expect((await other().store.read(apart)).controls.entries).toMatchObject([{ kind: 'pause' }]);
    // A second loss starts from the current state.
    standby.takeOver();
    expect((await own.store.read(apart)).controls.entries).toMatchObject([{ kind: 'pause' }]);
  });

  test('newer knowledge is not replaced by an answer that was on its way', async () => {
    const { backend, standby, own, other } = open();
    await other().controls.put(PAUSE);
    const asked = backend.allControls.bind(backend);
    const onItsWay = Promise.withResolvers<readonly string[]>();
    backend.allControls = () => onItsWay.promise;
    const late = standby.allControls();
    const answer = await asked();
    backend.allControls = asked;
    await own.controls.lift(PAUSE, WORDS);
    onItsWay.resolve(answer);
    await late;
    standby.takeOver();
    expect(await own.controls.list()).toEqual([]);
  });
});
