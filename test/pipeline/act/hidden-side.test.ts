import { expect, test } from 'vitest';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { readOf } from '../../../src/pipeline/act/read-market.ts';
import { d, list, position, positionsSnapshot, settings } from '../../core/rules/fixtures.ts';

const POSITIONS = {
  isNew: true,
  list: { ...list([position()]), notOpenYet: [{ positionId: '43', market: 'BTC_PERP' }] },
  sentAtMs: 1_000,
  receivedAtMs: 1_020,
  earlier: () => [],
  sizesBefore: new Map(),
} as const;

test.each([
  { what: 'was open', known: ['42', '43'], complete: false },
  { what: 'an order is about to open', known: ['42'], complete: true },
])(
  'a list with nulls for a position that $what does not count the position as gone: it may hide the other side of a hedge',
  ({ known, complete }) => {
    const positions = known.map((positionId) => ({
      positionId,
      market: 'BTC_PERP',
      side: 'LONG',
      unprotectedMs: 0,
      cover: 'unknown' as const,
    }));
    const evaluation = { ...emptyAccountState('desk-1'), positions };
    const read = readOf(POSITIONS, positionsSnapshot([]), evaluation, compileRules([], settings()));
    expect(read).toMatchObject({ complete, notOpenYet: ['43'] });
  },
);

test('a side that only a later read shows gives the marks of earlier reads too: the speed of a crash is known with it', () => {
  const unsigned = { known: true, value: 'BOTH' } as const;
  const at = (unrealizedPnl: string, liquidationPrice: string | null) =>
    position({
      amount: d('1'),
      basePrice: d('100'),
      unrealizedPnl: d(unrealizedPnl),
      liquidationPrice: liquidationPrice === null ? null : d(liquidationPrice),
      positionSide: unsigned,
    });
  const rules = compileRules([], settings({ bothSign: 'unsigned' }));
  const latest = at('-6', '93');
  const earlier = () => [{ list: list([at('-2', null)]), sentAtMs: 500, receivedAtMs: 520 }];
  const read = readOf(
    { ...POSITIONS, list: list([latest]), earlier },
    positionsSnapshot([latest]),
    emptyAccountState('desk-1'),
    rules,
  );
  expect(read.byMarket.get('BTC_PERP')).toMatchObject([{ direction: 'long', markPrice: '94' }]);
  expect(read.earlierMarks?.('BTC_PERP', () => true)).toEqual([{ atMs: 500, mark: 98 }]);
});
