import { expect, test } from 'vitest';
import { type DaemonSign, expectationOf } from '../../../src/core/controls/daemon-sign.ts';

const SIGN: DaemonSign = { takesOrders: true, keyMark: 'a', isGuarded: false, maxSlippage: 0.05 };

function said(own: Partial<DaemonSign>, others: readonly Partial<DaemonSign>[], slippage = 0.01) {
  const signs = others.map((sign) => ({ ...SIGN, ...sign }));
  return expectationOf({ ...SIGN, ...own }, signs, [0.01, slippage]);
}

test.each([
  ['no key there', { takesOrders: false, keyMark: null }, {}, /another operators\.key/],
  ['another key', { takesOrders: false, keyMark: 'b' }, {}, /another operators\.key/],
  ['a daemon without a key', { takesOrders: false }, { keyMark: null }, /a daemon has no operators\.key/],
  ['no key anywhere', { keyMark: null }, { keyMark: null }, /asks for no password/],
])('an order is refused when every running daemon refuses it: %s', (_name, own, other, why) => {
  const refused = { kind: 'refused', why: expect.stringMatching(why) };
  expect(said(own, [other])).toEqual(refused);
  expect(said(own, [other, other])).toEqual(refused);
});

test('more slippage than it bears is refused by it', () => {
  expect(said({}, [], 0.06)).toMatchObject({ kind: 'refused', why: expect.stringMatching(/maxSlippage/) });
  expect(said({}, [{ maxSlippage: 0.1 }], 0.06)).toMatchObject({ kind: 'unsure' });
});

test('a daemon that takes no orders does not count; if one of two refuses, the answer is unsure', () => {
  const web = { takesOrders: false };
  expect(said({}, [])).toEqual({ kind: 'taken' });
  expect(said(web, [])).toEqual({ kind: 'nobody' });
  expect(said(web, [{}])).toEqual({ kind: 'taken' });
  expect(said({}, [{ takesOrders: false, keyMark: 'b' }])).toEqual({ kind: 'taken' });
  expect(said({}, [{ keyMark: 'b' }])).toMatchObject({ kind: 'unsure', why: expect.stringContaining('key') });
  // One that is started with the config of this process would refuse it.
  expect(said({ ...web, keyMark: null }, [])).toMatchObject({ kind: 'refused' });
});
