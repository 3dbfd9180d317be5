import { type AccountFigures, type AccountView, emptyView } from '../../src/core/view/account-view.ts';
import { StateSeries, type ViewTimes } from '../../src/telemetry/metrics/state-gauges.ts';
import { CALM } from '../support/account-view.ts';

/** An account of which nothing is known but what is said here. */
export const viewOf = (accountId: string, changes: Partial<AccountView> = {}): AccountView => ({
  ...emptyView(accountId, CALM),
  mode: 'enforce',
  ...changes,
});

/** The series of accounts that are taken in the order of `places`. */
export function seriesOf(
  accounts: readonly AccountFigures[],
  times: ViewTimes,
  places: readonly number[] = accounts.map((_, index) => index),
): StateSeries {
  const series = new StateSeries(accounts.length);
  for (const place of places) series.take(place, accounts[place]!, times);
  return series;
}
