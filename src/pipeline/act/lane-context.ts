import { byStage } from '../../core/approvals/question.ts';
import type { ControlsInForce } from '../../core/controls/controls.ts';
import type { LaneContext } from '../../core/intents/admission.ts';
import { admitEpisodes, EMPTY_LEDGER, type GateContext, type LimitInputs } from '../../core/intents/gate.ts';
import { approvalsOnClock, type LaneMoment, ledgerOnClock } from '../../core/lanes/lane-clock.ts';
import { orderRecordOf } from '../../core/orders/cancel-policy.ts';
import type { StoredAccount } from '../../core/ports/state-store.ts';
import type { Mode } from '../../core/rules/rule.ts';
import type { WatchedAccount } from '../pipeline-context.ts';

interface Asked extends Pick<LimitInputs, 'active' | 'conclusive'> {
  readonly questions?: GateContext['questions'];
}

export function limitInputs(
  account: WatchedAccount,
  inForce: ControlsInForce,
  { active, conclusive, questions }: Asked,
): LimitInputs {
  return {
    active,
    conclusive,
    limitsOf: (ruleId) => account.rules.byId.get(ruleId)?.spec.limits ?? {},
    gate: { ...heldBack(inForce), ...(questions === undefined ? {} : { questions }) },
  };
}

function heldBack({ pause, silencedRules, silences }: ControlsInForce): LimitInputs['gate'] {
  const silencedSubjects = silences.flatMap(({ ruleId, subject }) =>
    subject === null ? [] : [{ ruleId, subject }],
  );
  return { paused: pause !== undefined, silencedRules, silencedSubjects };
}

/** Approval questions by stage, on the present clock; undefined: none. */
export function questionsOf(
  { approvals }: Pick<StoredAccount['documents'], 'approvals'>,
  moment: LaneMoment,
): GateContext['questions'] {
  return approvals === undefined ? undefined : byStage(approvalsOnClock(approvals, moment));
}

/** The gate as of now. The account's mode decides for an order whose rule is gone. */
export function laneContext(
  account: WatchedAccount,
  { documents, lanes, epoch }: Pick<StoredAccount, 'documents' | 'lanes' | 'epoch'>,
  inForce: ControlsInForce,
  moment: LaneMoment,
): LaneContext {
  const { settings } = account.rules;
  const active = documents.requests?.active ?? [];
  const inputs = limitInputs(account, inForce, {
    active,
    conclusive: false,
    questions: questionsOf(documents, moment),
  });
  const ledger = ledgerOnClock(documents.limits ?? EMPTY_LEDGER, moment);
  const { limited } = admitEpisodes(ledger, inputs, moment.nowMs);
  return {
    settings,
    orders: orderRecordOf([...lanes.values()].filter((lane) => lane.epoch === epoch.id)),
    gate: {
      ...inputs.gate,
      isShared: documents.requests?.sharedWith !== undefined,
      limited,
      modeOf: (ruleId): Mode => account.rules.byId.get(ruleId)?.mode ?? settings.mode,
    },
  };
}
