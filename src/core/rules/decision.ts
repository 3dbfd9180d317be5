import type { UnknownReason } from '../quantities/quantity.ts';
import type { DecisionReason, TransitionReason } from './reason.ts';
import type { Mode, Severity } from './rule.ts';
import type { Phase } from './rule-state.ts';
import type { SubjectKey } from './subject.ts';

/** State of one rule for one subject after an evaluation, and why; `explain` puts it in words. */
export interface Decision {
  readonly ruleId: string;
  readonly subject: SubjectKey;
  readonly phase: Phase;
  readonly reason: DecisionReason;
  /** For `frozenByUnknown`, if the whole subject cannot be evaluated. */
  readonly unknown?: UnknownReason;
}

/** A state change, with the figures that caused it. */
export interface Transition {
  readonly ruleId: string;
  readonly ruleChecksum: string;
  readonly subject: SubjectKey;
  readonly episode: number;
  readonly from: Phase;
  readonly to: Phase;
  readonly reason: TransitionReason;
  readonly stage?: number;
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly words: string;
  readonly mode: Mode;
  readonly severity: Severity;
  readonly labels: Readonly<Record<string, string>>;
}
