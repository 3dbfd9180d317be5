import { decimal, formatDecimal, toNumber } from '../../src/core/quantities/decimal.ts';
import type { World } from '../../src/world/open-world.ts';
import { openWorld } from '../../src/world/open-world.ts';
import { unprotected } from './baseline.ts';
import { onStep } from './coins.ts';
import type { Levels } from './factors.ts';
import { type FieldCase, fieldCase } from './field-case.ts';
import { ACCOUNT } from './holdings.ts';

/** Result of an account that needs no action, in the same conditions. */
export interface ControlResult {
  readonly id: string;
  readonly levels: Levels;
  /** What is worse than without the daemon; empty if nothing. */
  readonly harm: readonly string[];
  readonly errors: readonly string[];
}

/** Far above the threshold of any rule set of the project: `conservative` warns at 16 %. */
const DISTANCE = 0.27;
/** A small dip that recovers: less than a standing stop half way to liquidation would trigger on. */
const DIP = 0.02;
const LEVERAGE = '3x';

/** The same account and conditions as the case at that place, but far from liquidation, in a small dip. */
export function controlCase(seed: number, index: number, levels: Levels): FieldCase {
  return fieldCase(seed, index, { ...levels, leverage: LEVERAGE }, { distance: DISTANCE, depth: DIP });
}

export async function judgeControl(control: FieldCase): Promise<ControlResult> {
  const { id, levels, world: spec } = control;
  const alone = openWorld(unprotected(spec));
  const protectedOne = openWorld(spec);
  for (const world of [alone, protectedOne]) {
    placeOwnersOrders(world, control);
    await world.run();
  }
  return { id, levels, harm: harmOf(alone, protectedOne), errors: protectedOne.errors.map(String) };
}

/** Distance of the owner's orders, as a part of the distance to liquidation: no price in the world reaches them. */
const OWNERS_STOP = 0.8;
const OWNERS_PROFIT = 0.3;
const OWNERS_SLIPPAGE = 0.02;

/** A stop and a take-profit limit order for part of each position that could lose. */
function placeOwnersOrders({ exchange }: World, { losing }: FieldCase): void {
  exchange.change((model) => {
    for (const { market, side, positionSide, amount, amountStep, priceStep } of losing) {
      const { mark } = model.market(market) ?? {};
      if (mark === undefined) continue;
      const away = side === 'sell' ? -1 : 1;
      const at = (part: number) => decimal(onStep(toNumber(mark) * (1 + part), priceStep));
      const half = decimal(onStep(Number(amount) * 0.4, amountStep));
      const order = { market, side, positionSide, amount: half, reduceOnly: true };
      const stop = away * OWNERS_STOP * DISTANCE;
      model.placeCollateralOrder(ACCOUNT, {
        ...order,
        clientOrderId: `owner-stop-${market}`,
        activationPrice: at(stop),
        price: at(stop * (1 + OWNERS_SLIPPAGE)),
      });
      model.placeCollateralOrder(ACCOUNT, {
        ...order,
        clientOrderId: `owner-profit-${market}`,
        price: at(-away * OWNERS_PROFIT),
      });
    }
  });
}

function harmOf(alone: World, guarded: World): readonly string[] {
  const [before, after] = [stateOf(alone), stateOf(guarded)];
  const lostOrders = before.orders.filter((id) => !after.orders.includes(id));
  const changed = before.positions.filter((position) => !after.positions.includes(position));
  return [
    ...lostOrders.map((id) => `${id} is gone`),
    ...changed.map((position) => `position ${position} was changed`),
    ...(after.equity < before.equity - ROUNDING
      ? [`equity ${after.equity.toFixed(2)}, without the daemon ${before.equity.toFixed(2)}`]
      : []),
  ];
}

/** Tolerance in money. */
const ROUNDING = 0.000_001;

function stateOf({ exchange }: World) {
  const { model } = exchange;
  return {
    orders: model
      .openOrders(ACCOUNT)
      .map(({ clientOrderId }) => clientOrderId)
      .filter((id) => id.startsWith('owner-')),
    positions: model
      .openPositions(ACCOUNT)
      .map(({ market, direction, amount }) => `${direction} ${formatDecimal(amount)} ${market}`),
    equity: toNumber(model.account(ACCOUNT).equity),
  };
}
