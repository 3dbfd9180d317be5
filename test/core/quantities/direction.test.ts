import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PositionRecord } from '../../../src/core/ports/exchange.ts';
import { PositionQuantities, type Told } from '../../../src/core/quantities/position.ts';
import { d, position, settings } from '../rules/fixtures.ts';

type Side = 'LONG' | 'SHORT' | 'BOTH' | 'absent' | 'odd';

interface Row {
  readonly side?: Side;
  readonly amount?: string;
  readonly pnl?: string | undefined;
  readonly liquidation?: string | null | undefined;
  readonly bothSign?: 'signed' | 'unsigned';
  readonly doubtful?: true;
  readonly state?: 'margin_call' | 'liquidation';
  /** Worth of the coin held as collateral, money. */
  readonly held?: number;
  readonly margin?: 'isolated';
  readonly earlier?: Told;
  readonly gives: string;
}

const recordOf = (row: Row): PositionRecord => {
  const side = row.side ?? 'BOTH';
  const liquidation = 'liquidation' in row ? row.liquidation : '81';
  return position({
    amount: d(row.amount ?? '2'),
    unrealizedPnl: 'pnl' in row && row.pnl === undefined ? undefined : d(row.pnl ?? '0.00'),
    liquidationPrice: typeof liquidation === 'string' ? d(liquidation) : liquidation,
    positionSide:
      side === 'absent'
        ? undefined
        : side === 'odd'
          ? { known: false, raw: 'odd' }
          : { known: true, value: side },
    ...(row.doubtful && { sideDoubtful: true }),
    ...(row.state && { liquidationState: { known: true, value: row.state } }),
  });
};

const given = (row: Row): string => {
  const { direction } = new PositionQuantities(
    recordOf(row),
    settings({
      bothSign: row.bothSign ?? 'signed',
      ...(row.held !== undefined && { holdings: { BTC: row.held } }),
      marginModel: row.margin ?? 'auto',
    }),
    row.earlier,
  );
  return direction.kind === 'value' ? direction.value : direction.kind === 'unknown' ? direction.why : 'none';
};

describe('direction, entered at 100', () => {
  test.each<Row>([
    // Hedge mode states the side; a liquidation price on the other side is a disagreement, not a contradiction.
    { side: 'LONG', gives: 'long' },
    { side: 'SHORT', liquidation: '121', gives: 'short' },
    { side: 'SHORT', amount: '-2', liquidation: '121', gives: 'short' },
    { side: 'LONG', liquidation: '121', gives: 'long' },
    { side: 'LONG', amount: '-2', gives: 'directionUnknown' },
    { side: 'LONG', amount: '0', gives: 'long' },
    // One-way mode, signed: the sign decides, wherever the liquidation price lies.
    { gives: 'long' },
    { amount: '-2', liquidation: '121', gives: 'short' },
    { liquidation: null, gives: 'long' },
    { amount: '-2', liquidation: undefined, gives: 'short' },
    { liquidation: '100', gives: 'long' },
    { liquidation: '121', gives: 'long' },
    { amount: '-2', gives: 'short' },
    { liquidation: '121', pnl: undefined, gives: 'long' },
    { amount: '0', gives: 'zeroSize' },
    { liquidation: '115', pnl: '40.00', gives: 'long' },
    { liquidation: '150', pnl: '400.00', gives: 'long' },
    { pnl: '-40.00', gives: 'long' },
    { earlier: 'short', gives: 'long' },
    // Without a side, with another position in its market: the liquidation price may belong to the other side.
    { side: 'absent', doubtful: true, gives: 'directionUnknown' },
    { side: 'odd', doubtful: true, gives: 'directionUnknown' },
    { side: 'absent', doubtful: true, bothSign: 'unsigned', gives: 'directionUnknown' },
    { side: 'absent', doubtful: true, amount: '-2', liquidation: '121', gives: 'short' },
    { side: 'absent', doubtful: true, earlier: 'short', gives: 'short' },
    // One-way mode, unsigned: the side of the mark, 100 + pnl / 2 or 100 - pnl / 2, where only one is possible.
    { bothSign: 'unsigned', gives: 'long' },
    { bothSign: 'unsigned', liquidation: '121', gives: 'short' },
    { bothSign: 'unsigned', liquidation: '121', pnl: '40.00', gives: 'short' },
    { bothSign: 'unsigned', liquidation: '119', pnl: '40.00', gives: 'directionUnknown' },
    { bothSign: 'unsigned', liquidation: '119', pnl: '40.00', earlier: 'long', gives: 'long' },
    // A short cannot have gained more than its worth.
    { bothSign: 'unsigned', liquidation: '150', pnl: '400.00', gives: 'long' },
    // Past its liquidation price either way.
    { bothSign: 'unsigned', pnl: '-40.00', gives: 'directionUnknown' },
    { bothSign: 'unsigned', pnl: '-40.00', earlier: 'long', gives: 'long' },
    // In liquidation the mark has passed that price; as much of the coin as collateral moves it to the other side.
    { bothSign: 'unsigned', liquidation: '99', pnl: '0.00', state: 'liquidation', gives: 'directionUnknown' },
    { bothSign: 'unsigned', held: 150, gives: 'directionUnknown' },
    // No collateral stands behind an isolated position but its own.
    { bothSign: 'unsigned', held: 150, margin: 'isolated', gives: 'long' },
    // A little of it cannot: with it a long was blind, and lost.
    { bothSign: 'unsigned', held: 5, gives: 'long' },
    // Its figures fitted no side once: a coin that nobody told of moves that price, and it never tells the side.
    { bothSign: 'unsigned', earlier: 'untold', gives: 'directionUnknown' },
    { bothSign: 'unsigned', earlier: 'untold', liquidation: null, gives: 'directionUnknown' },
    { bothSign: 'unsigned', earlier: 'untold', amount: '-2', gives: 'short' },
    { side: 'SHORT', earlier: 'untold', gives: 'short' },
    { earlier: 'untold', gives: 'long' },
    // Flipped since.
    { bothSign: 'unsigned', earlier: 'short', gives: 'long' },
    { bothSign: 'unsigned', liquidation: '121', pnl: '40.00', earlier: 'long', gives: 'short' },
    { bothSign: 'unsigned', liquidation: '79', pnl: '40.00', earlier: 'short', gives: 'long' },
    // At its liquidation price, or past it by rounding, it has not flipped.
    { bothSign: 'unsigned', liquidation: '120', pnl: '40.00', gives: 'directionUnknown' },
    { bothSign: 'unsigned', liquidation: '120', pnl: '40.00', earlier: 'long', gives: 'long' },
    { bothSign: 'unsigned', liquidation: '120.1', pnl: '40.00', earlier: 'long', gives: 'long' },
    { bothSign: 'unsigned', liquidation: '80', pnl: '40.00', earlier: 'short', gives: 'short' },
    { bothSign: 'unsigned', liquidation: '79.9', pnl: '40.00', earlier: 'short', gives: 'short' },
    { bothSign: 'unsigned', amount: '-2', gives: 'short' },
    // A price has no upper bound: only a long, or a short whose coin is held, has none that liquidates it.
    { bothSign: 'unsigned', liquidation: null, gives: 'long' },
    { bothSign: 'unsigned', liquidation: null, earlier: 'short', gives: 'short' },
    { bothSign: 'unsigned', liquidation: null, held: 150, gives: 'directionUnknown' },
    { side: 'absent', bothSign: 'unsigned', liquidation: null, gives: 'directionUnknown' },
    { bothSign: 'unsigned', liquidation: undefined, gives: 'directionUnknown' },
    { bothSign: 'unsigned', liquidation: undefined, earlier: 'short', gives: 'short' },
    { bothSign: 'unsigned', liquidation: '100', pnl: '0.00', gives: 'directionUnknown' },
    // No usable positionSide: the figures decide where they can, as a hedge's short may be unsigned, else the sign.
    { side: 'absent', gives: 'long' },
    { side: 'absent', liquidation: '121', gives: 'short' },
    { side: 'absent', liquidation: '119', pnl: '40.00', gives: 'long' },
    { side: 'absent', liquidation: null, gives: 'long' },
    { side: 'absent', liquidation: null, earlier: 'short', gives: 'short' },
    { side: 'odd', liquidation: null, bothSign: 'unsigned', gives: 'directionUnknown' },
    { side: 'absent', amount: '-2', liquidation: null, gives: 'short' },
  ])('%j', (row) => {
    expect(given(row)).toBe(row.gives);
  });

  test('a long in profit that has come to its liquidation price is no short far away from it', () => {
    const figures = { basePrice: d('27400'), liquidationPrice: d('29400') };
    const record = position({ amount: d('0.718'), unrealizedPnl: d('1436'), ...figures });
    const { liquidationDistance } = new PositionQuantities(
      record,
      settings({ bothSign: 'unsigned' }),
      'long',
    );
    expect(liquidationDistance).toEqual({ kind: 'value', value: 0 });
  });

  test('a short whose coin is held, which nobody told of, is no long once its figures fit one', () => {
    const read = (pnl: string, liquidation: string, earlier?: Told) =>
      new PositionQuantities(
        recordOf({ pnl, liquidation, gives: '' }),
        settings({ bothSign: 'unsigned', marginModel: 'cross' }),
        earlier,
      );
    // Its mark is at 140, the price that the coin makes at 81; then, lower, at 136 and 60.
    const first = read('-80.00', '81');
    expect(first.told).toBe('untold');
    const second = read('-72.00', '60', first.told);
    expect(second.direction).toMatchObject({ kind: 'unknown', why: 'directionUnknown' });
    expect(second.told).toBe('untold');
    // Without the first read it passes for a long at 64.
    expect(read('-72.00', '60').direction).toMatchObject({ value: 'long' });
  });

  test.each<Row>([
    // Within rounding of its liquidation price, in liquidation, without a price or figures: nothing is contradicted.
    { pnl: '-38.20', gives: '' },
    { pnl: '-40.00', state: 'liquidation', gives: '' },
    { liquidation: undefined, gives: '' },
    { amount: '0', gives: '' },
  ])('is not untold: %j', (row) => {
    const one = new PositionQuantities(recordOf(row), settings({ bothSign: 'unsigned' }));
    expect(one.told).not.toBe('untold');
  });

  test('a position is never taken for the opposite direction while the price has not reached liquidation', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('long' as const, 'short' as const),
        fc.boolean(),
        fc.integer({ min: 1, max: 60 }),
        fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        fc.constantFrom('signed' as const, 'unsigned' as const),
        (direction, isSigned, gap, share, bothSign) => {
          const dir = direction === 'long' ? 1 : -1;
          const liquidation = 100 - dir * gap;
          // From just short of liquidation to as far on the profitable side of the entry.
          const mark = liquidation + dir * gap * 2 * share;
          const record = recordOf({
            amount: direction === 'short' && isSigned ? '-2' : '2',
            liquidation: String(liquidation),
            pnl: (dir * (mark - 100) * 2).toFixed(6),
            gives: '',
          });
          const quantities = new PositionQuantities(record, settings({ bothSign }));
          const found = quantities.direction;
          // An unsigned short that is read as signed counts as a long, and as doubtful where it is possible to see.
          const isMisread = direction === 'short' && !isSigned && bothSign === 'signed';
          if (found.kind === 'value') expect(found.value).toBe(isMisread ? 'long' : direction);
          if (!isMisread) expect(quantities.directionConflict).toBe(found.kind === 'unknown');
          if (direction === 'short' ? isSigned : bothSign === 'signed') expect(found.kind).toBe('value');
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
