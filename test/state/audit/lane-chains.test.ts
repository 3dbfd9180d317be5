import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AuditEvent } from '../../../src/core/audit/audit-event.ts';
import type { AuditRecord } from '../../../src/core/audit/audit-record.ts';
import { sha256Hex } from '../../../src/core/audit/sha256.ts';
import { bucketOf, type StoredAccount } from '../../../src/core/ports/state-store.ts';
import { canonicalJson } from '../../../src/core/text/canonical-json.ts';
import type { RawRecord } from '../../../src/state/account/account-backend.ts';
import { type Trail, trailOf } from '../../../src/state/account/raw-entry.ts';
import { verifyAuditFile } from '../../../src/state/audit/audit-file.ts';
import { TrailVerifier } from '../../../src/state/audit/audit-verify.ts';
import type { State } from '../../../src/state/state.ts';
import {
  commit,
  lane,
  load,
  NO_CHANGE,
  note,
  openPlaces,
  PLACE_KINDS,
  type Place,
  type Places,
} from '../support/place.ts';

const BTC = 'BTC_PERP';
const ETH = 'ETH_PERP';

function eventIn(market: string, words: string): AuditEvent {
  return { kind: 'doubt', accountId: 'a', market, atMs: 1, reason: 'test', words, alarm: false };
}

function act(state: State, base: StoredAccount, market: string, attempt: number): Promise<StoredAccount> {
  const audit = [{ kind: 'action' as const, event: eventIn(market, `${market} ${attempt}`) }];
  return commit(state, { base, lanes: new Map([[market, lane(base, market, attempt)]]), audit });
}

const poll = (state: State, base: StoredAccount): Promise<StoredAccount> =>
  commit(state, { base, quiet: 1, due: { inMs: 60_000, danger: 0 } });

/**
 * 1 epoch, 2 begun; 3 BTC 1, 4 ETH 1, 5 BTC 2, 6 fold; 7 BTC 3, 8 fold, 9 ETH 2. Chains: own 1, 2, 6, 8; BTC 3, 5, 7;
 * ETH 4, 9.
 */
async function write(state: State, accountId: string): Promise<StoredAccount> {
  let account = await commit(state, { base: await load(state, accountId), audit: [note('begun')] });
  for (const [index, market] of [BTC, ETH, BTC].entries()) account = await act(state, account, market, index);
  account = await poll(state, account);
  account = await poll(state, await act(state, account, BTC, 4));
  return await act(state, account, ETH, 5);
}

const placeOf = (record: AuditRecord): string => `${record.market ?? 'own'} ${record.seq}`;

describe.each(PLACE_KINDS)('audit chains of lanes in %s', (kind) => {
  let places: Places;
  let place: Place;
  beforeAll(async () => {
    places = await openPlaces(kind);
    place = places.open();
  });
  afterAll(() => places.close());

  test("each lane has its own chain, and each poll folds their heads into the account's", async () => {
    const state = place.open();
    await write(state, 'chains');
    const records = await state.audit.read('chains', { from: 1 });
    expect(records.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(records.map(({ record }) => placeOf(record))).toEqual([
      'own 1',
      'own 2',
      `${BTC} 1`,
      `${ETH} 1`,
      `${BTC} 2`,
      'own 3',
      `${BTC} 3`,
      'own 4',
      `${ETH} 2`,
    ]);
    expect(records[5]?.record.content).toMatchObject({
      kind: 'lanes',
      heads: { [BTC]: { seq: 2, hash: records[4]?.hash }, [ETH]: { seq: 1, hash: records[3]?.hash } },
    });
    expect(records[7]?.record.content).toMatchObject({
      heads: { [BTC]: { seq: 3, hash: records[6]?.hash } },
    });
    expect(records[7]?.record.quiet?.count).toBe(1);
    expect(await place.open().audit.verify('chains')).toMatchObject({
      kind: 'intact',
      firstSeq: 1,
      lastSeq: 4,
      lanes: [
        { market: BTC, firstSeq: 1, lastSeq: 3 },
        { market: ETH, firstSeq: 1, lastSeq: 2 },
      ],
    });
    expect((await state.audit.show('chains', 5))?.record).toMatchObject({ market: BTC, seq: 2 });
  });

  test('a quiet poll after quiet lanes chains nothing', async () => {
    const state = place.open();
    const account = await poll(state, await poll(state, await write(state, 'quiet')));
    await poll(state, account);
    expect(await state.audit.tail('quiet', 100)).toHaveLength(10);
  });

  test('pruned lanes are covered by checkpoints, even when all their records are gone', async () => {
    const state = place.open();
    let account = await write(state, 'pruned');
    account = await poll(state, account);
    const lines: string[] = [];
    const exporter = { write: async (line: string) => void lines.push(line), end: () => Promise.resolve() };
    const request = { keepRecords: 3, reason: 'retention', atMs: 5, exporter };
    expect(await state.audit.prune('pruned', request)).toMatchObject({ pruned: 7, lastNumber: 7 });
    const left = (await state.audit.read('pruned', { from: 1 })).map(({ record }) => placeOf(record));
    expect(left).toEqual(['own 4', `${ETH} 2`, 'own 5', 'own 6']);
    expect(await place.open().audit.verify('pruned')).toMatchObject({
      kind: 'intact',
      lanes: [
        { market: BTC, firstSeq: 0, lastSeq: 3 },
        { market: ETH, firstSeq: 2, lastSeq: 2 },
      ],
    });
    expect(await verifyAuditFile(lines)).toMatchObject({
      kind: 'intact',
      lanes: [{ market: BTC }, { market: ETH }],
    });
    account = await load(state, 'pruned');
    for (const market of [BTC, ETH]) account = await act(state, account, market, 9);
    await poll(state, account);
    expect(await place.open().audit.verify('pruned')).toMatchObject({ kind: 'intact' });
    expect(await state.audit.prune('pruned', { ...request, keepRecords: 1 })).toMatchObject({ pruned: 6 });
    expect(await place.open().audit.verify('pruned')).toMatchObject({ kind: 'intact' });
  });

  test('the bound applies to all chains of an account together', async () => {
    const state = place.open({ maxAuditRecords: 20 });
    let account = await commit(state, { base: await load(state, 'bounded'), audit: [note('begun')] });
    for (let index = 0; index < 90; index += 1) {
      account =
        index % 9 === 0
          ? await poll(state, account)
          : await act(state, account, [BTC, ETH][index % 2]!, index);
    }
    const left = await state.audit.read('bounded', { from: 1 });
    expect(left.length).toBeLessThanOrEqual(23);
    expect(left.length).toBeGreaterThanOrEqual(20);
    expect(await place.open().audit.verify('bounded')).toMatchObject({ kind: 'intact' });
  });
});

describe('tampering', () => {
  const ACCOUNT = 'tampered';
  let records: readonly RawRecord[];
  let trail: Trail;
  beforeAll(async () => {
    const places = await openPlaces('memory');
    const place = places.open();
    await write(place.open(), ACCOUNT);
    const range = { from: 1, to: Number.POSITIVE_INFINITY, count: 100, newest: false };
    records = await place.raw.records(bucketOf(ACCOUNT), ACCOUNT, range);
    trail = trailOf(await place.raw.fields(bucketOf(ACCOUNT), ACCOUNT))!;
    await places.close();
  });

  const verify = (changed: readonly RawRecord[], lanes: Trail['lanes'] = trail.lanes) => {
    const verifier = new TrailVerifier(ACCOUNT);
    for (const record of changed) {
      const wrong = verifier.add(record);
      if (wrong !== undefined) return wrong;
    }
    const { seq, head: hash } = trail.header;
    return verifier.finish({ seq, hash, lanes });
  };
  const number = (wanted: number): number => records.findIndex((record) => record.number === wanted);
  const rewritten = (wanted: number, change: (record: AuditRecord) => object): RawRecord[] => {
    const index = number(wanted);
    const text = canonicalJson(change(JSON.parse(records[index]!.text) as AuditRecord));
    return records.with(index, { ...records[index]!, text, hash: sha256Hex(text) });
  };
  const reworded = (record: AuditRecord): object => ({ ...record, content: { ...record.content, atMs: 77 } });
  const without = (...numbers: readonly number[]): RawRecord[] =>
    records.filter((record) => !numbers.includes(record.number));

  test('an untouched trail is intact', () => {
    expect(verify(records)).toMatchObject({ kind: 'intact' });
  });

  test.each<[string, () => readonly RawRecord[], object]>([
    ['a record of a lane rewritten', () => rewritten(3, reworded), { why: 'link', market: BTC, seq: 2 }],
    ['the last one that was folded rewritten', () => rewritten(7, reworded), { why: 'fold', seq: 4 }],
    ['the last one of a lane rewritten', () => rewritten(9, reworded), { why: 'head', market: ETH, seq: 3 }],
    ['one of a lane taken out', () => without(5), { why: 'fold', seq: 3 }],
    ['the end of a lane cut off', () => without(9), { why: 'head', market: ETH, seq: 2 }],
    ['the beginning of a lane cut off', () => without(3), { why: 'beginning', market: BTC, seq: 2 }],
    ['a whole lane taken out', () => without(3, 5, 7), { why: 'head', market: BTC, seq: 1 }],
    ['a fold taken out', () => without(6), { why: 'gap', seq: 3 }],
    [
      'a record moved to another lane',
      () => rewritten(4, (record) => ({ ...record, market: BTC })),
      { why: 'gap', market: BTC, seq: 2 },
    ],
    [
      'a fold that names another head, and all after it made to follow',
      () => {
        const changed = rewritten(6, (record) => ({
          ...record,
          content: { kind: 'lanes', atMs: 0, heads: { [BTC]: { seq: 2, hash: 'f'.repeat(64) } } },
        }));
        return changed.slice(0, number(7));
      },
      { why: 'fold', seq: 3 },
    ],
    [
      'a lane that goes on only after it was folded',
      () => [...records.slice(0, number(7)), records[number(8)]!, records[number(7)]!, records[number(9)]!],
      { why: 'fold', seq: 4 },
    ],
  ])('%s is found at its place', (_name, change, expected) => {
    expect(verify(change())).toMatchObject({ kind: 'broken', ...expected });
  });

  test('a lane that is gone with its state is found missing', () => {
    const lanes = new Map([...trail.lanes].filter(([market]) => market !== BTC));
    expect(verify(without(3, 5, 7), lanes)).toMatchObject({ kind: 'broken', why: 'fold', seq: 4 });
  });

  test('records of a lane unknown to its state are found', () => {
    const lanes = new Map([...trail.lanes].filter(([market]) => market !== ETH));
    expect(verify(records, lanes)).toMatchObject({ kind: 'broken', why: 'head', market: ETH });
  });

  test('an exported trail is checked in the same way', async () => {
    const lines = (of: readonly RawRecord[]): string[] => of.map(({ hash, text }) => `${hash} ${text}`);
    expect(await verifyAuditFile(lines(records))).toMatchObject({ kind: 'intact', firstSeq: 1, lastSeq: 4 });
    expect(await verifyAuditFile(lines(records.slice(4)))).toMatchObject({ kind: 'intact', firstSeq: 3 });
    for (const changed of [rewritten(3, reworded), rewritten(7, reworded), without(5), without(6)]) {
      expect(await verifyAuditFile(lines(changed))).toMatchObject({ kind: 'broken' });
    }
  });
});

describe.each(PLACE_KINDS)('an account of an older program with one chain, in %s', (kind) => {
  let places: Places;
  let place: Place;
  beforeAll(async () => {
    places = await openPlaces(kind);
    place = places.open();
  });
  afterAll(() => places.close());

  /** The account as the older program left it: records numbered by their place in the one chain. */
  async function storeOld(accountId: string): Promise<void> {
    const state = place.open();
    const account = await commit(state, {
      base: await load(state, accountId),
      audit: [note('one'), note('two')],
    });
    await commit(state, { base: account, documents: { alerts: { version: 1, entries: {} } } });
    const bucket = bucketOf(accountId);
    const fields = await place.raw.fields(bucket, accountId);
    const { epoch } = await place.raw.view(bucket, { writer: '', stamp: '', accountIds: [], due: null });
    const header = fields.get('h') ?? '';
    const reply = await place.raw.commit(bucket, {
      epoch: epoch ?? '',
      writer: 'x'.repeat(12),
      controls: null,
      changes: [
        {
          accountId,
          expected: header,
          header: header.replace(/^2/, '1'),
          set: [`l:${BTC}`, JSON.stringify(lane(account, BTC, 6))],
          ...NO_CHANGE,
        },
      ],
    });
    expect(reply).toMatchObject({ outcomes: [{ kind: 'committed' }] });
  }

  test('its chain is intact, and the first commit of a lane converts it', async () => {
    await storeOld('old');
    const state = place.open();
    expect(await state.audit.verify('old')).toMatchObject({ kind: 'intact', lastSeq: 3, lanes: [] });
    const account = await load(state, 'old');
    expect(account.lanes.get(BTC)?.attempt).toBe(6);
    await act(state, account, BTC, 7);
    const fields = await place.raw.fields(bucketOf('old'), 'old');
    // The older program refuses such a header, in any of its processes still running.
    expect(fields.get('h')).toMatch(/^2\|/);
    await poll(state, await load(state, 'old'));
    const records = await state.audit.read('old', { from: 1 });
    expect(records.map(({ record }) => placeOf(record))).toEqual([
      'own 1',
      'own 2',
      'own 3',
      `${BTC} 1`,
      'own 4',
    ]);
    expect(records.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
    expect(await place.open().audit.verify('old')).toMatchObject({
      kind: 'intact',
      lastSeq: 4,
      lanes: [{ market: BTC, lastSeq: 1 }],
    });
  });

  test('if two processes convert it, the second one has to read again', async () => {
    await storeOld('raced');
    const [a, b] = [place.open(), place.open()];
    const [ofA, ofB] = [await load(a, 'raced'), await load(b, 'raced')];
    await act(a, ofA, BTC, 7);
    await expect(act(b, ofB, ETH, 1)).rejects.toThrow('conflict');
    await act(b, await load(b, 'raced'), ETH, 1);
    expect(await a.audit.verify('raced')).toMatchObject({ kind: 'intact' });
  });
});
