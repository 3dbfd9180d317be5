import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bucketOf } from '../../../src/core/ports/state-store.ts';
import type { Backend, RawBatch, RawChange, RawOutcome } from '../../../src/state/account/account-backend.ts';
import { openPlaces, type Places } from '../support/place.ts';

const BUCKET = 7;
const ACCOUNTS = Array.from({ length: 400 }, (_, index) => `ïd-${index}`)
  .filter((id) => bucketOf(id) === BUCKET)
  .slice(0, 3);
const STAMP = 'rightrightri';
const RUNS = 40;

let all: readonly Places[];
beforeAll(async () => {
  all = [await openPlaces('memory'), await openPlaces('redis')];
});
afterAll(() => Promise.all(all.map((places) => places.close())));

/** The intent of a change, independent of the account's state at that time. */
interface Wish {
  readonly account: number;
  readonly conflicts: boolean;
  readonly set: Readonly<Record<string, string>>;
  readonly due: number | null;
  readonly more: Partial<More>;
}

interface LaneWish {
  readonly market: (typeof MARKETS)[number];
  readonly conflicts: boolean;
  readonly isSeparable: boolean;
  readonly text: string | null | undefined;
  readonly isCompared: boolean;
  readonly records: number;
}

/** Defaults: most changes have none of these. */
interface More {
  readonly remove: readonly string[];
  readonly stamp: 'right' | 'wrong';
  readonly lease: 'held' | 'lost';
  readonly records: number;
  readonly ofLanesAlone: boolean;
  readonly lanes: readonly LaneWish[];
  readonly trims: boolean;
  readonly files: readonly string[];
  readonly removeFiles: readonly string[];
  readonly history: Readonly<Record<string, string>>;
}

const FIELD = fc.constantFrom('m', 'd:limits', 'more');
const MARKETS = ['BTC_PERP', 'more'] as const;
const WRITER = 'writerwriter';
const TEXT = fc.oneof(
  fc.constantFrom('', '-', '0', 'more', '7'),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const HASHES = fc.uniqueArray(fc.constantFrom('aa', 'bb', 'cc'));
const MORE: { readonly [K in keyof More]: fc.Arbitrary<More[K]> } = {
  remove: fc.uniqueArray(FIELD),
  stamp: fc.constantFrom('right', 'wrong'),
  lease: fc.constantFrom('held', 'lost'),
  records: fc.nat(2),
  ofLanesAlone: fc.boolean(),
  lanes: fc.uniqueArray(
    fc.record({
      market: fc.constantFrom(...MARKETS),
      conflicts: fc.nat(3).map((one) => one === 0),
      isSeparable: fc.boolean(),
      text: fc.constantFrom(undefined, null, '', 'text', 's'),
      isCompared: fc.boolean(),
      records: fc.nat(2),
    }),
    { selector: ({ market }) => market },
  ),
  trims: fc.boolean(),
  files: HASHES,
  removeFiles: HASHES,
  history: fc.dictionary(fc.constantFrom('position:1', 'position:2'), TEXT, { noNullPrototype: true }),
};
const ONE_MORE = Object.entries(MORE).map(([name, value]) =>
  fc.record({ [name]: value as fc.Arbitrary<unknown> }),
);
const WISH: fc.Arbitrary<Wish> = fc.record({
  account: fc.nat(ACCOUNTS.length - 1),
  conflicts: fc.nat(4).map((one) => one === 0),
  set: fc.dictionary(FIELD, TEXT, { noNullPrototype: true }),
  due: fc.constantFrom(null, 0, 600_000),
  more: fc.oneof(fc.constant({}), fc.record<Partial<More>>(MORE, { requiredKeys: [] }), ...ONE_MORE),
});

/** The predicted account after all changes that are allowed. */
interface Known {
  header: string;
  lanes: Map<string, string>;
  last: number;
}

function changeOf(wish: Wish, known: Known, header: string, token: number): RawChange {
  const { more } = wish;
  const textsOf = (of: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({ text: `${of}/${index}`, hash: `#${index}` }));
  return {
    accountId: ACCOUNTS[wish.account]!,
    expected: more.ofLanesAlone ? null : wish.conflicts ? `${known.header}?` : known.header,
    header,
    set: more.ofLanesAlone ? [] : Object.entries(wish.set).flat(),
    remove: more.ofLanesAlone ? [] : (more.remove ?? []),
    dueInMs: wish.due,
    records: more.ofLanesAlone ? [] : textsOf(header, more.records ?? 0),
    lanes: (more.lanes ?? []).map(({ market, conflicts, isSeparable, text, isCompared, records }) => {
      const stored = known.lanes.get(market) ?? '';
      const expected = conflicts ? `${stored}?` : stored;
      return {
        market,
        expected,
        isSeparable,
        header: isCompared ? expected : `${header} ${market}`,
        text: isCompared ? undefined : text,
        records: isCompared ? [] : textsOf(market, records),
      };
    }),
    lastNumber: 0,
    files: (more.files ?? []).flatMap((hash) => [hash, `text of ${hash}`]),
    removeFiles: more.removeFiles ?? [],
    trimBefore: more.trims ? known.last : 0,
    history: Object.entries(more.history ?? {}).flat(),
    lease: more.lease ? { market: 'BTC_PERP', token: more.lease === 'held' ? token : token + 1 } : null,
    stamp: more.stamp ? (more.stamp === 'right' ? STAMP : 'wrongwrongwr') : null,
  };
}

type ExpectedOutcome = Omit<Extract<RawOutcome, { kind: 'committed' }>, 'tally'> | RawOutcome;

function expectedOf(wish: Wish, known: Known, change: RawChange): ExpectedOutcome {
  const changed = change.lanes.filter(({ market, expected }) => expected !== (known.lanes.get(market) ?? ''));
  const isRefused = changed.some(({ isSeparable }) => !isSeparable);
  if (isRefused || (wish.conflicts && change.expected !== null)) return { kind: 'conflict' };
  if (wish.more.stamp === 'wrong') return { kind: 'controlsChanged' };
  if (wish.more.lease === 'lost') return { kind: 'leaseLost' };
  return { kind: 'committed', leftOut: changed.map(({ market }) => market) };
}

/** The predicted account after the change. */
function apply(known: Known, change: RawChange, leftOut: readonly string[]): void {
  if (change.expected !== null) known.header = change.header;
  known.last += change.records.length;
  for (const { market, header, records } of change.lanes) {
    if (leftOut.includes(market)) continue;
    known.lanes.set(market, header);
    known.last += records.length;
  }
}

async function contentsOf(backend: Backend) {
  const accounts = await Promise.all(
    ACCOUNTS.map(async (accountId) => {
      const range = { from: 1, to: Number.POSITIVE_INFINITY, count: 1_000, newest: false };
      const hashes = (await backend.fileHashes(BUCKET, accountId)).toSorted();
      const samples = await backend.history(BUCKET, accountId, { fromMs: 0, toMs: Infinity, count: 1_000 });
      return {
        fields: Object.fromEntries(await backend.fields(BUCKET, accountId)),
        records: await backend.records(BUCKET, accountId, range),
        files: await Promise.all(hashes.map((hash) => backend.file(BUCKET, accountId, hash))),
        history: samples.map(({ values }) => Object.fromEntries(values)),
      };
    }),
  );
  const due = { claimMs: 0, maxAheadMs: 3_600_000 };
  const view = await backend.view(BUCKET, { writer: '', stamp: '', accountIds: ACCOUNTS, due });
  return { accounts, due: view.accounts.map(({ accountId }) => accountId) };
}

/** Makes the changes on a fresh place and returns the outcomes; asserts the predicted ones. */
async function play(backend: Backend, batches: readonly (readonly Wish[])[]) {
  await backend.startEpoch(BUCKET, null, 'epoch');
  await backend.setControls(BUCKET, '', `${STAMP}{}`);
  const tokens = await Promise.all(
    ACCOUNTS.map(async (accountId) => {
      const reply = await backend.leases.acquire(accountId, 'BTC_PERP', 'me', 600_000);
      return reply.kind === 'held' ? reply.lease.token : Number.NaN;
    }),
  );
  const knowns: Known[] = ACCOUNTS.map(() => ({ header: '', lanes: new Map(), last: 0 }));
  for (const [turn, batch] of batches.entries()) {
    const expected: ExpectedOutcome[] = [];
    const changes = batch.map((wish, index) => {
      const known = knowns[wish.account]!;
      const change = changeOf(wish, known, `header ${turn}.${index}`, tokens[wish.account]!);
      const outcome = expectedOf(wish, known, change);
      expected.push(outcome);
      if (outcome.kind === 'committed') apply(known, change, outcome.leftOut);
      return change;
    });
    const raw: RawBatch = { epoch: 'epoch', writer: WRITER, changes, controls: null };
    expect(await backend.commit(BUCKET, raw)).toMatchObject({ kind: 'answered', outcomes: expected });
  }
  return contentsOf(backend);
}

test('in a batch of changes of every kind each is accepted or refused on its own, in every store', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(WISH, { minLength: 1, maxLength: 6 }), { maxLength: 4 }),
      async (batches) => {
        const [memory, redis] = await Promise.all(all.map((places) => play(places.open().raw, batches)));
        expect(redis).toEqual(memory);
      },
    ),
    { numRuns: RUNS },
  );
});
