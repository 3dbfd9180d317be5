import { expect, test } from 'vitest';
import { type DaemonSign, expectationOf, obedienceOf } from '../../../src/core/controls/daemon-sign.ts';

const SIGN: DaemonSign = { takesOrders: true, keyMark: 'a', isGuarded: false, maxSlippage: 0.05 };
const ORDER = { keyMark: 'a', slippageSteps: [0.01] };

function said(signs: readonly Partial<DaemonSign>[], claim: Parameters<typeof expectationOf>[1] = ORDER) {
  return expectationOf(
    signs.map((sign) => ({ ...SIGN, ...sign })),
    claim,
  );
}

test.each([
  ['no key here', { keyMark: null }, {}, /this command has no key/],
  ['another key', { keyMark: 'b' }, {}, /another operators\.key/],
  ['a daemon without a key', {}, { keyMark: null }, /before operators\.key was in its config/],
  ['no key anywhere', { keyMark: null }, { keyMark: null }, /asks for no password/],
  ['more slippage than it bears', { slippageSteps: [0.01, 0.06] }, {}, /beyond operators\.maxSlippage/],
])('an order is refused by all that run: %s', (_name, claim, sign, why) => {
  const refused = { kind: 'refused', why: expect.stringMatching(why) };
  expect(said([sign], { ...ORDER, ...claim })).toEqual(refused);
  expect(said([sign, sign], { ...ORDER, ...claim })).toEqual(refused);
});

test('a daemon that takes no orders counts for none, and one of two that refuses is said, not obeyed', () => {
  expect(said([])).toEqual({ kind: 'nobody' });
  expect(said([{}])).toEqual({ kind: 'taken' });
  expect(said([{ takesOrders: false }])).toEqual({ kind: 'nobody' });
  expect(said([{}, { takesOrders: false, keyMark: 'b' }])).toEqual({ kind: 'taken' });
  expect(said([{}, { keyMark: 'b' }])).toMatchObject({ kind: 'unsure', why: expect.stringContaining('key') });
});

test('a veto only holds back: without keys it is believed, and with one it needs the seal', () => {
  const veto = { keyMark: null, slippageSteps: [], holdsBack: true };
  expect(said([{ keyMark: null }], veto)).toEqual({ kind: 'taken' });
  expect(said([{}], veto)).toMatchObject({ kind: 'refused' });
});

test('a pause is obeyed with the key of the daemon, and by a daemon that has none', () => {
  expect(obedienceOf([], null)).toEqual({ kind: 'nobody' });
  expect(obedienceOf([SIGN], 'a')).toEqual({ kind: 'taken' });
  expect(obedienceOf([{ ...SIGN, keyMark: null }], 'a')).toEqual({ kind: 'taken' });
  expect(obedienceOf([SIGN], null)).toMatchObject({ kind: 'refused' });
  // What only acts, and takes no orders, has to obey it as well.
  expect(obedienceOf([SIGN, { ...SIGN, takesOrders: false, keyMark: 'b' }], 'a')).toMatchObject({
    kind: 'unsure',
  });
});
