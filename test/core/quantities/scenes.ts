import type {
  CreditLineRecord,
  PositionRecord,
  SpotOrderRecord,
  TransferRecord,
} from '../../../src/core/ports/exchange.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { AccountSettings } from '../../../src/core/quantities/settings.ts';
import type { Instant, OwnStop, Snapshot, SourceReading } from '../../../src/core/quantities/snapshot.ts';
import { knownTransfers } from '../../../src/core/quantities/transfer.ts';
import type { Dice } from '../../support/dice.ts';
import {
  at,
  d,
  LOAN,
  list,
  override,
  PERP,
  position,
  SERVER_MS,
  settings,
  snapshot,
} from '../rules/fixtures.ts';

/** A random account: positions on margin and perpetual markets, prices from a hundred-millionth to a million. */

const MARKETS = ['BTC_PERP', 'ETH_PERP', 'BTC_USDT', 'ETH_USDC'] as const;
const SCALES = [1, 1, 1, 1, 1e-8, 1e4] as const;

const text = (value: number): DecimalString =>
  d(
    Number(value.toPrecision(12))
      .toFixed(12)
      .replace(/\.?0+$/, ''),
  );

function positionOf(dice: Dice, index: number, scale: number): PositionRecord {
  const isShort = dice.hits(0.4);
  const sign = isShort ? -1 : 1;
  const size = dice.of(1, 2, 0.5);
  const base = 100 * scale;
  const mark = base * dice.of(0.9, 0.95, 1, 1.1);
  const distance = dice.of(0.02, 0.05, 0.1, 0.1, 0.3, 1.2, -0.01);
  const margin = mark * size * dice.of(0.1, 0.1, 0.3);
  return position({
    positionId: String(41 + index),
    market: dice.of(MARKETS[0], MARKETS[0], ...MARKETS),
    amount: text(sign * size * (dice.hits(0.03) ? 0 : 1)),
    openDate: dice.hits(0.9) ? SERVER_MS / 1_000 - dice.of(10, 1_000) : undefined,
    basePrice: dice.hits(0.95)
      ? dice.hits(0.2)
        ? d(`${Number(text(base))}.0`.replace(/(\..*)\.0$/, '$1'))
        : text(base)
      : undefined,
    unrealizedPnl: dice.hits(0.95) ? text(sign * (mark - base) * size) : undefined,
    liquidationPrice: dice.hits(0.85)
      ? text(Math.max(0, mark * (1 - sign * distance)))
      : dice.of(null, undefined),
    liquidationState: dice.hits(0.8)
      ? null
      : dice.of(
          { known: true, value: 'margin_call' },
          { known: true, value: 'liquidation' },
          { known: false, raw: 'x' },
          undefined,
        ),
    margin: dice.hits(0.95) ? text(margin) : undefined,
    freeMargin: dice.hits(0.95) ? text(dice.of(0, 1, 60, -5) * scale) : undefined,
    positionSide: dice.of(
      { known: true, value: 'BOTH' },
      { known: true, value: 'BOTH' },
      { known: true, value: isShort ? 'SHORT' : 'LONG' },
      { known: true, value: isShort ? 'LONG' : 'SHORT' },
      { known: false, raw: 'X' },
      undefined,
    ),
    tpsl: dice.hits(0.7)
      ? null
      : dice.of({ stopLoss: text(base * dice.of(0.93, 1.04)) }, { takeProfit: text(base) }, undefined),
    pnl: dice.of(d('1.5'), d('-2')),
  });
}

function stopsOf(dice: Dice, positions: readonly PositionRecord[]): readonly OwnStop[] {
  return positions.flatMap(({ positionId, amount, basePrice }) =>
    Array.from({ length: dice.of(0, 0, 1, 2) }, () => ({
      positionId,
      activationPrice: text(Number(basePrice ?? 100) * dice.of(0.8, 0.93, 0.95, 1.05, 1.2)),
      amount: text(Math.abs(Number(amount)) * dice.of(0.5, 1, 1)),
      confirmed: dice.hits(0.7),
    })),
  );
}

function creditLineOf(dice: Dice): CreditLineRecord {
  const unit = dice.of(1, 1, 0.01);
  const ratio = (value: number) => text(value * unit);
  return override(LOAN, {
    amount: d(dice.of('1000', '0.5')),
    currentLtv: ratio(dice.of(60, 75, 76, 81, 30)),
    initialLtv: dice.hits(0.9) ? ratio(50) : undefined,
    marginCallLtv: dice.hits(0.9) ? ratio(75) : undefined,
    liquidationLtv: dice.hits(0.9) ? ratio(80) : undefined,
    totalFunding: dice.hits(0.9) ? d('8') : undefined,
  });
}

function transferOf(dice: Dice): TransferRecord {
  return {
    createdAt: SERVER_MS / 1_000 - dice.of(0, 59, 60, 3_600, 86_400),
    ticker: dice.of('USDT', 'BTC'),
    method: dice.of(
      { known: true, value: 'withdrawal' },
      { known: true, value: 'deposit' },
      { known: false, raw: 3 },
    ),
    amount: d(dice.of('5', '0.25')),
    status: dice.of(3, 7, 15, 1),
    network: dice.of(null, 'TRC20'),
    address: dice.of('0xAbC', '0xabc', 'abc', 'ABC', undefined),
    ...(dice.hits(0.5) ? { fee: d('0.1') } : {}),
    ...(dice.hits(0.5) ? { transactionId: 't' } : {}),
  } as TransferRecord;
}

function spotOrderOf(dice: Dice): SpotOrderRecord {
  return {
    market: dice.of('BTC_USDT', 'ETH_USDC', 'BTC_PERP'),
    orderId: '1',
    side: dice.of({ known: true, value: 'sell' }, { known: true, value: 'buy' }, { known: false, raw: 'x' }),
    status: dice.of({ known: true, value: 'FILLED' }, { known: true, value: 'CANCELLED' }),
    ctime: SERVER_MS / 1_000 - dice.of(0, 60, 3_600, 90_000),
    ...(dice.hits(0.8) ? { ftime: SERVER_MS / 1_000 - dice.of(0, 60, 3_600, 90_000) } : {}),
    ...(dice.hits(0.8) ? { dealMoney: d('12.5') } : {}),
    ...(dice.hits(0.8) ? { dealStock: d('0.5') } : {}),
    amount: d('1'),
    price: d('100'),
  } as SpotOrderRecord;
}

const some = <T>(
  dice: Dice,
  counts: readonly [number, ...number[]],
  make: (index: number) => T,
): readonly T[] => Array.from({ length: dice.of(...counts) }, (_, index) => make(index));

function readingOf<T>(dice: Dice, value: T): SourceReading<T> {
  const ageMs = dice.of(0, 500, 500, 10_000, 10_001);
  if (dice.hits(0.05)) return { kind: 'notRead', ageMs };
  return {
    kind: 'read',
    value,
    ageMs,
    ...(dice.hits(0.95) ? { serverDateMs: SERVER_MS - ageMs } : {}),
  };
}

export function snapshotOf(dice: Dice, now: Instant = at(0)): Snapshot {
  const scale = dice.of(...SCALES);
  const positions = some(dice, [0, 1, 1, 2, 2, 3], (index) => positionOf(dice, index, scale));
  const isWhole = (): boolean => dice.hits(0.9);
  return snapshot(
    {
      positions: readingOf(dice, list(positions, isWhole())),
      ...(dice.hits(0.5)
        ? {
            creditLine: readingOf(
              dice,
              list(
                some(dice, [0, 1, 1], () => creditLineOf(dice)),
                isWhole(),
              ),
            ),
          }
        : {}),
      ...(dice.hits(0.5)
        ? { mainBalance: readingOf(dice, { USDT: d('250'), BTC: d(dice.of('0', '0.00')) }) }
        : {}),
      ...(dice.hits(0.4)
        ? {
            transfers: readingOf(
              dice,
              knownTransfers(
                list(
                  some(dice, [0, 1, 4], () => transferOf(dice)),
                  isWhole(),
                ),
                ['0xabc', 'abc'],
              ),
            ),
          }
        : {}),
      ...(dice.hits(0.4)
        ? {
            spotOrders: readingOf(
              dice,
              list(
                some(dice, [0, 1, 4], () => spotOrderOf(dice)),
                isWhole(),
              ),
            ),
          }
        : {}),
    },
    now,
    { ownStops: stopsOf(dice, positions) },
  );
}

export function settingsOf(dice: Dice): AccountSettings {
  return settings({
    marginModel: dice.of('auto', 'auto', 'cross', 'isolated'),
    bothSign: dice.of('signed', 'signed', 'unsigned'),
    ltvUnit: dice.of('auto', 'auto', 'percent', 'fraction'),
    ...(dice.hits(0.2)
      ? { holdings: dice.of<Record<string, number>>({ BTC: 50 }, { SOL: 20, BTC: 10 }) }
      : {}),
    marketSettings: (market) =>
      market.endsWith('_PERP')
        ? PERP
        : market === 'BTC_USDT'
          ? { ...PERP, priceStep: d('1'), maintenanceMargin: 0.05 }
          : undefined,
  });
}
