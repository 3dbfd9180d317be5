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

/** What a change asks for, whatever the account is by then. */
interface Wish {
  readonly account: number;
  readonly conflicts: boolean;
  readonly set: Readonly<Record<string, string>>;
  readonly due: number | null;
  readonly more: Partial<More>;
}

/** What most changes have nothing of. */
interface More {
  readonly remove: readonly string[];
  readonly stamp: 'right' | 'wrong';
  readonly lease: 'held' | 'lost';
  readonly records: number;
  readonly repeats: boolean;
  readonly trims: boolean;
  readonly files: readonly string[];
  readonly removeFiles: readonly string[];
  readonly history: Readonly<Record<string, string>>;
}

const FIELD = fc.constantFrom('m', 'd:limits', 'l:BTC_PERP', 'more');
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
  repeats: fc.boolean(),
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

/** What the account has, if every change that may be made was made. */
interface Known {
  header: string;
  seq: number;
}

function changeOf(wish: Wish, known: Known, header: string, token: number): RawChange {
  const { more } = wish;
  const from = more.repeats ? known.seq : known.seq + 1;
  return {
    accountId: ACCOUNTS[wish.account]!,
    expected: wish.conflicts ? `${known.header}?` : known.header,
    header,
    set: Object.entries(wish.set).flat(),
    remove: more.remove ?? [],
    dueInMs: wish.due,
    records: Array.from({ length: more.records ?? 0 }, (_, index) => ({
      seq: Math.max(1, from) + index,
      text: `${header}/${index}`,
      hash: `#${index}`,
    })),
    files: (more.files ?? []).flatMap((hash) => [hash, `text of ${hash}`]),
    removeFiles: more.removeFiles ?? [],
    trimBefore: more.trims ? known.seq : 0,
    history: Object.entries(more.history ?? {}).flat(),
    lease: more.lease ? { market: 'BTC_PERP', token: more.lease === 'held' ? token : token + 1 } : null,
    stamp: more.stamp ? (more.stamp === 'right' ? STAMP : 'wrongwrongwr') : null,
  };
}

function expectedOf(wish: Wish, known: Known, change: RawChange): RawOutcome {
  if (wish.conflicts) return 'conflict';
  if (wish.more.stamp === 'wrong') return 'controlsChanged';
  if (wish.more.lease === 'lost') return 'leaseLost';
  return change.records.some(({ seq }) => seq <= known.seq) ? 'auditContradicts' : 'committed';
}

async function contentsOf(backend: Backend) {
  const accounts = await Promise.all(
    ACCOUNTS.map(async (accountId) => {
      const range = { fromSeq: 1, toSeq: Number.POSITIVE_INFINITY, count: 1_000, newest: false };
      const hashes = (await backend.fileHashes(BUCKET, accountId)).toSorted();
      const samples = await backend.history(BUCKET, accountId, 0, 1_000);
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

/** Makes the changes on a fresh place, and tells what came of them; the predicted outcomes are asserted. */
async function play(backend: Backend, batches: readonly (readonly Wish[])[]) {
  await backend.startEpoch(BUCKET, null, 'epoch');
  await backend.setControls(BUCKET, '', `${STAMP}{}`);
  const tokens = await Promise.all(
    ACCOUNTS.map(async (accountId) => {
      const reply = await backend.leases.acquire(accountId, 'BTC_PERP', 'me', 600_000);
      return reply.kind === 'held' ? reply.lease.token : Number.NaN;
    }),
  );
  const knowns: Known[] = ACCOUNTS.map(() => ({ header: '', seq: 0 }));
  for (const [turn, batch] of batches.entries()) {
    const expected: RawOutcome[] = [];
    const changes = batch.map((wish, index) => {
      const known = knowns[wish.account]!;
      const change = changeOf(wish, known, `header ${turn}.${index}`, tokens[wish.account]!);
      expected.push(expectedOf(wish, known, change));
      if (expected.at(-1) === 'committed') {
        known.header = change.header;
        known.seq = change.records.at(-1)?.seq ?? known.seq;
      }
      return change;
    });
    const raw: RawBatch = { epoch: 'epoch', changes, controls: null };
    expect(await backend.commit(BUCKET, raw)).toMatchObject({ kind: 'answered', outcomes: expected });
  }
  return contentsOf(backend);
}

test('changes of every kind in one batch are each made or refused by themselves, wherever they are kept', async () => {
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
