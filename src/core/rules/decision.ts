import type { UnknownReason } from '../quantities/quantity.ts';
import type { DecisionReason } from './reason.ts';
import type { Phase, RuleChange } from './rule-state.ts';
import type { ActionRequest, SubjectKey } from './subject.ts';

/** State of one rule for one subject after an evaluation, and why; `explain` puts it in words. */
export interface Decision {
  readonly ruleId: string;
  readonly subject: SubjectKey;
  readonly phase: Phase;
  readonly reason: DecisionReason;
  /** For `frozenByUnknown`, if the whole subject cannot be evaluated. */
  readonly unknown?: UnknownReason;
}

/** A figure that rules need and that the reads do not show. */
export interface UnknownFigure {
  readonly subject: SubjectKey;
  /** In words; undefined: the whole subject cannot be evaluated. */
  readonly figure: string | undefined;
  readonly why: UnknownReason;
}

/** Reasons that pass by themselves, lie in the config or are told otherwise: nobody is blind for them. */
export const NO_BLINDNESS: ReadonlySet<UnknownReason> = new Set<UnknownReason>([
  'notRead',
  'stale',
  'zeroSize',
  'disagreement',
  'listIncomplete',
  'zeroUncertain',
  'presumedClosed',
  'tooFewSamples',
  'currenciesDiffer',
  'marketNotConfigured',
]);

/** A state change, with the figures that caused it. */
export interface Transition
  extends RuleChange,
    Pick<ActionRequest, 'ruleId' | 'ruleChecksum' | 'subject' | 'mode' | 'severity' | 'atMs'> {
  readonly words: string;
  readonly labels: Readonly<Record<string, string>>;
}
