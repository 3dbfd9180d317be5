import { type AuditEvent, recorder } from '../audit/audit-event.ts';
import type { ApprovalSettings } from '../quantities/settings.ts';
import { waitingFrom } from './judge.ts';
import {
  type ApprovalQuestion,
  type Approvals,
  type AskedTarget,
  goesBeyond,
  latestOf,
  partsOf,
  referenceOf,
} from './question.ts';

/** What a stage would do if it needed no approval. */
export interface WantedStage {
  readonly targets: readonly AskedTarget[];
  /** Whether it is known what the stage would do. */
  readonly isReady: boolean;
  /** The exact orders and cancels, in words. */
  readonly orders: () => readonly string[];
}

export interface AskInputs {
  readonly accountId: string;
  /** By stage key. */
  readonly wanted: ReadonlyMap<string, WantedStage>;
  readonly settings: ApprovalSettings;
  /** A further reduction smaller than this fraction of what was asked does not ask again. */
  readonly tolerance: number;
  readonly nowMs: number;
}

/** A question to notify people of, and the orders it is about. */
export interface AskedQuestion {
  readonly question: ApprovalQuestion;
  readonly revision: number;
  readonly orders: readonly string[];
}

export interface AskedAll {
  readonly approvals: Approvals;
  readonly asked: readonly AskedQuestion[];
  readonly events: readonly AuditEvent[];
}

/** Only this many revisions, the newest, can still be answered. */
const MOST_ASKED = 8;

/** Asks new questions, and repeats those whose stage clearly exceeds what was asked or approved. */
export function askQuestions(approvals: Approvals, inputs: AskInputs): AskedAll {
  const { accountId, wanted, nowMs } = inputs;
  const audit = recorder(accountId, undefined, nowMs);
  const asked: AskedQuestion[] = [];
  const questions = approvals.questions.map((question) => {
    const stage = wanted.get(question.stageKey);
    const due = stage && askable(question, stage, inputs);
    if (due === undefined) return question;
    const revision = (latestOf(question)?.revision ?? 0) + 1;
    const all = [...due.asked, { revision, atMs: nowMs, targets: stage?.targets ?? [] }];
    const next: ApprovalQuestion = { ...due, askedMs: due.askedMs ?? nowMs, asked: all.slice(-MOST_ASKED) };
    const orders = stage?.orders() ?? [];
    asked.push({ question: next, revision, orders });
    audit.emit({
      kind: 'approvalAsked',
      key: question.stageKey,
      ruleId: partsOf(question).ruleId,
      reason: revision === 1 ? 'first' : 'again',
      words: `${referenceOf(question, revision)}: ${orders.join('; ')}`,
    });
    return next;
  });
  if (asked.length === 0) return { approvals, asked, events: [] };
  return { approvals: { ...approvals, questions }, asked, events: audit.events };
}

/** Returns the question to ask now; undefined if there is nothing to ask. */
function askable(
  question: ApprovalQuestion,
  stage: WantedStage,
  inputs: AskInputs,
): ApprovalQuestion | undefined {
  const { state, heldBack, askedMs, approved = [] } = question;
  const { targets, isReady } = stage;
  const isBeyond = (shown: readonly AskedTarget[]): boolean =>
    targets.some((target) => goesBeyond(target, shown, inputs.tolerance));
  if (state === 'approved') return isBeyond(approved) ? waitingFrom(question, inputs) : undefined;
  if (state !== 'waiting' || heldBack === true) return undefined;
  if (askedMs !== undefined) return isBeyond(latestOf(question)?.targets ?? []) ? question : undefined;
  if (!isReady) return undefined;
  // The time to answer starts when people are asked.
  return waitingFrom(question, inputs);
}
