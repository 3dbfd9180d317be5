import { expect, test } from 'vitest';
import type { OrderLine } from '../../../src/core/view/account-view.ts';
import { noticeFacts } from '../../../src/core/view/notice-facts.ts';
import { account, position, text } from '../../support/account-view.ts';

test('a question of approval lists standing orders, not what other rules would send', () => {
  const order = {
    positionId: '42',
    market: 'BTC_PERP',
    side: 'sell',
    amount: text('0.5'),
    activationPrice: text('29000'),
    price: text('28500'),
  };
  const orders = [
    { ...order, status: 'observed' },
    { ...order, amount: text('0.1'), status: 'open' },
  ] as unknown as readonly OrderLine[];
  const view = account('desk-1', { positions: [position('42')], orders });
  const about = { subject: 'position:42', market: 'BTC_PERP' } as const;
  const said = (kind: 'approval' | 'firing') => noticeFacts(view, { ...about, kind }).doing?.orders;
  expect(said('approval')).toEqual([expect.stringMatching(/^In place: sell 0\.1 /)]);
  expect(said('firing')).toHaveLength(2);
});

test('an order of a vanished position is not called "In place"', () => {
  const order = {
    positionId: '42',
    market: 'BTC_PERP',
    side: 'sell',
    amount: text('0.104'),
    activationPrice: text('45675.2'),
    price: text('45000'),
    status: 'open',
  };
  const said = (positionId: string) => {
    const orders = [order] as unknown as readonly OrderLine[];
    const view = account('desk-1', { positions: [position(positionId)], orders });
    return noticeFacts(view, { subject: 'account' }).doing?.orders;
  };
  expect(said('42')).toEqual([expect.stringMatching(/^In place: sell 0\.104 /)]);
  expect(said('43')).toEqual([
    expect.stringMatching(/^May be left of position 42, which no list shows any more: sell 0\.104 /),
  ]);
});
