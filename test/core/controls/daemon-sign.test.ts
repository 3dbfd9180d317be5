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
])('an order is refused when every running daemon refuses it: %s', (_name, claim, sign, why) => {
  const refused = { kind: 'refused', why: expect.stringMatching(why) };
  expect(said([sign], { ...ORDER, ...claim })).toEqual(refused);
  expect(said([sign, sign], { ...ORDER, ...claim })).toEqual(refused);
});

test('a daemon that takes no orders does not count; if one of two refuses, the answer is unsure', () => {
  expect(said([])).toEqual({ kind: 'nobody' });
  expect(said([{}])).toEqual({ kind: 'taken' });
  expect(said([{ takesOrders: false }])).toEqual({ kind: 'nobody' });
  expect(said([{}, { takesOrders: false, keyMark: 'b' }])).toEqual({ kind: 'taken' });
  expect(said([{}, { keyMark: 'b' }])).toMatchObject({ kind: 'unsure', why: expect.stringContaining('key') });
});

test('a veto only holds back: a daemon without a key accepts it unsealed, one with a key needs the seal', () => {
  const veto = { keyMark: null, slippageSteps: [], holdsBack: true };
  expect(said([{ keyMark: null }], veto)).toEqual({ kind: 'taken' });
  expect(said([{}], veto)).toMatchObject({ kind: 'refused' });
});

test("a pause is obeyed with the daemon's key, or by a daemon without a key", () => {
  expect(obedienceOf([], null)).toEqual({ kind: 'nobody' });
  expect(obedienceOf([SIGN], 'a')).toEqual({ kind: 'taken' });
  expect(obedienceOf([{ ...SIGN, keyMark: null }], 'a')).toEqual({ kind: 'taken' });
  expect(obedienceOf([SIGN], null)).toMatchObject({ kind: 'refused' });
  // A daemon that acts but takes no orders has to obey the pause, too.
  expect(obedienceOf([SIGN, { ...SIGN, takesOrders: false, keyMark: 'b' }], 'a')).toMatchObject({
    kind: 'unsure',
  });
});
