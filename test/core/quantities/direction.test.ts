import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PositionRecord } from '../../../src/core/ports/exchange.ts';
import { PositionQuantities } from '../../../src/core/quantities/position.ts';
import { d, position, settings } from '../rules/fixtures.ts';

type Side = 'LONG' | 'SHORT' | 'BOTH' | 'absent' | 'odd';

interface Row {
  readonly side?: Side;
  readonly amount?: string;
  readonly pnl?: string | undefined;
  readonly liquidation?: string | null | undefined;
  readonly bothSign?: 'signed' | 'unsigned';
  readonly doubtful?: true;
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
  });
};

const given = (row: Row): string => {
  const { direction } = new PositionQuantities(
    recordOf(row),
    settings({ bothSign: row.bothSign ?? 'signed' }),
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
    { side: 'LONG', amount: '-2', gives: 'directionContradicted' },
    { side: 'LONG', amount: '0', gives: 'long' },
    // One-way mode, signed.
    { gives: 'long' },
    { amount: '-2', liquidation: '121', gives: 'short' },
    { liquidation: null, gives: 'long' },
    { amount: '-2', liquidation: undefined, gives: 'short' },
    { liquidation: '100', gives: 'long' },
    { liquidation: '121', gives: 'directionContradicted' },
    { amount: '-2', gives: 'directionContradicted' },
    { liquidation: '121', pnl: undefined, gives: 'directionContradicted' },
    { amount: '0', gives: 'zeroSize' },
    // In profit: its mark price alone would not show that an unsigned short is no long.
    { liquidation: '115', pnl: '40.00', gives: 'directionContradicted' },
    // A long that tripled and whose collateral was withdrawn: a short cannot have gained more than its worth.
    { liquidation: '150', pnl: '400.00', gives: 'long' },
    // Past its liquidation price while being liquidated: the entry price still shows the direction.
    { pnl: '-40.00', gives: 'long' },
    // Without a side, with another position in its market: the liquidation price may belong to the other side.
    { side: 'absent', doubtful: true, gives: 'directionUnknown' },
    { side: 'odd', doubtful: true, gives: 'directionUnknown' },
    { side: 'absent', doubtful: true, bothSign: 'unsigned', gives: 'directionUnknown' },
    { side: 'absent', doubtful: true, amount: '-2', liquidation: '121', gives: 'short' },
    // One-way mode, unsigned.
    { bothSign: 'unsigned', gives: 'long' },
    { bothSign: 'unsigned', liquidation: '121', gives: 'short' },
    { bothSign: 'unsigned', liquidation: '115', pnl: '40.00', gives: 'short' },
    { bothSign: 'unsigned', amount: '-2', liquidation: '121', gives: 'short' },
    { bothSign: 'unsigned', amount: '-2', liquidation: '81', gives: 'directionContradicted' },
    { bothSign: 'unsigned', liquidation: null, gives: 'directionUnknown' },
    { bothSign: 'unsigned', liquidation: undefined, gives: 'directionUnknown' },
    { bothSign: 'unsigned', liquidation: '100', gives: 'directionUnknown' },
    // No usable positionSide: a plus sign alone proves nothing.
    { side: 'absent', gives: 'long' },
    { side: 'absent', liquidation: '121', gives: 'directionContradicted' },
    { side: 'absent', liquidation: null, gives: 'directionUnknown' },
    { side: 'odd', liquidation: null, gives: 'directionUnknown' },
    { side: 'absent', amount: '-2', liquidation: null, gives: 'short' },
  ])('%j', (row) => {
    expect(given(row)).toBe(row.gives);
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
          const found = new PositionQuantities(record, settings({ bothSign })).direction;
          if (found.kind === 'value') expect(found.value).toBe(direction);
          if (isSigned && bothSign === 'signed') expect(found.kind).toBe('value');
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
