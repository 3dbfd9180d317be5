import type {
  CreditLineRecord,
  PositionRecord,
  SpotOrderRecord,
  TransferRecord,
} from '../../../src/core/ports/exchange.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../../../src/core/quantities/settings.ts';
import type { Instant, OwnStop, Snapshot, SnapshotSources } from '../../../src/core/quantities/snapshot.ts';
import { knownTransfers } from '../../../src/core/quantities/transfer.ts';
import type { Dice } from '../../support/dice.ts';
import { creditLine, list, override, PERP, position, read, SERVER_MS } from './fixtures.ts';

/** An account with positions in three markets at very different prices, two credit lines, balances and orders. */

interface Held {
  readonly positionId: string;
  readonly market: string;
  isLong: boolean;
  readonly start: number;
  readonly side: 'BOTH' | 'LONG' | 'SHORT';
  size: number;
  base: number;
  mark: number;
  liquidation: number;
}

export class PlayedAccount {
  readonly #dice: Dice;
  readonly held: Held[] = [
    holding({ positionId: '41', market: 'BTC_PERP', isLong: true, side: 'BOTH', size: 0.4, mark: 50_000 }),
    holding({ positionId: '42', market: 'ETH_PERP', isLong: true, side: 'LONG', size: 9, mark: 2_000 }),
    holding({ positionId: '43', market: 'ETH_PERP', isLong: false, side: 'SHORT', size: 4, mark: 2_000 }),
    holding({ positionId: '44', market: 'PEPE_USDC', isLong: false, side: 'BOTH', size: 9e8, mark: 1e-5 }),
  ];
  #ltv = [60, 45];
  #free = 900;
  #transfers: TransferRecord[] = [];
  #nowMs = 0;

  /** With `isWhole`, prices, levels and times lie on coarse steps, so that compared values are often equal. */
  readonly #isWhole: boolean;
  #clock = 1;

  constructor(dice: Dice, { isWhole = false }: { readonly isWhole?: boolean } = {}) {
    this.#dice = dice;
    this.#isWhole = isWhole;
  }

  get now(): Instant {
    return { wallMs: SERVER_MS + this.#nowMs, monotonicMs: this.#nowMs, clockId: `process-${this.#clock}` };
  }

  move(): void {
    const dice = this.#dice;
    this.#nowMs += dice.of(1_000, 1_000, 3_000, 10_000, 40_000);
    const btc = dice.of(0, 0.002, -0.002, -0.006, 0.006, -0.015);
    for (const one of this.held) one.mark *= 1 + btc * (one.market === 'BTC_PERP' ? 1 : 1.4);
    this.#ltv = this.#ltv.map((ltv) => ltv * (1 - btc * 2));
    if (dice.hits(0.1)) this.#free *= dice.of(0.5, 1.2);
    const one = dice.of(this.held[0], this.held[1], this.held[2], this.held[3]);
    if (one !== undefined && dice.hits(0.12)) one.size *= dice.of(0.5, 1.5, 0);
    if (dice.hits(0.15)) this.#transfers.push(this.#transfer());
  }

  /** Mostly regular polls; sometimes another process takes over, or the clock is set. */
  moveWhole(): void {
    const dice = this.#dice;
    this.#nowMs += dice.of(0, 1_000, 1_000, 1_000, 2_000, 5_000, 10_000, 60_000, 180_000);
    if (dice.hits(0.08)) this.#clock += 1;
    if (dice.hits(0.03)) this.#nowMs -= 20_000;
    for (const one of this.held) {
      if (dice.hits(0.5)) one.mark = one.start * dice.of(1, 1, 0.98, 1.02, 0.95, 1.05, 0.9);
      if (dice.hits(0.05)) one.liquidation = one.start * dice.of(0.94, 0.9, 1.06, 0.855);
      if (dice.hits(0.08)) one.size = dice.of(0, 0, one.size, 2, 4);
      if (dice.hits(0.03)) one.isLong = !one.isLong;
    }
    if (dice.hits(0.5))
      this.#ltv = [dice.of(60, 75, 80, 45), dice.of(45, 60, 85)].slice(dice.of(0, 0, 0, 1, 2));
    if (dice.hits(0.2)) this.#free = dice.of(0, 500, 1_000);
    if (dice.hits(0.2)) this.#transfers.push(this.#transfer());
  }

  #transfer(): TransferRecord {
    const dice = this.#dice;
    return {
      uniqueId: String(this.#transfers.length),
      transactionId: `t${this.#transfers.length}`,
      createdAt: (SERVER_MS + this.#nowMs) / 1_000 - 5,
      ticker: dice.of('USDT', 'BTC'),
      method: { known: true, value: dice.of('deposit', 'withdrawal') } as unknown as TransferRecord['method'],
      amount: text(dice.of(10, 250, 0.5)),
      fee: text(0.1),
      status: dice.of(3, 7, 15, 4),
      network: dice.of('TRC20', null),
      address: dice.of('home', 'elsewhere'),
    };
  }

  snapshot(settings: AccountSettings): Snapshot {
    const dice = this.#dice;
    const ageMs = this.#isWhole
      ? dice.of(0, 0, 0, 0, 0, 1_000, 10_000, 10_500)
      : dice.of(0, 0, 0, 200, 15_000);
    const sources: SnapshotSources = {
      ...(dice.hits(0.95) ? { positions: read(list(this.#positions(), dice.hits(0.95)), ageMs) } : {}),
      ...(dice.hits(0.95) ? { creditLine: read(list(this.#lines(), dice.hits(0.95)), ageMs) } : {}),
      ...(dice.hits(0.95)
        ? { mainBalance: read({ USDT: text(this.#free), BTC: text(dice.of(0, 0.7)) }, ageMs) }
        : {}),
      ...(dice.hits(0.95)
        ? {
            transfers: read(knownTransfers(list(this.#transfers), settings.withdrawalAllowList ?? []), ageMs),
          }
        : {}),
      ...(dice.hits(0.95) ? { spotOrders: read(list(this.#orders()), ageMs) } : {}),
    };
    const closed = dice.hits(0.1) ? { closedByUs: ['43'] } : {};
    return { version: 1, accountId: 'desk-1', at: this.now, sources, ownStops: this.#stops(), ...closed };
  }

  #positions(): readonly PositionRecord[] {
    const dice = this.#dice;
    return this.held.flatMap((one) => {
      if (one.size === 0 || dice.hits(0.02)) return [];
      const pnl = (one.isLong ? 1 : -1) * one.size * (one.mark - one.base);
      const isPast = one.isLong ? one.mark < one.liquidation : one.mark > one.liquidation;
      const state = isPast ? dice.of('liquidation', 'none') : dice.of('none', 'none', 'none', 'margin_call');
      const lacks = dice.of('', '', '', '', '', '', 'liquidationPrice', 'unrealizedPnl', 'margin', 'funding');
      const record = position({
        positionId: one.positionId,
        market: one.market,
        amount: text(one.isLong ? one.size : -one.size),
        basePrice: text(one.base),
        liquidationPrice: dice.hits(0.05) ? null : text(one.liquidation),
        liquidationState: state === 'none' ? null : { known: true, value: state },
        unrealizedPnl: text(pnl),
        margin: text((one.size * one.base) / 10),
        freeMargin: text(this.#free),
        positionSide: { known: true, value: one.side },
        tpsl: dice.hits(0.3) ? { takeProfit: text(one.base * 1.1), stopLoss: text(one.base * 0.9) } : null,
      });
      const shown = lacks === '' ? record : override(record, { [lacks]: undefined });
      return dice.hits(0.02) ? [shown, shown] : [shown];
    });
  }

  #lines(): readonly CreditLineRecord[] {
    return this.#ltv.map((ltv, index) =>
      creditLine({
        asset: index === 0 ? 'USDT' : 'BTC',
        createdAt: 1_700_000_000 + index,
        amount: text(index === 0 ? 1_000 : 0.2),
        currentLtv: text(ltv),
      }),
    );
  }

  #orders(): readonly SpotOrderRecord[] {
    const dice = this.#dice;
    return Array.from({ length: dice.of(0, 1, 3) }, (_, index) => ({
      market: dice.of('BTC_USDT', 'ETH_PERP', 'BTC_PERP'),
      orderId: String(index),
      clientOrderId: dice.of('', 'mine'),
      side: { known: true, value: dice.of('buy', 'sell') },
      type: dice.of('limit', 'stop limit'),
      status: { known: true, value: 'NEW' } as unknown as SpotOrderRecord['status'],
      amount: text(dice.of(0.5, 2)),
      price: text(dice.of(1_900, 48_000)),
      ctime: SERVER_MS / 1_000 - 60 * index,
    }));
  }

  #stops(): readonly OwnStop[] {
    const [btc, eth] = this.held;
    if (btc === undefined || eth === undefined) return [];
    return [btc, eth].map((one, index) => ({
      positionId: one.positionId,
      activationPrice: text(one.base * 0.94),
      amount: text(one.size * (index === 0 ? 1 : 0.5)),
      confirmed: this.#dice.hits(0.8),
    }));
  }
}

export function marketOf(name: string): MarketSettings | undefined {
  if (name === 'PEPE_USDC') return { ...PERP, priceStep: text(1e-9), maintenanceMargin: 0.05, money: 'USDC' };
  return name.endsWith('_PERP') ? PERP : undefined;
}

function holding(of: Omit<Held, 'base' | 'liquidation' | 'start'>): Held {
  const { mark, isLong } = of;
  return {
    ...of,
    start: mark,
    base: mark * (isLong ? 1.01 : 0.99),
    liquidation: mark * (isLong ? 0.94 : 1.06),
  };
}

/** Nine significant digits. */
function text(value: number): DecimalString {
  const places = value === 0 ? 0 : Math.max(0, 8 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(places, 14)) as DecimalString;
}
