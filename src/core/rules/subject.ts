import type { ActionSpec, Mode, Severity, SubjectKind } from './rule.ts';

/** Identifies a subject across polls: `position:42`, `creditLine:BTC@1700000000`, `account`. */
export type SubjectKey = string;

export type Direction = 'long' | 'short';

/** `none` is the API's null, `unrecognised` an undocumented value. */
export type LiquidationStateValue = 'none' | 'margin_call' | 'liquidation' | 'unrecognised';

/** An action that evaluation requests: one action of one stage of one episode. Plain data, audited. */
export interface ActionRequest {
  readonly accountId: string;
  readonly ruleId: string;
  readonly ruleChecksum: string;
  readonly subjectKind: SubjectKind;
  readonly subject: SubjectKey;
  readonly episode: number;
  /** 0 is the rule's own `do`, 1.. its escalation stages. */
  readonly stage: number;
  /** Index within the stage's actions. */
  readonly actionIndex: number;
  readonly action: ActionSpec;
  readonly mode: Mode;
  readonly severity: Severity;
  /** When this stage started, Unix milliseconds. */
  readonly atMs: number;
  /** Why this stage acts, in words with figures. */
  readonly because: string;
  /** True if the state is margin_call, liquidation or unrecognised: limits do not hold the action back. */
  readonly exemptFromLimits: boolean;
  /** The condition no longer holds, the rule is only kept firing; absent: it holds. */
  readonly hasCleared?: boolean | undefined;
  /** An episode that begins within this time of the end of the last one continues it; absent: none does. */
  readonly continuesForMs?: number | undefined;
}
