import type { AccountSettings } from '../quantities/settings.ts';
import { MS_PER_MINUTE } from '../quantities/units.ts';
import { type Danger, type Motion, outlookOf } from './forecast.ts';

/**
 * How far a market may move against a position within a minute, a fraction: the worst minutes of 2020, 2021 and 2025
 * moved 6 to 10 %. Every estimate of the remaining time assumes at least this, however calm the market is.
 */
export const WORST_MINUTE_MOVE = 0.1;

/** Distance to liquidation; `motion` undefined: unknown. */
export interface Margin {
  /** A fraction of the price, or of the value of the collateral. */
  readonly distance: number;
  readonly dangerous: Danger;
  readonly motion: Motion | undefined;
}

/** True if liquidation may come within a time, at the present speed or at that of the worst minutes. */
export function mayComeWithin({ distance, dangerous, motion }: Margin, withinMs: number): boolean {
  const worst = (WORST_MINUTE_MOVE * withinMs) / MS_PER_MINUTE;
  const present = motion === undefined ? 0 : outlookOf(motion, dangerous, withinMs).adverseMove;
  return distance <= Math.max(worst, present);
}

/** Time that acting takes without approval: one poll, one request without an answer, two orders that do not fill. */
export function actingMs(
  settings: Pick<AccountSettings, 'cadence' | 'lateArrivalMs' | 'fillWithinMs'>,
): number {
  return settings.cadence.alertMs + settings.lateArrivalMs + 2 * settings.fillWithinMs;
}

/** How long a distance lasts at the speed of the worst minutes, milliseconds. */
export function worstCaseMs(distance: number): number {
  return (distance / WORST_MINUTE_MOVE) * MS_PER_MINUTE;
}
