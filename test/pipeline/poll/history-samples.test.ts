import { expect, test } from 'vitest';
import { emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { historySamples } from '../../../src/pipeline/poll/decide.ts';
import {
  at,
  creditLine,
  d,
  list,
  position,
  positionsSnapshot,
  read,
  settings,
  snapshot,
} from '../../core/rules/fixtures.ts';

const STATE = emptyAccountState('desk-1');
const samplesOf = (taken: Parameters<typeof historySamples>[0], state = STATE) =>
  Object.fromEntries(
    historySamples(taken, state, at(0), settings()).map(({ subject, values }) => [subject, values]),
  );

const BOTH = [
  position({ positionId: '1' }),
  position({ positionId: '2', market: 'ETH_PERP', liquidationPrice: d('45') }),
];

test('a sample has each position and credit line, with its margin-call level', () => {
  const taken = snapshot({ positions: read(list([position()])), creditLine: read(list([creditLine()])) });
  expect(samplesOf(taken)).toEqual({
    'position:42': {
      market: 'BTC_PERP',
      amount: '2',
      direction: 'long',
      markPrice: 90,
      liquidationDistance: expect.closeTo(0.1) as number,
    },
    'creditLine:USDT@1700000000': { amount: '1000', currentLtv: 0.6, marginCallLtv: 0.75 },
  });
});

test('with several positions a sample also has their joint distance', () => {
  const { account } = samplesOf(positionsSnapshot(BOTH));
  // Nearer than the nearest of them alone.
  expect(account?.['jointDistance']).toBeGreaterThan(0);
  expect(account?.['jointDistance']).toBeLessThan(0.1001);
});

test('the joint distance is left out while a known position is missing in the list', () => {
  const unseen = {
    positionId: '3',
    market: 'XRP_PERP',
    direction: 'short',
    unprotectedMs: 0,
    cover: 'unknown',
  } as const;
  const hidden = { ...STATE, positions: [unseen] };
  expect(samplesOf(positionsSnapshot(BOTH), hidden)).not.toHaveProperty('account');
});
