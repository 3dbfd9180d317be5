import type { Snapshot } from '../../core/quantities/snapshot.ts';
import type { Evaluation } from '../../core/rules/evaluate.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import { figuresOf } from '../../core/view/stored-figures.ts';
import { viewAccount } from '../../core/view/view-account.ts';
import type { ActingInputs } from '../act/lane-at-rest.ts';
import type { Acted } from '../act/route-decisions.ts';

/** The account as the page and `status` will show it once this evaluation is committed; computed at the first call. */
export function accountAfter(
  { account, stored, observation, controls, now }: ActingInputs,
  snapshot: Snapshot,
  evaluation: Evaluation,
  acted: Acted,
): () => AccountView {
  const made = (): AccountView => {
    const documents = {
      ...stored.documents,
      evaluation: evaluation.state,
      ...acted.documents,
      ...(observation.readings === undefined ? {} : { readings: observation.readings }),
      figures: figuresOf(snapshot, account.rules.settings, observation.failures),
    };
    const lanes = new Map(stored.lanes);
    for (const [market, lane] of acted.lanes) {
      if (lane === null) lanes.delete(market);
      else lanes.set(market, lane);
    }
    return viewAccount({
      load: { kind: 'loaded', account: { ...stored, documents, lanes } },
      rules: account.rules,
      controls,
      nowMs: now.wallMs,
    });
  };
  let view: AccountView | undefined;
  return () => {
    view ??= made();
    return view;
  };
}
