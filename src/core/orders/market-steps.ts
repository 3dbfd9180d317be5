import type { RejectionReason } from '../audit/audit-event.ts';
import type { LaneState, Learned } from '../lanes/lane-state.ts';
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

/** Returns the configured settings with learned steps and the implied maintenance rate, where coarser or higher. */
export function marketOf(
  { market, learned = {} }: Pick<LaneState, 'market' | 'learned'>,
  settings: AccountSettings,
): MarketSettings | undefined {
  const configured = settings.marketSettings(market);
  if (configured === undefined) return undefined;
  const { amountStep = configured.amountStep, priceStep = configured.priceStep } = learned;
  return {
    ...configured,
    amountStep: coarser(amountStep, configured.amountStep),
    priceStep: coarser(priceStep, configured.priceStep),
    maintenanceMargin: worseRate(configured.maintenanceMargin, learned.maintenance),
  };
}

export function learn(state: LaneState, news: Learned): LaneState {
  return { ...state, learned: { ...state.learned, ...news } };
}

/** The settings of an account with what its lanes have learned of their markets. */
export function settingsWith(
  lanes: ReadonlyMap<string, LaneState>,
  settings: AccountSettings,
): AccountSettings {
  return { ...settings, marketSettings: (market) => marketOf(lanes.get(market) ?? { market }, settings) };
}

/** Two pairs of liquidation prices must agree: a deposit may lie between those of one pair. */
function worseRate(configured: number, learned: Learned['maintenance']): number {
  if (learned === undefined || learned.agreeing < 2 || learned.low <= configured) return configured;
  return (learned.low + learned.high) / 2;
}

const coarser = (a: DecimalString, b: DecimalString): DecimalString =>
  formatDecimal(maxDecimal(toDecimal(a), toDecimal(b)));

const TIMES_COARSER = toDecimal('10' as DecimalString);
/** Three decimal places: a refusal beyond them has another cause. */
const MOST_TIMES_COARSER = toDecimal('1000' as DecimalString);
/** Largest price step, a fraction of the price: a coarser one would cost more than it saves. */
const LARGEST_PRICE_STEP = decimalFromNumber(0.01);

export interface CoarserStep {
  readonly learned: Learned;
  /** What happens next, for people. */
  readonly words: string;
}

/** Returns a coarser step to try after a refusal; `undefined` if it had another cause or no step makes sense. */
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
    learned: { [reason]: step },
    words: `tried again with ${what} of ${step} instead of ${now[reason]}; correct \`markets\` in the config`,
  };
}

/** Returns to the configured step, as no step explains the refusal. */
export function forgetStep(state: LaneState, reason: RejectionReason): LaneState {
  if (!isAboutStep(reason) || state.learned?.[reason] === undefined) return state;
  return learn(state, { [reason]: undefined });
}
