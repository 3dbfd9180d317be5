import { z } from 'zod';
import type { Kinds } from '../schema/parts.ts';

/** The kinds of things that rules are about. */
export type SubjectKind = 'position' | 'creditLine' | 'account';

export const severitySchema = z.enum(['info', 'warning', 'critical']);
export type Severity = z.output<typeof severitySchema>;

/** Larger is more severe. */
export const SEVERITY_RANKS: Readonly<Record<Severity, number>> = { info: 1, warning: 2, critical: 3 };

/** `approve`: a person is asked before a rule acts; actions that need no approval act as in `enforce`. */
export const modeSchema = z.enum(['observe', 'approve', 'enforce']);
export type Mode = z.output<typeof modeSchema>;

/** The mode of actions without approval, such as standing stops and operator orders. */
export function unaskedMode(mode: Mode): Exclude<Mode, 'approve'> {
  return mode === 'approve' ? 'enforce' : mode;
}

/**
 * `below` fires strictly below the threshold and stays true until strictly above `clearAbove` (default: until not
 * below); `above` mirrors it.
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
      /** For fields with parameters: the asset of `mainBalance`, the money of a total, a window. */
      readonly parameter?: FieldParameter;
      readonly comparison: Comparison;
    };

export interface FieldParameter {
  readonly asset?: string;
  readonly source?: string;
  readonly windowMs?: number;
}

/** Selects the subjects of a rule by globs with `*` and `?`: each list means "or", all keys together mean "and". */
export interface SubjectFilter {
  readonly market?: readonly string[];
  readonly direction?: 'long' | 'short';
  readonly asset?: readonly string[];
  readonly positionId?: readonly string[];
}

/** Target of a reduction. Fractions refer to the size when the rule fired, unless stated otherwise. */
export type ReduceTarget =
  | { readonly kind: 'by'; readonly fraction: number }
  | { readonly kind: 'to'; readonly fraction: number }
  /** In the market's money currency, at the mark price when the rule fired; a decimal text. */
  | { readonly kind: 'toNotional'; readonly notional: string }
  | { readonly kind: 'untilDistance'; readonly distance: number }
  /** For the whole account: until all markets together are this far from liquidation. */
  | { readonly kind: 'untilJointDistance'; readonly distance: number }
  /** For the whole account: until positions use at most this part of the funds in one money currency. */
  | { readonly kind: 'untilMarginUsage'; readonly asset: string; readonly usage: number };

/** One step of a ladder of standing stops. */
export interface Rung {
  /** Activation when placed, between mark (0) and liquidation (1). */
  readonly at: number;
  /** Fraction of the size left by it and the rungs before it. */
  readonly leave: number;
}

export type ActionSpec = Kinds<{
  reduce: {
    target: ReduceTarget;
    /** Slippage of successive attempts, as fractions; the last one applies to all later attempts. */
    slippageSteps: readonly number[];
    /** In an account or credit-line rule: globs of the markets whose positions are reduced. */
    positions?: readonly string[];
  };
  protect: {
    /** Activation of the stop when placed, between mark (0) and liquidation (1). */
    at: number;
    slippage: number;
    /** Several stops, nearest first; `at` is that of the first. Absent: one for the whole position. */
    ladder?: readonly Rung[];
    positions?: readonly string[];
  };
  cancelAll: { types: readonly ('spot' | 'margin' | 'futures')[]; scope: 'market' | 'account' };
  /** `cure`: target LTVs for which a credit-line notice includes the cure. */
  notify: { channels: readonly string[]; cure: readonly number[] };
}>;

export interface EscalationStage {
  /** Time since firing began, counted only while the condition itself holds. */
  readonly afterMs: number;
  readonly actions: readonly ActionSpec[];
}

export interface RuleLimits {
  /** Minimum time from the end of one episode to the start of the next that acts. */
  readonly cooldownMs?: number;
  /** Episodes of one subject that may act within any hour. */
  readonly perHour?: number;
}

/** On these days from `from` to `to` (until the next day if `to` is earlier), in `tz`. */
export interface ActiveWindow {
  /** 0 is Sunday, as in ECMAScript; the day on which the window starts. */
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
  /** Covers everything that decides; see also `identityOf`. */
  readonly checksum: string;
}
