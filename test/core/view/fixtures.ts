import { NO_CONTROLS } from '../../../src/core/controls/controls.ts';
import type { AccountDocuments, StoredAccount } from '../../../src/core/ports/state-store.ts';
import type { Snapshot } from '../../../src/core/quantities/snapshot.ts';
import { type AccountState, emptyAccountState } from '../../../src/core/rules/account-state.ts';
import { type CompiledRules, compileRules } from '../../../src/core/rules/compiled-rules.ts';
import { type Evaluation, evaluate } from '../../../src/core/rules/evaluate.ts';
import type { RuleSpec } from '../../../src/core/rules/rule.ts';
import type { AccountFigures, AccountView } from '../../../src/core/view/account-view.ts';
import { figuresOf } from '../../../src/core/view/stored-figures.ts';
import { accountFigures, type ViewInputs, viewAccount } from '../../../src/core/view/view-account.ts';
import { settings } from '../rules/fixtures.ts';

/** An account after polls: evaluated from each snapshot, and stored as a poll stores it. */
export interface Polled {
  readonly rules: CompiledRules;
  readonly evaluation: Evaluation;
  readonly stored: StoredAccount;
}

export const storedWith = (
  documents: AccountDocuments,
  changes: Partial<StoredAccount> = {},
): StoredAccount => ({
  accountId: 'desk-1',
  version: 1,
  epoch: { id: 'life1', why: 'empty', sinceMs: 0 },
  isNewEpoch: false,
  documents,
  lanes: new Map(),
  danger: 0.5,
  revision: 'r',
  ...changes,
});

export function poll(
  specs: readonly RuleSpec[],
  snapshots: readonly Snapshot[],
  changes: Parameters<typeof settings>[0] = {},
): Polled {
  const rules = compileRules(specs, settings(changes));
  let state: AccountState = emptyAccountState('desk-1');
  let evaluation: Evaluation | undefined;
  let figures: AccountDocuments['figures'];
  for (const taken of snapshots) {
    evaluation = evaluate({ snapshot: taken, state, now: taken.at }, rules);
    ({ state } = evaluation);
    figures = figuresOf(taken, rules.settings);
  }
  if (evaluation === undefined || figures === undefined) throw new Error('no snapshot');
  const documents = { evaluation: state, figures, ...readingsOf(snapshots.at(-1)!) };
  // Through JSON, as through the store: the view is made from what was stored.
  return { rules, evaluation, stored: storedWith(JSON.parse(JSON.stringify(documents)) as AccountDocuments) };
}

function readingsOf({ at, sources }: Snapshot): Pick<AccountDocuments, 'readings'> {
  const { positions: _positions, creditLine: _creditLine, ...seldom } = sources;
  return Object.keys(seldom).length === 0 ? {} : { readings: { version: 2, at, sources: seldom } };
}

export function view(polled: Polled, changes: Partial<ViewInputs> = {}): AccountView {
  return viewAccount({ ...inputsOf(polled), ...changes });
}

/** The inputs of the state gauges. */
export function figures(polled: Polled, changes: Partial<ViewInputs> = {}): AccountFigures {
  const found = accountFigures({ ...inputsOf(polled), ...changes });
  const rules = found.rules.map(({ ruleId, subject, severity, phase, frozen, sinceMs }) => {
    return { ruleId, subject, severity, phase, frozen, sinceMs };
  });
  return { ...found, rules };
}

function inputsOf({ rules, stored }: Polled): ViewInputs {
  const nowMs = stored.documents.evaluation?.passage?.at.wallMs ?? 0;
  return { load: { kind: 'loaded', account: stored }, rules, controls: NO_CONTROLS, nowMs };
}
