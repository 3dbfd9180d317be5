import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MarketRead, ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import { marketRead } from '../../../src/core/lanes/market-read.ts';
import type { OwnOrder } from '../../../src/core/lanes/own-order.ts';
import { netRoom } from '../../../src/core/orders/net-exposure.ts';
import { type DecimalString, toNumber } from '../../../src/core/quantities/decimal.ts';
import { MARKET, readAt, readPositionOf } from '../lanes/fixtures.ts';

const text = (size: number): DecimalString => String(size) as DecimalString;

/** Both sides of a market, in whole base units; the long comes first. */
function hedge(long: number, short: number): MarketRead {
  const sides = [
    readPositionOf({ positionId: '1', positionSide: 'LONG', sizeBase: text(long) }),
    readPositionOf({ positionId: '2', positionSide: 'SHORT', direction: 'short', sizeBase: text(short) }),
  ];
  return marketRead(readAt(1, ...sides), MARKET);
}

const longOf = ({ positions }: MarketRead): ReadPosition => {
  const [long] = positions;
  if (long === undefined) throw new Error('there is no long');
  return long;
};

const open = (amount: number, changed: Partial<OwnOrder> = {}): OwnOrder =>
  ({
    positionId: '1',
    amount: text(amount),
    status: 'open',
    presumedFilled: false,
    ambiguous: false,
    ...changed,
  }) as OwnOrder;

function roomOf(long: number, short: number, standing: readonly OwnOrder[], mayHideOrders = false) {
  const read = hedge(long, short);
  const room = netRoom(longOf(read), read, standing, mayHideOrders);
  return room === undefined ? undefined : toNumber(room);
}

const size = fc.integer({ min: 1, max: 60 });

test('whichever orders fill, the net exposure does not rise, for any sizes of both sides', () => {
  fc.assert(
    fc.property(
      size,
      size,
      fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 3 }),
      (long, short, amounts) => {
        const net = Math.abs(long - short);
        const standing = amounts.reduce((sum, amount) => sum + amount, 0);
        const room = roomOf(
          long,
          short,
          amounts.map((amount) => open(amount)),
        );
        // Standing orders may exceed it already; with no room nothing is added.
        if (room === 0) return;
        const worst = long - Math.min(long, standing + (room ?? long)) - short;
        const worstWithout = long - Math.min(long, standing) - short;
        expect(Math.abs(worst)).toBeLessThanOrEqual(Math.max(net, Math.abs(worstWithout)));
      },
    ),
  );
});

test('the smaller side has no room, nor has one of two equal sides', () => {
  expect(roomOf(3, 5, [])).toBe(0);
  expect(roomOf(5, 5, [])).toBe(0);
  expect(roomOf(3, 5, [open(3)])).toBe(0);
});

test('orders that may not stand do not count as closing a whole side', () => {
  expect(roomOf(30, 20, [open(30)])).toBeUndefined();
  for (const doubtful of [
    open(30, { status: 'unsure' }),
    open(30, { presumedFilled: true }),
    open(30, { ambiguous: true }),
    open(30, { mayHaveVanished: true }),
    open(30, { behindCancel: true }),
  ]) {
    expect(roomOf(30, 20, [doubtful])).toBe(0);
  }
});

test('orders that an earlier store epoch may have left take half of the room', () => {
  expect(roomOf(30, 20, [])).toBe(20);
  expect(roomOf(30, 20, [], true)).toBe(10);
  expect(roomOf(30, 20, [open(4)], true)).toBe(6);
});
