import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Decimal, decimal, toDecimal, ZERO } from '../../../src/core/quantities/decimal.ts';
import type { ExchangeModel } from '../../../src/simulator/model/exchange-model.ts';
import type { LedgerEntry, LedgerKind } from '../../../src/simulator/model/ledger-entry.ts';
import type { Readings } from '../../../src/simulator/model/readings.ts';
import { FULL } from '../../support/slice.ts';
import { arbitraryStep, perform, populate, type Step } from './flow.ts';
import { markets, replay, text, world } from './helpers.ts';

const arbitraryReadings: fc.Arbitrary<Partial<Readings>> = fc.record({
  marginModel: fc.constantFrom('cross', 'isolated'),
  stopTriggerSource: fc.constantFrom('last', 'mark'),
  stopTriggersAtEquality: fc.constantFrom('yes', 'no'),
  reduceOnlyAfterClose: fc.constantFrom('cancelled', 'kept'),
  positionIds: fc.constantFrom('fresh', 'reused'),
  cancelCoversStops: fc.constantFrom('yes', 'no'),
  wrongSideActivation: fc.constantFrom('opposite', 'atOnce', 'refused'),
  reduceOnlyRoom: fc.constantFrom('position', 'trimmed', 'refused'),
  openingPositions: fc.constantFrom('hidden', 'listed'),
});
const flow = fc.array(arbitraryStep, { minLength: 20, maxLength: 120, size: 'max' });
/** All kinds of entries that change the size of a position. */
const MOVES: readonly LedgerKind[] = ['fill', 'liquidation', 'auto_deleverage', 'position_seeded'];
const RUNS = { numRuns: FULL ? 120 : 20, endOnFailure: true };

/** Thin books, so that partial fills, rests and renewals all occur. */
function thinWorld(readings: Partial<Readings>): ExchangeModel {
  const thin = markets(({ priceStep, depth, name }) => ({
    depth: {
      ...depth,
      levelStep: priceStep.times(decimal('10')),
      amountPerLevel: decimal(name.startsWith('BTC') ? '0.05' : '1'),
      levels: 20,
    },
  }));
  const model = world({ readings, markets: thin });
  populate(model, true);
  return model;
}

function run(
  readings: Partial<Readings>,
  steps: readonly Step[],
  after?: (model: ExchangeModel) => void,
): ExchangeModel {
  const model = thinWorld(readings);
  for (const step of steps) {
    perform(model, step);
    after?.(model);
  }
  return model;
}

const played = new Map<string, ExchangeModel>();

/** Properties with the same seed use the same flows: each is played once, then only read. */
function runOnce(readings: Partial<Readings>, steps: readonly Step[]): ExchangeModel {
  const key = JSON.stringify([readings, steps]);
  const model = played.get(key) ?? run(readings, steps);
  played.set(key, model);
  return model;
}

function detail(entry: LedgerEntry, name: string): Decimal {
  return decimal(String(entry.details?.[name] ?? '0'));
}

describe('the books of any order flow', () => {
  it('balance to the last digit: every entry sums to zero, and replaying them gives every balance', () => {
    fc.assert(
      fc.property(arbitraryReadings, flow, (readings, steps) => {
        const model = runOnce(readings, steps);
        for (const entry of model.ledger()) {
          const sums = new Map<string, Decimal>();
          for (const { asset, amount } of entry.postings)
            sums.set(asset, (sums.get(asset) ?? ZERO).plus(toDecimal(amount)));
          for (const sum of sums.values()) expect({ entry, sum: sum.toFixed() }).toEqual({ entry, sum: '0' });
        }
        const books = replay(model.ledger());
        for (const id of model.accountIds()) {
          const view = model.account(id);
          for (const wallet of ['collateral', 'main', 'spot'] as const) {
            for (const [asset, balance] of books.get(`${wallet}:${id}`) ?? [])
              expect(text(view[wallet][asset] ?? ZERO)).toBe(text(balance));
          }
        }
      }),
      RUNS,
    );
  });

  it('explain collateral completely: deposits + pnl - fees - funding + insurance', () => {
    fc.assert(
      fc.property(arbitraryReadings, flow, (readings, steps) => {
        const model = runOnce(readings, steps);
        for (const id of model.accountIds()) {
          let expected = decimal('9000');
          for (const entry of model.ledger({ accountId: id })) expected = expected.plus(moneyEffect(entry));
          const books = replay(model.ledger());
          // Isolated margin is collateral held with its position.
          const inMargin = model
            .openPositions(id)
            .reduce(
              (sum, { positionId }) => sum.plus(books.get(`margin:${positionId}`)?.get('USDT') ?? ZERO),
              ZERO,
            );
          const held = (model.account(id).collateral['USDT'] ?? ZERO).plus(inMargin);
          expect(text(held)).toBe(text(expected));
        }
      }),
      RUNS,
    );
  });

  it('give each position exactly the sum of its fills, at their cost', () => {
    fc.assert(
      fc.property(arbitraryReadings, flow, (readings, steps) => {
        const model = runOnce(readings, steps);
        const books = replay(model.ledger());
        const open = new Set<string>();
        for (const id of model.accountIds()) {
          for (const position of model.openPositions(id)) {
            const book = books.get(`position:${position.positionId}`);
            const sign = position.direction === 'long' ? decimal('1') : decimal('-1');
            const signed = book?.get(position.market) ?? ZERO;
            open.add(`position:${position.positionId}`);
            expect(text(position.amount.times(sign))).toBe(text(signed));
            const worth = signed.times(position.markPrice).plus(book?.get('USDT') ?? ZERO);
            expect(text(position.unrealizedPnl)).toBe(text(worth));
          }
        }
        for (const [name, balances] of books) {
          if (!name.startsWith('position:') || open.has(name)) continue;
          for (const balance of balances.values()) expect(balance.toFixed()).toBe('0');
        }
      }),
      RUNS,
    );
  });

  it('never show a reduce-only order or a liquidation that grows or turns a position', () => {
    fc.assert(
      fc.property(arbitraryReadings, flow, (readings, steps) => {
        const model = runOnce(readings, steps);
        const sizes = new Map<string, Decimal>();
        for (const entry of model.ledger({ kinds: MOVES })) {
          if (entry.details?.['positionSide'] === undefined) continue;
          const key = `${entry.accountId}|${entry.market?.replaceAll('NEW', '')}|${String(entry.details['positionSide'])}`;
          const before = sizes.get(key) ?? ZERO;
          const amount = decimal(entry.amount ?? '0');
          const after = entry.side === 'buy' ? before.plus(amount) : before.minus(amount);
          sizes.set(key, after);
          const order = model.order(entry.accountId ?? '', entry.orderId ?? 0);
          const isOfTheExchange = entry.kind === 'liquidation' || entry.kind === 'auto_deleverage';
          if (order?.reduceOnly !== true && !isOfTheExchange) continue;
          expect({ entry, reduces: after.abs().lt(before.abs()) }).toEqual({ entry, reduces: true });
          expect({ entry, turns: after.times(before).lt(ZERO) }).toEqual({ entry, turns: false });
        }
      }),
      RUNS,
    );
  });

  it('are identical to the byte for the same seed and flow', () => {
    fc.assert(
      fc.property(arbitraryReadings, flow, (readings, steps) => {
        const first = JSON.stringify(run(readings, steps).ledger());
        expect(JSON.stringify(run(readings, steps).ledger())).toBe(first);
      }),
      { ...RUNS, numRuns: FULL ? 30 : 6 },
    );
  });
});

/** The change of an account's collateral money by an entry's own fields, not by its postings. */
function moneyEffect(entry: LedgerEntry): Decimal {
  const amount = decimal(entry.amount ?? '0');
  const fee = decimal(entry.fee ?? '0');
  switch (entry.kind) {
    case 'fill':
    case 'liquidation':
    case 'auto_deleverage':
    case 'settlement':
    case 'position_seeded':
      if (entry.details?.['positionSide'] === undefined) return ZERO;
      return detail(entry, 'realizedPnl')
        .minus(fee)
        .minus(detail(entry, 'fundingSettled'))
        .plus(detail(entry, 'insured'));
    case 'funding':
    case 'insurance':
      return amount;
    case 'borrow_repaid':
      return amount.times(decimal(entry.price ?? '0')).minus(fee);
    case 'internal_transfer':
      return entry.details?.['from'] === 'collateral' ? ZERO.minus(amount) : amount;
    default:
      return ZERO;
  }
}

describe('liquidation', () => {
  it('is checked exactly at every moment, although accounts are examined only when they leave a band', () => {
    fc.assert(
      fc.property(fc.constantFrom('last', 'mark'), flow, (stopTriggerSource, steps) => {
        const model = run({ stopTriggerSource }, steps, (current) => {
          for (const id of current.accountIds()) {
            const { equity, maintenanceMargin, liquidationState } = oracle(current, id);
            if (current.openPositions(id).length === 0) continue;
            const called = equity.lte(maintenanceMargin.times(decimal('1.5')));
            if (liquidationState === 'liquidation') continue;
            expect(equity.gt(maintenanceMargin)).toBe(true);
            expect(liquidationState).toBe(called ? 'margin_call' : null);
          }
        });
        for (const entry of model.ledger({ kinds: ['liquidation_started'] }))
          expect(detail(entry, 'equity').lte(detail(entry, 'maintenanceMargin'))).toBe(true);
      }),
      RUNS,
    );
  });

  it('checks isolated positions and loans exactly at every moment too', () => {
    fc.assert(
      fc.property(flow, (steps) => {
        run({ marginModel: 'isolated' }, steps, (current) => {
          const books = replay(current.ledger());
          for (const id of current.accountIds()) {
            for (const position of current.openPositions(id)) {
              if (position.liquidationState === 'liquidation') continue;
              const equity = (books.get(`margin:${position.positionId}`)?.get('USDT') ?? ZERO)
                .plus(position.unrealizedPnl)
                .minus(position.unrealizedFunding);
              const maintenance = position.amount.times(position.markPrice).times(decimal('0.03'));
              expect(equity.gt(maintenance)).toBe(true);
              const called = equity.lte(maintenance.times(decimal('1.5')));
              expect(position.liquidationState).toBe(called ? 'margin_call' : null);
            }
            for (const loan of current.creditLines(id)) {
              const worth = loan.collateralAmount.times(current.market('BTC_USDT')?.mark ?? ZERO);
              const debt = loan.amount.plus(loan.totalFunding);
              expect(debt.lt(worth.times(loan.liquidationLtv))).toBe(true);
              expect(loan.state).toBe(debt.gte(worth.times(loan.marginCallLtv)) ? 'margin_call' : null);
            }
          }
        });
      }),
      { ...RUNS, numRuns: FULL ? 60 : 10 },
    );
  });
});

/** Equity from the journal's balances and the positions' own fields. */
function oracle(
  model: ExchangeModel,
  id: string,
): { equity: Decimal; maintenanceMargin: Decimal; liquidationState: string | null } {
  const view = model.account(id);
  let equity = ZERO;
  for (const [asset, balance] of Object.entries(view.collateral)) {
    const rate = asset === 'USDT' ? decimal('1') : (model.market(`${asset}_USDT`)?.mark ?? ZERO);
    const weight = asset === 'USDT' || balance.lt(ZERO) ? decimal('1') : decimal('0.95');
    equity = equity.plus(balance.times(rate).times(weight));
  }
  let maintenanceMargin = ZERO;
  for (const position of model.openPositions(id)) {
    equity = equity.plus(position.unrealizedPnl).minus(position.unrealizedFunding);
    maintenanceMargin = maintenanceMargin.plus(
      position.amount.times(position.markPrice).times(decimal('0.03')),
    );
  }
  return { equity, maintenanceMargin, liquidationState: view.liquidationState };
}
