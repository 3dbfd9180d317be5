import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PositionRecord } from '../../../src/core/ports/exchange.ts';
import { AccountQuantities } from '../../../src/core/quantities/account.ts';
import type { AccountSettings, MarketSettings } from '../../../src/core/quantities/settings.ts';
import type { Direction } from '../../../src/core/rules/subject.ts';
import { at, d, PERP, position, positionsSnapshot, settings } from '../rules/fixtures.ts';

const RATE = 0.02;
const TERMS: MarketSettings = { ...PERP, maintenanceMargin: RATE, priceStep: d('0.0001') };

interface Held {
  readonly side: Direction;
  readonly size: number;
  readonly entry: number;
  readonly mark: number;
  /** Worth of its coin as collateral. */
  readonly worth?: number;
}

const dirOf = ({ side }: Held): 1 | -1 => (side === 'long' ? 1 : -1);
const pnlOf = (held: Held): number => dirOf(held) * held.size * (held.mark - held.entry);

/** The records of an unsigned account, as an exchange computes them; `buffer`: equity less maintenance margin. */
const recordsOf = (
  book: readonly Held[],
  { margin, buffer }: { readonly margin: 'cross' | 'isolated'; readonly buffer: number },
): PositionRecord[] =>
  book.map((held, index) => {
    const { size, mark, entry, worth = 0 } = held;
    const left = margin === 'cross' ? buffer : buffer * size;
    const slope = dirOf(held) * size - RATE * size + (margin === 'cross' ? worth / mark : 0);
    const own = left + RATE * size * mark - pnlOf(held);
    const liquidation = mark - left / slope;
    return position({
      positionId: String(index),
      market: `C${index}_PERP`,
      amount: d(String(size)),
      basePrice: d(String(entry)),
      unrealizedPnl: d(pnlOf(held).toFixed(6)),
      liquidationPrice: liquidation > 0 ? d(liquidation.toFixed(4)) : null,
      margin: d((margin === 'isolated' ? own : (size * entry) / 5).toFixed(6)),
      positionSide: { known: true, value: 'BOTH' },
    });
  });

const sidesOf = (records: readonly PositionRecord[], changes: Partial<AccountSettings>): unknown[] =>
  new AccountQuantities(
    positionsSnapshot(records, at(0), true),
    settings({ bothSign: 'unsigned', marketSettings: () => TERMS, ...changes }),
    at(0),
  ).positions.map(({ direction }) => (direction.kind === 'value' ? direction.value : 'unknown'));

const long = (changes: Partial<Held> = {}): Held => ({
  side: 'long',
  size: 1,
  entry: 100,
  mark: 98,
  ...changes,
});
const short = (changes: Partial<Held> = {}): Held => long({ ...changes, side: 'short' });

describe('an unsigned position whose coin is held as collateral too', () => {
  test.each([
    { what: 'a long', first: long({ worth: 90 }), others: [long(), long()], gives: 'long' },
    {
      what: 'a short that the coin outweighs',
      first: short({ worth: 130 }),
      others: [long(), long()],
      gives: 'short',
    },
    { what: 'a long among shorts', first: long({ worth: 90 }), others: [short(), short()], gives: 'long' },
    {
      what: 'too much of the coin to tell',
      first: long({ worth: 400 }),
      others: [long(), long()],
      gives: 'unknown',
    },
    { what: 'a single other market', first: long({ worth: 90 }), others: [long()], gives: 'unknown' },
  ])('is known by what the other markets show is left: $what', ({ first, others, gives }) => {
    const records = recordsOf([first, ...others], { margin: 'cross', buffer: 26 });
    const [shown] = sidesOf(records, { marginModel: 'auto', holdings: { C0: first.worth ?? 0 } });
    expect(shown).toBe(gives);
  });

  test('is known where the coin has another price than the market: a short would fit by chance only', () => {
    const records = recordsOf([long(), long(), long()], { margin: 'cross', buffer: 13 });
    expect(sidesOf(records, { marginModel: 'auto', holdings: { C0: 98 } })[0]).toBe('long');
    const shorts = recordsOf([short(), short(), short()], { margin: 'cross', buffer: 13 });
    expect(sidesOf(shorts, { marginModel: 'auto', holdings: { C0: 98 } })[0]).toBe('short');
  });

  test('is known by its own margin, where all others rely on theirs', () => {
    const records = recordsOf([long({ worth: 90 }), long(), short({ mark: 103 })], {
      margin: 'isolated',
      buffer: 8,
    });
    expect(sidesOf(records, { marginModel: 'auto', holdings: { C0: 90 } })).toEqual([
      'long',
      'long',
      'short',
    ]);
  });

  test('stays unknown in liquidation, where the mark has passed that price', () => {
    const [first, ...others] = recordsOf([long({ worth: 90 }), long(), long()], {
      margin: 'cross',
      buffer: 20,
    });
    const passed = { ...first, liquidationState: { known: true, value: 'liquidation' } } as PositionRecord;
    expect(sidesOf([passed, ...others], { marginModel: 'cross', holdings: { C0: 90 } })[0]).toBe('unknown');
  });

  test('never has the wrong side, whatever the coin is worth by now', () => {
    const held = fc.record({
      side: fc.constantFrom('long' as const, 'short' as const),
      size: fc.integer({ min: 1, max: 9 }),
      entry: fc.constant(100),
      mark: fc.integer({ min: 85, max: 115 }),
    });
    let shown = 0;
    fc.assert(
      fc.property(
        held,
        fc.array(held, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('cross' as const, 'isolated' as const),
        fc.boolean(),
        fc.double({ min: 0.5, max: 6, noNaN: true }),
        fc.double({ min: 0.5, max: 2, noNaN: true }),
        fc.integer({ min: 2, max: 25 }),
        (first, others, margin, isNamed, ratio, drift, buffer) => {
          const worth = ratio * first.size * first.mark;
          const records = recordsOf([{ ...first, worth }, ...others], { margin, buffer });
          const marginModel = isNamed && margin === 'cross' ? 'cross' : 'auto';
          const [side] = sidesOf(records, { marginModel, holdings: { C0: worth / drift } });
          if (side !== 'unknown') expect(side).toBe(first.side);
          if (side !== 'unknown') shown += 1;
        },
      ),
      { numRuns: 2_000, seed: 7 },
    );
    expect(shown).toBeGreaterThan(400);
  });
});
