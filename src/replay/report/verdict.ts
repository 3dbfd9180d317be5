import { type AccountRecord, OWN_CONFIG, type RunRecord, UNPROTECTED } from '../record.ts';
import { variantWords } from '../summary.ts';
import { clock, counted, money, percent, span } from '../words.ts';

/** The main result of one account. */
export interface Verdict {
  readonly level: 'good' | 'warning' | 'critical' | 'plain';
  /** In a few words. */
  readonly title: string;
  /** In sentences. */
  readonly text: string;
}

/** Compares the outcomes of an account without and with rules, on one path. */
export function verdictOn(accountId: string, runs: readonly RunRecord[]): Verdict {
  const of = (variant: string) =>
    runs.find((run) => run.variant === variant)?.accounts.find(({ id }) => id === accountId);
  const protectedName = runs.find(({ variant }) => variant !== UNPROTECTED)?.variant ?? OWN_CONFIG;
  const [without, withRules] = [of(UNPROTECTED), of(protectedName)];
  const text = [
    without === undefined ? '' : fate(without, UNPROTECTED),
    withRules === undefined ? '' : fate(withRules, protectedName),
  ];
  return { ...judged(without, withRules), text: text.filter((sentence) => sentence !== '').join(' ') };
}

function judged(
  without: AccountRecord | undefined,
  withRules: AccountRecord | undefined,
): Pick<Verdict, 'level' | 'title'> {
  const dies = without?.liquidatedAtMs !== null && without !== undefined;
  const diesAnyway = withRules?.liquidatedAtMs !== null && withRules !== undefined;
  if (diesAnyway) {
    const title = dies ? 'Liquidated in spite of the rules' : 'Liquidated with the rules only';
    return { level: 'critical', title };
  }
  if (dies) return { level: 'good', title: 'Kept from liquidation' };
  if ((withRules?.closedFraction ?? 0) === 0) return { level: 'plain', title: 'Was never in need' };
  const cost = (without?.equityEnd ?? 0) - (withRules?.equityEnd ?? 0);
  return cost > 0
    ? { level: 'warning', title: 'Would have come through: hindsight says the closing was a cost' }
    : { level: 'good', title: 'Would have come through, with less' };
}

function fate(account: AccountRecord, variant: string): string {
  const name = variantWords(variant);
  const opening = `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const { liquidatedAtMs, closedFraction, orders, breachToFillMs, fees, slippage } = account;
  const end = `${left(account)}.`;
  if (liquidatedAtMs !== null) {
    const tried =
      orders > 0 ? `, after ${counted(orders, 'order')} that closed ${percent(closedFraction)}` : '';
    return `${opening} it was liquidated at ${clock(liquidatedAtMs)} UTC${tried}; ${end}`;
  }
  if (orders === 0) return `${opening} it came through; ${end}`;
  const fastest =
    breachToFillMs.length === 0
      ? ''
      : `, the first fill ${span(Math.min(...breachToFillMs))} after the breach`;
  const cost = `${money(fees)} ${account.money} in fees and ${money(slippage)} ${account.money} in slippage`;
  return `${opening} it came through: ${counted(orders, 'order')} closed ${percent(closedFraction)} of what it held${fastest}, for ${cost}; ${end}`;
}

function left({ equityStart, equityEnd, money: currency }: AccountRecord): string {
  const share = equityStart === 0 ? '' : ` (${percent(equityEnd / equityStart)})`;
  return `${money(equityEnd)} of ${money(equityStart)} ${currency} was left${share}`;
}
