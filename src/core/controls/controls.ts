import { figure } from '../fields/field-words.ts';
import type { ReduceTarget } from '../rules/rule.ts';
import type { SubjectKey } from '../rules/subject.ts';

/**
 * What operators hold back and ask for. Controls travel with every read of a bucket, and commits can depend on them.
 */

/** Who did something by hand, why, and when (Unix milliseconds). */
export interface Authored {
  readonly author: string;
  readonly reason: string;
  readonly atMs: number;
  /** Proves that it was said by somebody with the operators' key; see `OperatorTrust`. */
  readonly seal?: string;
}

/** No actions; `accountId: null` is everywhere. */
export interface Pause extends Authored {
  readonly kind: 'pause';
  readonly id: string;
  readonly accountId: string | null;
  /** Unix milliseconds; null: until it is lifted. */
  readonly expiresAtMs: number | null;
}

/** No actions and no notifications of one rule, for all its subjects (`subject: null`) or for one. */
export interface Silence extends Authored {
  readonly kind: 'silence';
  readonly id: string;
  readonly accountId: string | null;
  readonly ruleId: string;
  readonly subject: SubjectKey | null;
  readonly expiresAtMs: number;
}

/**
 * Somebody sees to what people were told of: no reminders and no escalation to others, until it is over or gets worse.
 * Actions go on.
 */
export interface Acknowledgement extends Authored {
  readonly kind: 'acknowledgement';
  readonly id: string;
  /** null: what it is about concerns no account. */
  readonly accountId: string | null;
  readonly ruleId: string;
  readonly subject: SubjectKey;
  /** See `episodeOf`. */
  readonly episode: number;
  /** The highest that was reached by then: a higher one is worse. */
  readonly stage: number;
  readonly expiresAtMs: number;
}

export type Control = Pause | Silence | Acknowledgement;

/** The controls that concern one bucket of accounts. */
export interface Controls {
  /** Changes with every change of the controls. */
  readonly stamp: string;
  readonly entries: readonly Control[];
}

export const NO_CONTROLS: Controls = { stamp: '', entries: [] };

/** The controls that hold for one account now. */
export interface ControlsInForce {
  /** The pause that ends last, if any. */
  readonly pause: Pause | undefined;
  /** Rules that are silent for all of their subjects. */
  readonly silencedRules: readonly string[];
  /** Every silence in force, also those for one subject only. */
  readonly silences: readonly Silence[];
  readonly acknowledgements: readonly Acknowledgement[];
}

export const NOTHING_IN_FORCE: ControlsInForce = {
  pause: undefined,
  silencedRules: [],
  silences: [],
  acknowledgements: [],
};

/** `nowMs` by the store's clock where there is one: the wall clock of a process may say anything. */
export function controlsInForce(controls: Controls, accountId: string, nowMs: number): ControlsInForce {
  if (controls.entries.length === 0) return NOTHING_IN_FORCE;
  let pause: Pause | undefined;
  const silences: Silence[] = [];
  const acknowledgements: Acknowledgement[] = [];
  for (const control of controls.entries) {
    const concerns = control.accountId === null || control.accountId === accountId;
    if (!concerns || hasExpired(control, nowMs)) continue;
    if (control.kind === 'silence') silences.push(control);
    else if (control.kind === 'acknowledgement') acknowledgements.push(control);
    else if (pause === undefined || endOf(control) > endOf(pause)) pause = control;
  }
  const silencedRules = silences.filter(({ subject }) => subject === null).map(({ ruleId }) => ruleId);
  return { pause, silencedRules: [...new Set(silencedRules)], silences, acknowledgements };
}

export function hasExpired(control: Control, nowMs: number): boolean {
  return control.expiresAtMs !== null && nowMs >= control.expiresAtMs;
}

function endOf(control: Control): number {
  return control.expiresAtMs ?? Number.POSITIVE_INFINITY;
}

/** Whether a rule is silent for one subject. */
export function isSilenced(inForce: ControlsInForce, ruleId: string, subject: SubjectKey): boolean {
  return inForce.silences.some(
    (silence) => silence.ruleId === ruleId && (silence.subject === null || silence.subject === subject),
  );
}

/** Of which episode somebody was told; `stage` is the highest that it has reached. */
export type EpisodeStage = Pick<Acknowledgement, 'ruleId' | 'subject' | 'episode' | 'stage'>;

/** Names an episode: its number; what is told without a rule has none, and is named by when it began. */
export function episodeOf({
  episode,
  sinceMs,
}: {
  readonly episode: number;
  readonly sinceMs: number;
}): number {
  return episode === 0 ? sinceMs : episode;
}

/** Who sees to an episode, if somebody does and it has not got worse since. */
export function acknowledgementOf(
  acknowledgements: readonly Acknowledgement[],
  { ruleId, subject, episode, stage }: EpisodeStage,
): Acknowledgement | undefined {
  return acknowledgements.find(
    (one) =>
      one.ruleId === ruleId && one.subject === subject && one.episode === episode && one.stage >= stage,
  );
}

/** Asked for by hand; goes the way of a rule's intents, gate included. */
export type OperatorOrder = Authored & {
  /** Unique; part of client order ids: letters and digits. */
  readonly id: string;
  /** Not begun after this, Unix milliseconds. */
  readonly expiresAtMs: number;
} & (
    | {
        readonly kind: 'reduce';
        /** Positions by id, or globs of markets; exactly one of the two. */
        readonly positionId?: string;
        readonly markets?: readonly string[];
        readonly target: ReduceTarget;
        readonly slippageSteps: readonly number[];
        /** Also where it raises the net exposure of its market. */
        readonly flatten: boolean;
        /** Closes whichever way the market moves, by a stop on either side of it; with `flatten` only. */
        readonly urgent?: true;
      }
    | {
        /** Withdraws an earlier order of this inbox, begun or not. */
        readonly kind: 'withdraw';
        readonly orderId: string;
      }
    | {
        /** Answers what people were asked, as it stood in that revision. */
        readonly kind: 'answer';
        readonly decision: 'approve' | 'veto';
        readonly questionId: string;
        readonly revision: number;
      }
  );

/** What the audit notes of an order by hand that means no position which is open now. */
export const NOTHING_MEANT = 'no open position is meant by the order';

/** Why an order by hand is refused for its slippage; undefined: it is within the bound, or none is known. */
export function slippageFault(steps: readonly number[], maxSlippage: number | undefined): string | undefined {
  const largest = Math.max(0, ...steps);
  if (maxSlippage === undefined || largest <= maxSlippage) return undefined;
  return `a slippage of ${figure(largest, 'ratio')} is beyond operators.maxSlippage (${figure(maxSlippage, 'ratio')})`;
}

/** Orders that wait to be turned into intents: a document of the account, emptied by the commit that does so. */
export interface Inbox {
  readonly version: 1;
  readonly orders: readonly OperatorOrder[];
  /** How many were left out as they are no orders; never stored. */
  readonly unread?: number;
}

/** More orders than this do not wait at once. */
export const MAX_INBOX_ORDERS = 64;

/** More pauses and silences than this are not in force at once. */
export const MAX_CONTROLS = 512;

/** Of more acknowledgements than this the oldest are let go: they must not keep a pause out. */
export const MAX_ACKNOWLEDGEMENTS = 256;

/** It ends with its episode, and at the latest after this: somebody who forgot is reminded. */
export const LONGEST_ACKNOWLEDGED_MS = 7 * 86_400_000;
