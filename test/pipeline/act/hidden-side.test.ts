import { expect, test } from 'vitest';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { readOf } from '../../../src/pipeline/act/read-market.ts';
import { list, position, positionsSnapshot, settings } from '../../core/rules/fixtures.ts';

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
