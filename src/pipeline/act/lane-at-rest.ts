import { actionKey, type LaneRequest } from '../../core/intents/intent.ts';
import type { Cover, LaneState, MarketRead, OwnOrder, ReadPosition } from '../../core/lanes/lane-state.ts';
import { marketRead, type ReadObservation } from '../../core/lanes/market-read.ts';
import { toDecimal } from '../../core/quantities/decimal.ts';
import type { AccountSettings } from '../../core/quantities/settings.ts';

/** After so long a lane takes a read all the same: well before a gap counts as an outage, or a joint limit as old. */
const LONGEST_REST_MS = 30_000;
/** A stop nearer than this to the market, a fraction of the mark, may be needed before the next read. */
const NEAR_STOP = 0.03;
/** How far the mark may be from that of the last read taken, a fraction of it. */
const SMALL_MOVE = 0.005;

/**
 * Whether a read changes nothing for a lane that only keeps stops: each stands, far from the market, for positions that
 * are what they were. Then the read need not be taken, and nothing is written: so it is with nearly every poll of an
 * account with standing stops. Stops have to be all that the lane is asked for, and it has to know of each: what was asked
 * for once may have been left out of the commit.
 */
export function isAtRest(
  state: LaneState,
  asked: readonly LaneRequest[],
  observation: ReadObservation | undefined,
  settings: AccountSettings,
): boolean {
  const { read, latestRead, covers, orders } = state;
  if (read === null || read.sentAtMs !== latestRead?.sentAtMs || !isQuiet(state)) return false;
  if (covers.length !== orders.length || !covers.every((cover) => stands(cover, orders))) return false;
  if (asked.length !== covers.length || !asked.every((request) => isKnown(request, covers))) return false;
  if (observation === undefined) return true;
  if (!observation.complete || observation.notOpenYet !== undefined || read.partial !== undefined)
    return false;
  if (observation.sentAtMs - read.receivedAtMs > LONGEST_REST_MS) return false;
  const { positions } = marketRead(observation, state.market, settings);
  return (
    positions.length === read.positions.length &&
    positions.every((position) => isAsBefore(position, read) && isFarFromStops(position, orders))
  );
}

function isKnown({ request, positionId }: LaneRequest, covers: readonly Cover[]): boolean {
  const key = actionKey(request, positionId);
  return covers.some((cover) => cover.key === key && cover.mode === request.mode);
}

/**
 * No intent, request, doubt, or anything that time alone may change. Who else has traded a position (`contests`) holds
 * back reductions only.
 */
function isQuiet(state: LaneState): boolean {
  const { intents, cancels, inProgress, heldBy, change, doubt, absent, ended } = state;
  const isIdle = inProgress === null && heldBy === null && change === null && doubt === null;
  const pending = [intents, cancels, absent ?? [], ended ?? []];
  return isIdle && pending.every(({ length }) => length === 0);
}

function stands({ key, anchor, blockedBy, refusedBy }: Cover, orders: readonly OwnOrder[]): boolean {
  if (anchor === null || blockedBy !== null || refusedBy !== null) return false;
  const [order, ...others] = orders.filter((one) => one.key === key);
  return order !== undefined && others.length === 0 && isUntouched(order);
}

function isUntouched(order: OwnOrder): boolean {
  const { role, status, activatedMs, reachedMs } = order;
  if (role !== 'cover' || status !== 'open' || activatedMs !== null || reachedMs !== null) return false;
  return ![
    order.presumedFilled,
    order.inverted,
    order.mayHaveVanished,
    order.ambiguous,
    order.trial,
  ].includes(true);
}

function isAsBefore(position: ReadPosition, { positions }: MarketRead): boolean {
  const before = positions.find(({ positionId }) => positionId === position.positionId);
  if (before === undefined || before.markPrice === null || position.markPrice === null) return false;
  const mark = Number(before.markPrice);
  if (Math.abs(Number(position.markPrice) - mark) > SMALL_MOVE * mark) return false;
  return (
    toDecimal(before.sizeBase).eq(toDecimal(position.sizeBase)) &&
    before.positionSide === position.positionSide &&
    before.openDate === position.openDate &&
    before.direction === position.direction &&
    before.liquidationPrice === position.liquidationPrice &&
    before.jointLiquidationPrice === position.jointLiquidationPrice &&
    before.liquidationState === position.liquidationState &&
    before.disagreement === position.disagreement &&
    before.margin === position.margin
  );
}

function isFarFromStops({ markPrice }: ReadPosition, orders: readonly OwnOrder[]): boolean {
  const mark = Number(markPrice);
  return orders.every(({ request }) => Math.abs(Number(request.activationPrice) - mark) > NEAR_STOP * mark);
}
