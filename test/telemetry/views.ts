import { type AccountFigures, type AccountView, emptyView } from '../../src/core/view/account-view.ts';
import { StateSeries, type ViewTimes } from '../../src/telemetry/metrics/state-gauges.ts';
import { CALM } from '../support/account-view.ts';

/** The view of an account with only the given data. */
export const viewOf = (accountId: string, changes: Partial<AccountView> = {}): AccountView => ({
  ...emptyView(accountId, CALM),
  mode: 'enforce',
  ...changes,
});

/** Series of the accounts, taken in the order of `places`. */
export function seriesOf(
  accounts: readonly AccountFigures[],
  times: ViewTimes,
  places: readonly number[] = accounts.map((_, index) => index),
): StateSeries {
  const series = new StateSeries();
  for (const place of places) series.take(place, accounts[place]!, times);
  return series;
}
