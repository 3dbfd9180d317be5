import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuditFormatError, type DecisionDraft, GENESIS_HASH } from '../../../src/core/audit/audit-record.ts';
import { sha256Hex } from '../../../src/core/audit/sha256.ts';
import { bucketOf } from '../../../src/core/ports/state-store.ts';
import { currentConcealer } from '../../../src/core/redaction/conceal.ts';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { evaluate } from '../../../src/core/rules/evaluate.ts';
import type { RuleSpec } from '../../../src/core/rules/rule.ts';
import { canonicalJson } from '../../../src/core/text/canonical-json.ts';
import type { RawRecord } from '../../../src/state/account/account-backend.ts';
import { TrailVerifier } from '../../../src/state/audit/audit-verify.ts';
import type { State } from '../../../src/state/state.ts';
import { at, below, list, position, read, rule, SETTINGS, snapshot } from '../../core/rules/fixtures.ts';
import {
  commit,
  commitOne,
  load,
  NO_CHANGE,
  note,
  openPlaces,
  PLACE_KINDS,
  type Place,
  type Places,
} from '../support/place.ts';

describe('canonical JSON', () => {
  test('does not depend on the order of keys, and keeps the meaning', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(reversed(value))).toBe(text);
      }),
    );
  });

  test('leaves out undefined members and refuses what JSON cannot express', () => {
    expect(canonicalJson({ b: 1, a: undefined, c: [true, null, 'x'] })).toBe('{"b":1,"c":[true,null,"x"]}');
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1n, () => 0, [undefined]]) {
      expect(() => canonicalJson(value)).toThrow(TypeError);
    }
  });
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, entry]) => [key, reversed(entry)]));
}

describe('verification', () => {
  const chain = (count: number, accountId = 'a'): RawRecord[] => {
    const records: RawRecord[] = [];
    let previous = GENESIS_HASH;
    for (let seq = 1; seq <= count; seq += 1) {
      const content = { kind: 'note', atMs: 0, about: 'x', words: `record ${seq}` };
      const record = {
        version: 1,
        accountId,
        seq,
        atMs: 0,
        epoch: 'l',
        previous,
        quiet: null,
        content,
        attachments: {},
      };
      const text = canonicalJson(record);
      previous = sha256Hex(text);
      records.push({ number: seq, text, hash: previous });
    }
    return records;
  };
  const verify = (records: readonly RawRecord[], end = chain(6).at(-1)!) => {
    const verifier = new TrailVerifier('a');
    for (const record of records) {
      const wrong = verifier.add(record);
      if (wrong !== undefined) return wrong;
    }
    return verifier.finish({ seq: end.number, hash: end.hash, lanes: new Map() });
  };
  const rehashed = (record: RawRecord, change: (text: string) => string): RawRecord => {
    const text = change(record.text);
    return { ...record, text, hash: sha256Hex(text) };
  };

  test('an untouched chain is intact', () => {
    expect(verify(chain(6))).toMatchObject({ kind: 'intact', firstSeq: 1, lastSeq: 6, prunedTo: 0 });
  });

  test.each<[string, (records: RawRecord[]) => RawRecord[], string, number]>([
    ['text changed', (r) => r.with(2, { ...r[2]!, text: r[2]!.text.replace('record', 'Record') }), 'hash', 3],
    [
      'text and hash changed',
      (r) =>
        r.with(
          2,
          rehashed(r[2]!, (t) => t.replace('record', 'R')),
        ),
      'link',
      4,
    ],
    [
      'the last one rewritten',
      (r) =>
        r.with(
          5,
          rehashed(r[5]!, (t) => t.replace('record', 'R')),
        ),
      'head',
      7,
    ],
    ['one taken out', (r) => r.toSpliced(2, 1), 'gap', 3],
    ['the end cut off', (r) => r.slice(0, 4), 'head', 5],
    ['the beginning cut off', (r) => r.slice(2), 'beginning', 3],
    ['everything gone', () => [], 'head', 1],
    [
      'another account',
      (r) =>
        r.with(
          0,
          rehashed(r[0]!, (t) => t.replace('"a"', '"b"')),
        ),
      'account',
      1,
    ],
    ['two swapped', (r) => [r[0]!, r[2]!, r[1]!, ...r.slice(3)], 'gap', 2],
    [
      'not JSON',
      (r) =>
        r.with(
          1,
          rehashed(r[1]!, () => 'x'),
        ),
      'form',
      2,
    ],
  ])('%s is found at its place', (_name, change, why, seq) => {
    expect(verify(change(chain(6)))).toMatchObject({ kind: 'broken', why, seq });
  });
});

const RULES: readonly RuleSpec[] = [rule('position', below('liquidationDistance', 0.9), { id: 'near' })];

function decision(accountId: string, pad = ''): { draft: DecisionDraft; evaluation: unknown } {
  const base = snapshot({ positions: read(list([position({ market: `BTC_PERP${pad}` })])) });
  const now = at(5_000);
  const settings = { ...SETTINGS, accountId };
  const inputs = {
    snapshot: { ...base, accountId },
    state: emptyAccountState(accountId),
    now,
    options: { leastIntervalMs: 250 },
  };
  const evaluation = evaluate(
    { snapshot: inputs.snapshot, state: inputs.state, now, options: inputs.options },
    compileRules(RULES, settings),
  );
  const { transitions, decisions, active } = evaluation;
  return {
    evaluation,
    draft: {
      kind: 'decision',
      atMs: 1,
      transitions,
      decisions,
      active,
      inputs: { ...inputs, rules: { specs: RULES } },
    },
  };
}

describe.each(PLACE_KINDS)('audit trail in %s', (kind) => {
  let places: Places;
  let place: Place;
  beforeAll(async () => {
    places = await openPlaces(kind);
    place = places.open();
  });
  afterAll(() => places.close());

  async function write(state: State, accountId: string, count: number, from = 0): Promise<void> {
    for (let index = from; index < from + count; index += 1) {
      await commit(state, { base: await load(state, accountId), audit: [note(`record ${index}`)] });
    }
  }

  test('records are read back as chained, by sequence, range and tail', async () => {
    const state = place.open();
    await write(state, 'reading', 6);
    const { audit } = place.open();
    const all = await audit.read('reading', { from: 1 });
    expect(all.map(({ record }) => record.seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(all[0]?.record.content.kind).toBe('epochStarted');
    expect((await audit.tail('reading', 2)).map(({ record }) => record.seq)).toEqual([6, 7]);
    const range = await audit.read('reading', { from: 3, to: 5, limit: 2 });
    expect(range.map(({ record }) => record.seq)).toEqual([3, 4]);
    expect(await audit.show('reading', 4)).toEqual(all[3]);
    expect(await audit.show('reading', 8)).toBeUndefined();
    for (const { text, hash, record } of all) {
      expect(sha256Hex(text)).toBe(hash);
      expect(JSON.parse(text)).toEqual(record);
    }
    expect(await audit.verify('reading')).toMatchObject({ kind: 'intact', lastSeq: 7 });
    expect(await audit.verify('nobody')).toMatchObject({ kind: 'intact', lastSeq: 0 });
  });

  test('a decision can be recomputed from its record, to the same bytes', async () => {
    const state = place.open();
    const { draft, evaluation } = decision('again');
    expect(draft.transitions.length).toBeGreaterThan(0);
    await commit(state, { base: await load(state, 'again'), audit: [draft, draft] });
    const { audit } = place.open();
    const [record] = await audit.tail('again', 1);
    const inputs = (await audit.inputs(record!.record))!;
    expect(inputs).toEqual(draft.inputs);
    const { specs } = inputs.rules as { specs: readonly RuleSpec[] };
    const rules = compileRules(specs, { ...SETTINGS, accountId: 'again' });
    const again = evaluate(inputs, rules);
    expect(JSON.stringify(again)).toBe(JSON.stringify(evaluation));
    expect(await audit.inputs((await audit.show('again', 1))!.record)).toBeUndefined();
  });

  test('a large repeated attachment is stored once', async () => {
    const state = place.open();
    const { draft } = decision('once');
    const transfers = Array.from({ length: 50 }, (_, index) => ({ ticker: 'USDT', amount: `${index}` }));
    const remarked = transfers.map((transfer) => ({ ...transfer, memo: 'to Ann', description: 'rent' }));
    const withTransfers = (records: readonly unknown[]) => ({
      ...draft,
      inputs: {
        ...draft.inputs,
        snapshot: {
          ...draft.inputs.snapshot,
          sources: {
            ...draft.inputs.snapshot.sources,
            transfers: read(list(records)),
          } as unknown as DecisionDraft['inputs']['snapshot']['sources'],
        },
      },
    });
    for (let index = 0; index < 3; index += 1) {
      await commit(state, { base: await load(state, 'once'), audit: [withTransfers(remarked)] });
    }
    const [record] = await state.audit.tail('once', 1);
    expect(Object.keys(record!.record.attachments).sort()).toEqual(['rules', 'source:transfers']);
    expect(record!.text).not.toContain('"ticker"');
    expect(await state.audit.inputs(record!.record)).toEqual(withTransfers(transfers).inputs);
    const hashes = Object.values(record!.record.attachments);
    for (const hash of hashes) expect(sha256Hex((await state.audit.attachment('once', hash))!)).toBe(hash);
    expect(await state.audit.verify('once')).toMatchObject({ kind: 'intact' });
  });

  test('repeated decisions are counted into the next record, over all processes', async () => {
    const [a, b] = [place.open(), place.open()];
    await write(a, 'quiet', 1);
    for (const state of [a, b, a]) {
      await commit(state, { base: await load(state, 'quiet'), quiet: 1 });
    }
    await commit(b, { base: await load(b, 'quiet'), audit: [note('loud'), note('louder')] });
    await commit(b, { base: await load(b, 'quiet'), audit: [note('again')] });
    const records = await a.audit.tail('quiet', 3);
    expect(records.map(({ record }) => record.quiet?.count ?? 0)).toEqual([3, 0, 0]);
    expect(await a.audit.verify('quiet')).toMatchObject({ lastSeq: 5 });
  });

  test('chains stay whole when many processes append at once, in batches that partly conflict', async () => {
    const states = Array.from({ length: 5 }, () => place.open());
    const ids = ['chain-a', 'chain-b', 'chain-c'];
    const accepted = new Map(ids.map((id) => [id, 0]));
    await Promise.all(
      states.map(async (state, process) => {
        for (let turn = 0; turn < 10; turn += 1) {
          const bases = await Promise.all(ids.map((id) => load(state, id)));
          const audit = [note(`${process}/${turn}`), note('second')];
          const results = await state.store.commit(bases.map((base) => ({ base, audit })));
          for (const [index, result] of results.entries()) {
            if (result.kind === 'committed') accepted.set(ids[index]!, accepted.get(ids[index]!)! + 1);
          }
        }
      }),
    );
    for (const id of ids) {
      const lastSeq = 1 + 2 * accepted.get(id)!;
      expect(await states[0]!.audit.verify(id)).toMatchObject({ kind: 'intact', lastSeq });
    }
  });

  test('no secret value is in a record, an attachment or a key of either', async () => {
    const secret = 'correct-horse-battery';
    const state = place.open({ secrets: () => [secret, '', 'abc'] });
    await commit(state, {
      base: await load(state, 'secretive'),
      audit: [
        {
          ...note(`reply said ${secret}`),
          detail: { deep: [{ [secret]: `x${secret}y` }], short: 'abc' },
          attachments: { file: { body: secret } },
        },
      ],
    });
    const [record] = await state.audit.tail('secretive', 1);
    const hash = record!.record.attachments['file']!;
    const file = await state.audit.attachment('secretive', hash);
    for (const text of [record!.text, file]) {
      expect(text).toContain('[redacted]');
      expect(text).not.toContain(secret);
    }
    expect(record!.text).toContain('"abc"');
    expect(await state.audit.verify('secretive')).toMatchObject({ kind: 'intact' });
    expect(currentConcealer(() => [secret])('plain')).toBe('plain');
  });

  test('pruning exports first, leaves a checkpoint, keeps referenced attachments, and the chain stays verifiable', async () => {
    const state = place.open();
    const other = place.open();
    const withFile = (words: string, body: string) => ({ ...note(words), attachments: { file: { body } } });
    await load(other, 'pruned');
    await commit(state, {
      base: await load(state, 'pruned'),
      audit: [withFile('old', 'A'), withFile('old', 'B')],
    });
    await commit(other, { base: await load(other, 'pruned'), audit: [withFile('newer', 'B')] });
    await write(state, 'pruned', 3);
    const lines: string[] = [];
    let ended = false;
    const exporter = {
      write: async (line: string) => void lines.push(line),
      end: async () => {
        ended = true;
      },
    };
    const request = { keepRecords: 4, reason: 'retention', atMs: 5, exporter };
    const before = await state.audit.read('pruned', { from: 1 });
    const result = await state.audit.prune('pruned', request);
    expect(result).toMatchObject({ pruned: 3, lastNumber: 3 });
    expect(ended).toBe(true);
    expect(lines.slice(0, 3)).toEqual(before.slice(0, 3).map(({ hash, text }) => `${hash} ${text}`));
    expect(result.exportSha256).toBe(sha256Hex(lines.map((line) => `${line}\n`).join('')));
    const left = await state.audit.read('pruned', { from: 1 });
    expect(left.map(({ record }) => record.seq)).toEqual([4, 5, 6, 7, 8]);
    expect(left.at(-1)?.record.content).toMatchObject({
      kind: 'checkpoint',
      lastSeq: 3,
      lastHash: before[2]!.hash,
      exportSha256: result.exportSha256,
    });
    expect(await place.open().audit.verify('pruned')).toMatchObject({
      kind: 'intact',
      firstSeq: 4,
      prunedTo: 3,
    });
    const hashOf = (body: string) => sha256Hex(canonicalJson({ body }));
    expect(await state.audit.attachment('pruned', hashOf('A'))).toBeUndefined();
    expect(await state.audit.attachment('pruned', hashOf('B'))).toBeDefined();
    expect(await state.audit.prune('pruned', { ...request, keepRecords: 100 })).toMatchObject({ pruned: 0 });
    expect(await state.audit.prune('nobody', request)).toMatchObject({ pruned: 0 });
  });

  test.each(['the process that pruned', 'another process'])(
    'an attachment that was pruned is stored again by %s',
    async (who) => {
      const [pruner, other] = [place.open(), place.open()];
      const writer = who === 'another process' ? other : pruner;
      const accountId = `again-${who}`;
      const withFile = { ...note('x'), attachments: { file: { body: 'A' } } };
      await commit(writer, { base: await load(writer, accountId), audit: [withFile] });
      await write(pruner, accountId, 2);
      const exporter = { write: () => Promise.resolve(), end: () => Promise.resolve() };
      const request = { keepRecords: 1, reason: 'retention', atMs: 5, exporter };
      expect(await pruner.audit.prune(accountId, request)).toMatchObject({ pruned: 3 });
      expect(await place.raw.fileHashes(bucketOf(accountId), accountId)).toEqual([]);
      await commit(writer, { base: await load(writer, accountId), audit: [withFile] });
      expect(await pruner.audit.verify(accountId)).toMatchObject({ kind: 'intact' });
    },
  );

  test('a failed export prunes nothing', async () => {
    const state = place.open();
    await write(state, 'full-disk', 5);
    const exporter = { write: () => Promise.resolve(), end: () => Promise.reject(new Error('disk full')) };
    const request = { keepRecords: 1, reason: 'retention', atMs: 5, exporter };
    await expect(state.audit.prune('full-disk', request)).rejects.toThrow('disk full');
    expect(await state.audit.read('full-disk', { from: 1 })).toHaveLength(6);
  });

  test('pruning stops at records that are too young', async () => {
    const state = place.open();
    await write(state, 'young', 5);
    const exporter = { write: () => Promise.resolve(), end: () => Promise.resolve() };
    const request = { keepRecords: 0, reason: 'retention', atMs: 5, exporter, olderThanMs: 1 };
    expect(await state.audit.prune('young', request)).toMatchObject({ pruned: 0 });
  });

  test('a chain cannot exceed its bound, and reports a cut without an export', async () => {
    const state = place.open({ maxAuditRecords: 20 });
    let account = await load(state, 'bounded');
    for (let index = 0; index < 60; index += 1) {
      account = await commit(state, {
        base: account,
        audit: [{ ...note(`${index}`), attachments: { file: { index } } }],
      });
    }
    const left = await state.audit.read('bounded', { from: 1 });
    expect(left.length).toBeLessThanOrEqual(22);
    expect(left.length).toBeGreaterThanOrEqual(20);
    expect(left.some(({ record }) => record.content.kind === 'checkpoint')).toBe(true);
    expect(await state.audit.verify('bounded')).toMatchObject({ kind: 'intact' });
    expect((await place.raw.fileHashes(bucketOf('bounded'), 'bounded')).length).toBeLessThanOrEqual(22);
  });

  test("records unknown to the account's state stop the account instead of being overwritten", async () => {
    const state = place.open();
    const base = await load(state, 'contradicts');
    await write(state, 'contradicts', 2);
    const fields = await place.raw.fields(bucketOf('contradicts'), 'contradicts');
    const view = await place.raw.view(bucketOf('contradicts'), {
      writer: '',
      stamp: '',
      accountIds: [],
      due: null,
    });
    await place.raw.commit(bucketOf('contradicts'), {
      epoch: view.epoch ?? '',
      writer: 'anotherstore',
      controls: null,
      changes: [
        {
          accountId: 'contradicts',
          expected: fields.get('h') ?? '',
          header: fields
            .get('h')!
            .replace(/^(2\|)[a-z0-9]{12}\|2\|/, '$1anotherstore|9|')
            .replace('|3|', '|1|'),
          set: ['t', 'anotherstore|1|1'],
          ...NO_CHANGE,
        },
      ],
    });
    expect(base.version).toBe(0);
    const reader = place.open();
    const result = await commitOne(reader, { base: await load(reader, 'contradicts'), audit: [note('x')] });
    expect(result).toMatchObject({ kind: 'refused', problem: { code: 'AUDIT_CONTRADICTS' } });
  });

  test('a record of another form is refused with its number', async () => {
    const raw = await import('../../../src/state/audit/audit-chain.ts');
    const record = { number: 4, text: '{"version":2}', hash: '' };
    expect(() => raw.readRecord('acc', record)).toThrow(AuditFormatError);
    expect(() => raw.readRecord('acc', record)).toThrow(/record 4 of account "acc" has form 2/);
  });
});
