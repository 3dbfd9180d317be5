/** What a rule judges. */
export type SubjectKind = 'position' | 'creditLine' | 'account';

export type Severity = 'info' | 'warning' | 'critical';
/** `approve`: a person is asked before a rule acts; what needs nobody's approval acts as in `enforce`. */
export type Mode = 'observe' | 'approve' | 'enforce';

/** The mode of what nobody is asked about, such as standing stops and orders by hand. */
export function unaskedMode(mode: Mode): Exclude<Mode, 'approve'> {
  return mode === 'approve' ? 'enforce' : mode;
}

/**
 * `below` fires strictly below and stays true until strictly above `clearAbove` (default: not below); `above` mirrors
 * it.
 */
export type Comparison =
  | { readonly op: 'below'; readonly threshold: number; readonly clearAbove?: number }
  | { readonly op: 'above'; readonly threshold: number; readonly clearBelow?: number }
  | { readonly op: 'equals'; readonly value: FieldValue }
  | { readonly op: 'in'; readonly values: readonly FieldValue[] };

export type FieldValue = number | string | boolean;

export type ConditionSpec =
  | { readonly kind: 'all'; readonly conditions: readonly ConditionSpec[] }
  | { readonly kind: 'any'; readonly conditions: readonly ConditionSpec[] }
  | { readonly kind: 'not'; readonly condition: ConditionSpec }
  | {
      readonly kind: 'field';
      /** Name in the field catalogue. */
      readonly field: string;
      /** For fields that take one: the asset of `mainBalance`, the money of a total, a window. */
      readonly parameter?: FieldParameter;
      readonly comparison: Comparison;
    };

export interface FieldParameter {
  readonly asset?: string;
  readonly source?: string;
  readonly windowMs?: number;
}

/** Which subjects a rule looks at; globs with `*` and `?`, each list is an "or", all keys together an "and". */
export interface SubjectFilter {
  readonly market?: readonly string[];
  readonly direction?: 'long' | 'short';
  readonly asset?: readonly string[];
  readonly positionId?: readonly string[];
}

/** Where a position is to be reduced to. Fractions of the size when the rule fired, unless said otherwise. */
export type ReduceTarget =
  | { readonly kind: 'by'; readonly fraction: number }
  | { readonly kind: 'to'; readonly fraction: number }
  /** In the market's money currency, at the mark price when the rule fired; a decimal text. */
  | { readonly kind: 'toNotional'; readonly notional: string }
  | { readonly kind: 'untilDistance'; readonly distance: number }
  /** For the account as a whole: until all markets together are this far from liquidation. */
  | { readonly kind: 'untilJointDistance'; readonly distance: number }
  /** For the account as a whole: until positions take up no more of the funds in one money currency. */
  | { readonly kind: 'untilMarginUsage'; readonly asset: string; readonly usage: number };

/** One step of a ladder of standing stops. */
export interface Rung {
  /** Where between mark (0) and liquidation (1) it activates when it is placed. */
  readonly at: number;
  /** What it and the ones before it leave of the size, a fraction. */
  readonly leave: number;
}

export type ActionSpec =
  | {
      readonly kind: 'reduce';
      readonly target: ReduceTarget;
      /** Slippage of each attempt in turn, as fractions; the last one is kept for all later attempts. */
      readonly slippageSteps: readonly number[];
      /** From an account or credit-line rule: globs of the markets whose positions are reduced. */
      readonly positions?: readonly string[];
    }
  | {
      readonly kind: 'protect';
      /** Where between mark (0) and liquidation (1) the stop activates when it is placed. */
      readonly at: number;
      readonly slippage: number;
      /** Several stops instead, nearest first; `at` is that of the first. Absent: one for the whole position. */
      readonly ladder?: readonly Rung[];
      readonly positions?: readonly string[];
    }
  | {
      readonly kind: 'cancelAll';
      readonly types: readonly ('spot' | 'margin' | 'futures')[];
      readonly scope: 'market' | 'account';
    }
  | {
      readonly kind: 'notify';
      readonly channels: readonly string[];
      /** Target LTVs for which a credit-line alert carries the cure. */
      readonly cure: readonly number[];
    };

export interface EscalationStage {
  /** Since firing began, counted only while the condition itself holds. */
  readonly afterMs: number;
  readonly actions: readonly ActionSpec[];
}

export interface RuleLimits {
  /** Least time from the end of one episode to the start of the next that acts. */
  readonly cooldownMs?: number;
  /** Episodes of one subject that may act within any hour. */
  readonly perHour?: number;
}

/** In human terms: on these days from `from` to `to` (to the next morning when `to` is earlier), in `tz`. */
export interface ActiveWindow {
  /** 0 is Sunday, as in ECMAScript; the day is the one on which the window begins. */
  readonly days: readonly number[];
  /** Minutes since local midnight. */
  readonly fromMinute: number;
  readonly toMinute: number;
  /** IANA time zone. */
  readonly timeZone: string;
}

export interface RuleSpec {
  readonly id: string;
  readonly on: SubjectKind;
  readonly where: SubjectFilter;
  readonly when: ConditionSpec;
  readonly forMs: number;
  readonly keepFiringForMs: number;
  readonly actions: readonly ActionSpec[];
  /** Stages 1, 2, ..., by rising `afterMs`. */
  readonly escalate: readonly EscalationStage[];
  readonly limits: RuleLimits;
  readonly severity: Severity;
  readonly labels: Readonly<Record<string, string>>;
  /** Overrides the account's mode. */
  readonly mode?: Mode;
  readonly activeWindow?: ActiveWindow;
  /** Of everything that decides; a rule whose checksum changed starts fresh. */
  readonly checksum: string;
}
