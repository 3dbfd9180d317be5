import type { PlaceStep, ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import type { PlacedOrder } from '../../../src/core/ports/exchange.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { MarketSettings } from '../../../src/core/quantities/settings.ts';
import type { Dice } from '../../support/dice.ts';
import { placed } from './driver.ts';

/** A market with two positions, in which orders fill, for transcripts: simple, and behaving the same at every price. */

interface Held {
  readonly positionId: string;
  readonly side: ReadPosition['positionSide'];
  readonly isLong: boolean;
  size: number;
  openDate: number;
  liquidation: number;
}

interface Live {
  readonly request: PlaceStep['request'];
  readonly positionId: string;
  left: number;
}

export interface MarketTerms {
  readonly price: number;
  readonly isHedged: boolean;
  /** Makes all prices, sizes and times whole multiples of coarse steps. */
  readonly isWhole?: boolean;
}

export class PlayedMarket {
  readonly name: string;
  settings: MarketSettings;
  readonly #dice: Dice;
  readonly #priceDigits: number;
  /** The price step of a market in which all is whole: marks, activations and sizes meet exactly. */
  readonly #tick: number | undefined;
  mark: number;
  positions: Held[];
  live: Live[] = [];

  constructor(name: string, { price, isHedged, isWhole = false }: MarketTerms, dice: Dice) {
    this.name = name;
    this.#dice = dice;
    this.mark = price;
    this.#priceDigits = Math.max(0, 4 - Math.floor(Math.log10(price)));
    this.settings = {
      amountStep: '0.01' as DecimalString,
      priceStep: this.#price(price * 1e-4),
      minAmount: '0.02' as DecimalString,
      maintenanceMargin: 0.03,
      basisAllowance: 0.001,
      money: 'USDT',
    };
    this.#tick = isWhole ? price / 200 : undefined;
    if (isWhole) {
      this.settings = {
        ...this.settings,
        amountStep: '1' as DecimalString,
        minAmount: '1' as DecimalString,
        priceStep: this.#price(price / 200),
        basisAllowance: 0.005,
      };
      this.positions = [
        held('41', isHedged ? 'LONG' : 'BOTH', true, 4, price * 0.93),
        held('42', isHedged ? 'SHORT' : 'BOTH', !isHedged, 3, price * (isHedged ? 1.08 : 0.9)),
      ];
      return;
    }
    this.positions = [
      held('41', isHedged ? 'LONG' : 'BOTH', true, 2, price * 0.93),
      held('42', isHedged ? 'SHORT' : 'BOTH', !isHedged, 1.2, price * (isHedged ? 1.08 : 0.9)),
    ];
  }

  #whole(price: number): number {
    return this.#tick === undefined ? price : Math.round(price / this.#tick) * this.#tick;
  }

  #round(size: number): number {
    const units = this.#tick === undefined ? 100 : 1;
    return Math.max(0, Math.round(size * units) / units);
  }

  #price(value: number): DecimalString {
    return Math.max(value, 10 ** -this.#priceDigits).toFixed(this.#priceDigits) as DecimalString;
  }

  /** Moves the market; orders that it reaches mostly fill. */
  move(share: number): void {
    this.mark = this.#whole(this.mark * (1 + share));
    for (const order of this.live) {
      const { side, activationPrice, inFavour } = order.request;
      const isBelow = (side === 'sell') !== (inFavour === true);
      const isReached = isBelow ? this.mark <= Number(activationPrice) : this.mark >= Number(activationPrice);
      if (!isReached || this.#dice.hits(0.3)) continue;
      const position = this.positions.find(({ positionId }) => positionId === order.positionId);
      const filled = Math.min(order.left, position?.size ?? 0) * this.#dice.of(1, 1, 0.5);
      if (position !== undefined) position.size = this.#round(position.size - filled);
      order.left = this.#round(order.left - filled);
    }
    this.live = this.live.filter(({ left }) => left > 0);
  }

  ownerActs(): void {
    const position = this.#dice.of(this.positions[0], this.positions.at(-1));
    if (position === undefined) return;
    const what = this.#dice.of('adds', 'takes', 'closes', 'rebuilds');
    if (what === 'adds') position.size = this.#round(position.size * 1.5 + 0.1);
    if (what === 'takes') position.size = this.#round(position.size * 0.75);
    if (what === 'closes') position.size = 0;
    if (what === 'rebuilds') {
      position.size = this.#round(1.5);
      position.openDate += 1;
    }
    position.liquidation = this.#whole(position.liquidation * this.#dice.between(0.99, 1.01));
  }

  accept(step: PlaceStep): PlacedOrder {
    const { request, order } = step;
    const { positionId } = order;
    const isFilled = this.#dice.hits(0.08);
    if (!isFilled) this.live.push({ request, positionId, left: Number(request.amount) });
    return placed(step, {
      status: { known: true, value: isFilled ? 'FILLED' : 'PENDING' } as PlacedOrder['status'],
      ...(this.#dice.hits(0.05) ? { adjustedFrom: request.amount } : {}),
    });
  }

  cancelAll(): void {
    this.live = [];
  }

  /** The positions that a read shows; sometimes one is left out or lacks a field. */
  views(): readonly ReadPosition[] {
    const lacks = this.#dice.hits(0.8) ? 'nothing' : this.#dice.of('one', 'mark', 'liquidation', 'side');
    const open = this.positions.filter(({ size }) => size > 0);
    const shown = lacks === 'one' ? open.slice(1) : open;
    return shown.map((position, index) => this.#readPositionOf(position, index === 0 ? lacks : 'nothing'));
  }

  #readPositionOf(position: Held, lacks: string): ReadPosition {
    const { positionId, side, isLong, size, openDate, liquidation } = position;
    const distance = ((isLong ? 1 : -1) * (this.mark - liquidation)) / this.mark;
    const hasNone = lacks === 'liquidation' && this.#dice.hits(0.5);
    return {
      positionId,
      openDate,
      positionSide: side,
      direction: lacks === 'side' ? null : isLong ? 'long' : 'short',
      sizeBase: String(size) as DecimalString,
      markPrice: lacks === 'mark' ? null : this.#price(this.mark),
      markError: this.#tick !== undefined && lacks === 'side' ? this.#tick : 0,
      liquidationPrice: hasNone ? 'none' : this.#price(liquidation),
      distance: hasNone ? 'none' : distance,
      liquidationState: distance < 0 ? 'liquidation' : distance < 0.01 ? 'margin_call' : 'none',
      disagreement: lacks === 'liquidation' && !hasNone,
      fenceRisk: distance < 0.02 ? 0.4 : 0.001,
      basePrice: this.#price(this.mark * 1.02),
      realizedPnl: '0.5' as DecimalString,
      ...(lacks === 'side' ? { margin: this.#dice.of('own', 'shared') } : {}),
      ...(this.#dice.hits(0.2) ? { jointLiquidationPrice: this.#price((liquidation + this.mark) / 2) } : {}),
    };
  }
}

function held(
  positionId: string,
  side: ReadPosition['positionSide'],
  isLong: boolean,
  size: number,
  liquidation: number,
): Held {
  return { positionId, side, isLong, size, openDate: 1, liquidation };
}
