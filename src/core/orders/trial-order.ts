import type { LaneState, MarketRead, OwnOrder, ReadPosition } from '../lanes/lane-state.ts';
import { decimalFromNumber, formatDecimal, maxDecimal, ONE, toDecimal, ZERO } from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import { isHedged, leastAmount, netExposure } from './net-exposure.ts';
import { type OrderPrices, shapeProtect } from './order-prices.ts';
import { isSentFor, offsetFromActivation, outstandingBase } from './outstanding.ts';
import type { Want } from './want.ts';

/** How far from the mark a trial activates: of the way to liquidation. */
const TRIAL_AT = 0.9;
const TRIAL_SLIPPAGE = 0.01;
/** Where there is no liquidation price, or no room before it: of the way to a price so far away. */
const FAR = 0.5;

export interface TrialScene {
  readonly state: LaneState;
  readonly read: MarketRead;
  readonly market: MarketSettings;
  readonly settings: AccountSettings;
  readonly nowMs: number;
}

/**
 * The smallest reduce-only stop, far from the market. Where a cancel is needed and nothing has to be placed first, it
 * shows whether the exchange takes orders; the cancel then removes it with the rest. Should the cancel fail, it is a
 * bit of cover. `about`: whose order, or cancel, it serves. `undefined`: none can be shaped.
 */
export function trialOrder(scene: TrialScene, about: Pick<OwnOrder, 'key' | 'ruleId'>): Want | undefined {
  const { positions } = scene.read;
  // With both sides open even the smallest order counts against the net exposure; where nothing of that is left, one
  // order beyond it for a round trip is better than a market that can never be cleared up.
  const inOrder = [
    ...positions.filter((position) => hasRoom(position, scene)),
    ...positions.filter((position) => !hasRoom(position, scene)),
  ];
  for (const position of inOrder) {
    const want = trialFor(position, scene, about);
    if (want !== undefined) return want;
  }
  return undefined;
}

function trialFor(
  position: ReadPosition,
  scene: TrialScene,
  { key, ruleId }: Pick<OwnOrder, 'key' | 'ruleId'>,
): Want | undefined {
  const { direction, markPrice, markError, liquidationPrice } = position;
  const { market } = scene;
  if (direction === null || markPrice === null || position.disagreement) return undefined;
  const about: TrialWant = { position, key, ruleId, market };
  const standing = scene.state.orders.find((order) => isStandingTrial(order, position, scene));
  if (standing !== undefined) return wantOf(about, standing.request, standing);
  const isLong = direction === 'long';
  const factor = isLong ? ONE.minus(decimalFromNumber(FAR)) : ONE.plus(decimalFromNumber(FAR));
  const far = formatDecimal(toDecimal(markPrice).times(factor));
  const isKnown = liquidationPrice !== null && liquidationPrice !== 'none';
  for (const end of isKnown ? [liquidationPrice, far] : [far]) {
    const inputs = { liquidationPrice: end, anchor: markPrice, at: TRIAL_AT, slippage: TRIAL_SLIPPAGE };
    const shape = shapeProtect({ direction, markPrice, markError }, inputs, market);
    if (shape.ok) return wantOf(about, shape.prices, null);
  }
  return undefined;
}

/** One that no cancel has taken down, on the right side of the market. */
function isStandingTrial(order: OwnOrder, position: ReadPosition, { market, nowMs }: TrialScene): boolean {
  const isMeant = order.trial === true && !order.presumedFilled && order.positionId === position.positionId;
  const isKnown = isMeant && isSentFor(order, position) && order.arrivedByMs <= nowMs;
  return isKnown && (offsetFromActivation(order, position)?.gte(toDecimal(market.priceStep)) ?? false);
}

interface TrialWant {
  readonly position: ReadPosition;
  readonly key: string;
  readonly ruleId: string;
  readonly market: MarketSettings;
}

function wantOf(
  { position, key, ruleId, market }: TrialWant,
  prices: OrderPrices,
  resend: OwnOrder | null,
): Want {
  return {
    role: 'cover',
    position,
    amount: leastAmount(market),
    prices,
    slippage: TRIAL_SLIPPAGE,
    key,
    ruleId,
    episode: 0,
    stage: 0,
    targetBase: toDecimal(position.sizeBase),
    isTrimmed: false,
    coverBasis: null,
    anchor: null,
    resend,
    isTrial: true,
  };
}

function hasRoom(position: ReadPosition, { state, read, market, settings }: TrialScene): boolean {
  const least = leastAmount(market);
  if (settings.hedge === 'perLeg' || !isHedged(read)) return true;
  const own = outstandingBase(state.orders, (order) => order.positionId === position.positionId);
  return maxDecimal(netExposure(position, read).minus(own), ZERO).gte(least);
}
