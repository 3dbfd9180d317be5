import type { RejectionReason } from '../audit/audit-event.ts';
import type { LaneState } from '../lanes/lane-state.ts';
import type { ReduceOnlyStopRequest } from '../ports/exchange.ts';
import {
  type DecimalString,
  decimalFromNumber,
  formatDecimal,
  maxDecimal,
  toDecimal,
} from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import { isAboutStep } from './rejection.ts';

/** The config's settings, with steps learnt from refusals and the maintenance rate implied, where higher. */
export function marketOf(
  { market, learnedSteps = {}, learnedMaintenance }: KnownOfMarket,
  settings: AccountSettings,
): MarketSettings | undefined {
  const configured = settings.marketSettings(market);
  if (configured === undefined) return undefined;
  const { amountStep = configured.amountStep, priceStep = configured.priceStep } = learnedSteps;
  return {
    ...configured,
    amountStep: coarser(amountStep, configured.amountStep),
    priceStep: coarser(priceStep, configured.priceStep),
    maintenanceMargin: worseRate(configured.maintenanceMargin, learnedMaintenance),
  };
}

type KnownOfMarket = Pick<LaneState, 'market' | 'learnedSteps' | 'learnedMaintenance'>;

/** One pair of liquidation prices may have a deposit between them: two have to agree. */
function worseRate(configured: number, learned: LaneState['learnedMaintenance']): number {
  if (learned === undefined || learned.agreeing < 2 || learned.low <= configured) return configured;
  return (learned.low + learned.high) / 2;
}

const coarser = (a: DecimalString, b: DecimalString): DecimalString =>
  formatDecimal(maxDecimal(toDecimal(a), toDecimal(b)));

const TIMES_COARSER = toDecimal('10' as DecimalString);
/** Three decimal places: what is refused beyond them is refused for something else. */
const MOST_TIMES_COARSER = toDecimal('1000' as DecimalString);
/** A price step coarser than this part of the price would cost more than it saves. */
const LARGEST_PRICE_STEP = decimalFromNumber(0.01);

export interface CoarserStep {
  readonly learnedSteps: NonNullable<LaneState['learnedSteps']>;
  /** For people: what follows. */
  readonly words: string;
}

/**
 * After a refusal for amount or price the step may be coarser than configured. `undefined`: it was refused for
 * something else, or no coarser step makes sense.
 */
export function coarserStep(
  reason: RejectionReason,
  { amount, activationPrice }: Pick<ReduceOnlyStopRequest, 'amount' | 'activationPrice'>,
  state: LaneState,
  settings: AccountSettings,
): CoarserStep | undefined {
  const configured = settings.marketSettings(state.market);
  const now = marketOf(state, settings);
  if (!isAboutStep(reason) || configured === undefined || now === undefined) return undefined;
  const next = toDecimal(now[reason]).times(TIMES_COARSER);
  const most = toDecimal(configured[reason]).times(MOST_TIMES_COARSER);
  const largest =
    reason === 'amountStep' ? toDecimal(amount) : toDecimal(activationPrice).times(LARGEST_PRICE_STEP);
  if (next.gt(most) || next.gt(largest)) return undefined;
  const step = formatDecimal(next);
  const what = reason === 'amountStep' ? 'an amount step' : 'a price step';
  return {
    learnedSteps: { ...state.learnedSteps, [reason]: step },
    words: `tried again with ${what} of ${step} instead of ${now[reason]}; correct \`markets\` in the config`,
  };
}

/** No step explains a refusal: that of the config counts again. */
export function forgetStep(state: LaneState, reason: RejectionReason): LaneState {
  if (!isAboutStep(reason) || state.learnedSteps?.[reason] === undefined) return state;
  const { [reason]: _, ...learnedSteps } = state.learnedSteps;
  return { ...state, learnedSteps };
}
