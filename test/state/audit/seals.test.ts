import { expect, test } from 'vitest';
import { sha256Hex } from '../../../src/core/audit/sha256.ts';
import { TRUSTING } from '../../../src/core/ports/operator-trust.ts';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { verifyAuditFile } from '../../../src/state/audit/audit-file.ts';
import { createOperatorTrust } from '../../../src/state/controls/operator-seal.ts';
import { createMemoryPlace, createMemoryState } from '../../../src/state/state.ts';
import { commit, lane, load } from '../support/place.ts';

const KEY = 'a key of operators with 32 characters or more';
const trustOf = (key?: string) => createOperatorTrust({ key: () => key, isGuarded: false });

/** Pauses of one account, each a record; the first ones without a key. */
async function openTrail(sealedFrom: number) {
  const place = createMemoryPlace({ clock: systemClock });
  for (let number = 1; number <= 6; number++) {
    const operators = number >= sealedFrom ? trustOf(KEY) : TRUSTING;
    const state = createMemoryState({ clock: systemClock, operators }, place);
    await state.controls.put({
      kind: 'pause',
      accountId: 'a',
      author: 'ann',
      reason: `r${number}`,
      expiresAtMs: null,
    });
  }
  const open = (key?: string) => createMemoryState({ clock: systemClock, operators: trustOf(key) }, place);
  const records = await open().audit.read('a', { from: 1, limit: 100 });
  return { open, texts: records.map(({ text }) => text) };
}

/** An export with the chain hashed anew, as anybody with access to Redis can. */
function rechained(texts: readonly string[]): readonly string[] {
  let previous = '0'.repeat(64);
  return texts.map((text) => {
    const linked = text.replace(/"previous":"[0-9a-f]{64}"/, `"previous":"${previous}"`);
    previous = sha256Hex(linked);
    return `${previous} ${linked}`;
  });
}

const withoutSeal = (text: string): string => text.replace(/,"seal":"[0-9a-f]{64}","seq"/, ',"seq"');

test('a sealed trail is intact with the key, and without one', async () => {
  const { open } = await openTrail(1);
  expect(await open(KEY).audit.verify('a')).toMatchObject({ kind: 'intact' });
  expect(await open().audit.verify('a')).toMatchObject({ kind: 'intact' });
});

test.each([
  [
    'a record is changed and the chain made anew',
    (texts: string[]) => texts.map((text) => text.replace('"r3"', '"rX"')),
  ],
  ['a record is taken out and the rest numbered anew', (texts: string[]) => texts.slice(0, 5)],
  [
    'the seal of a record is taken off',
    (texts: string[]) => texts.map((text, at) => (at === 3 ? withoutSeal(text) : text)),
  ],
  ['all seals are taken off', (texts: string[]) => texts.map(withoutSeal)],
])('audit rewritten with access to Redis is found with the key: %s', async (what, change) => {
  const { texts } = await openTrail(1);
  expect(texts.every((text) => text.includes('"seal":"'))).toBe(true);
  const forged = rechained(change([...texts]));
  expect(await verifyAuditFile(forged)).toMatchObject({ kind: 'intact' });
  const verdict = await verifyAuditFile(forged, { trust: trustOf(KEY) });
  // Records missing at the end of a part are found by the next part or by the account's state.
  if (what.includes('taken out')) expect(verdict).toMatchObject({ kind: 'intact', lastSeq: 5 });
  // A part from before there was a key looks the same: it is reported, and the account's chain must end sealed.
  else if (what.startsWith('all')) expect(verdict).toMatchObject({ kind: 'intact', isSealed: false });
  else expect(verdict).toMatchObject({ kind: 'broken', why: 'seal' });
});

test('a head that was written down reveals a rewritten chain, without any key', async () => {
  const { open } = await openTrail(99);
  const { audit } = open();
  const head = await audit.head('a');
  if (head === undefined) return expect.fail();
  expect(await audit.verify('a', head)).toMatchObject({ kind: 'intact' });
  const another = { ...head, hash: 'f'.repeat(64) };
  expect(await audit.verify('a', another)).toMatchObject({ kind: 'broken', seq: head.seq, why: 'head' });
  const later = { ...head, seq: head.seq + 1 };
  expect(await audit.verify('a', later)).toMatchObject({ kind: 'broken', seq: later.seq, why: 'head' });
  expect(await audit.head('nobody')).toBeUndefined();
});

test('records from before there was a key are valid, but a chain that ends without a seal is not', async () => {
  const { open } = await openTrail(4);
  expect(await open(KEY).audit.verify('a')).toMatchObject({ kind: 'intact' });
  const other = await open('another key of operators with 32 characters').audit.verify('a');
  expect(other).toMatchObject({ kind: 'broken', why: 'seal' });
  const plain = await openTrail(99);
  expect(await plain.open(KEY).audit.verify('a')).toMatchObject({ kind: 'broken', why: 'unproven' });
});

test('a record that loses its seal later is found, with the number that tail and show use', async () => {
  const { open } = await openTrail(2);
  await open().controls.lift({ kind: 'pause', accountId: 'a' }, { author: 'eve', reason: 'r' });
  const number = (await open().audit.tail('a', 1))[0]?.number;
  expect(await open(KEY).audit.verify('a')).toMatchObject({ kind: 'broken', why: 'seal', number });
});

test('a lane without records since there is a key leaves the trail proven; one with unsealed records does not', async () => {
  const place = createMemoryPlace({ clock: systemClock });
  const open = (key?: string) => createMemoryState({ clock: systemClock, operators: trustOf(key) }, place);
  const market = 'BTC_PERP';
  const event = {
    kind: 'doubt',
    accountId: 'a',
    market,
    atMs: 1,
    reason: 'test',
    words: 'w',
    alarm: false,
  } as const;
  const act = async (state: ReturnType<typeof open>, attempt: number) => {
    const base = await load(state, 'a');
    await commit(state, {
      base,
      lanes: new Map([[market, lane(base, market, attempt)]]),
      audit: [{ kind: 'action', event }],
    });
  };
  const poll = async (state: ReturnType<typeof open>) => {
    await commit(state, { base: await load(state, 'a'), quiet: 1, due: { inMs: 60_000, danger: 0 } });
  };
  await act(open(), 1);
  await poll(open());
  const pause = { kind: 'pause', accountId: 'a', author: 'ann', reason: 'r', expiresAtMs: null } as const;
  await open(KEY).controls.put(pause);
  expect(await open(KEY).audit.verify('a')).toMatchObject({ kind: 'intact' });
  await act(open(), 2);
  expect(await open(KEY).audit.verify('a')).toMatchObject({ kind: 'broken', why: 'unproven', market });
});
