import { z } from 'zod';
import { figure } from '../fields/field-words.ts';
import type { SubjectKey } from '../rules/subject.ts';
import { type Immutable, named, type OutputOf, timeMs } from '../schema/parts.ts';
import type { operatorOrderSchema } from './operator-schemas.ts';

/** Controls and orders of operators. Every read of a bucket includes its controls, and commits can depend on them. */

/** Author, reason and time of something done by hand (Unix milliseconds). */
const authored = {
  author: z.string(),
  reason: z.string(),
  atMs: timeMs(),
  /** Proves that the author had the operators' key; see `OperatorTrust`. */
  seal: z.string().exactOptional().describe('Where there is an `operators.key`: made with it.'),
};
export type Authored = Immutable<z.output<z.ZodObject<typeof authored>>>;

/** Stops all actions. */
export const pauseSchema = named({ id: 'Pause', description: 'No actions.' }, () => ({
  kind: z.literal('pause'),
  id: z.string(),
  accountId: z.string().nullable().describe('null: everywhere.'),
  expiresAtMs: timeMs().nullable().describe('Unix milliseconds; null: until it is lifted.'),
  ...authored,
}));
export type Pause = OutputOf<typeof pauseSchema>;

/** Stops actions and notices of one rule. */
export const silenceSchema = named(
  { id: 'Silence', description: 'No actions and no notifications of one rule.' },
  () => ({
    kind: z.literal('silence'),
    id: z.string(),
    accountId: z.string().nullable().describe('null: everywhere.'),
    ruleId: z.string(),
    subject: z.string().nullable().describe('null: all subjects of the rule.'),
    expiresAtMs: timeMs(),
    ...authored,
  }),
);
export type Silence = OutputOf<typeof silenceSchema>;

/** Somebody handles the episode. Actions continue. */
export const acknowledgementSchema = named(
  {
    id: 'Acknowledgement',
    description: 'Somebody sees to it: no reminders and no escalation, until it is over or gets worse.',
  },
  () => ({
    kind: z.literal('acknowledgement'),
    id: z.string(),
    accountId: z.string().nullable().describe('null: it is about no account.'),
    ruleId: z.string(),
    subject: z.string(),
    /** See `episodeOf`. */
    episode: z.number(),
    /** Highest stage reached by then. */
    stage: z.number().int().describe('A higher one is worse, and is told.'),
    expiresAtMs: timeMs(),
    ...authored,
  }),
);
export type Acknowledgement = OutputOf<typeof acknowledgementSchema>;

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
  /** Rules silenced for all their subjects. */
  readonly silencedRules: readonly string[];
  /** Every silence in force, including those for a single subject. */
  readonly silences: readonly Silence[];
  readonly acknowledgements: readonly Acknowledgement[];
}

export const NOTHING_IN_FORCE: ControlsInForce = {
  pause: undefined,
  silencedRules: [],
  silences: [],
  acknowledgements: [],
};

/** `nowMs` comes from the store's clock where there is one: the wall clock of a process may be wrong. */
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

export function isSilenced(inForce: ControlsInForce, ruleId: string, subject: SubjectKey): boolean {
  return inForce.silences.some(
    (silence) => silence.ruleId === ruleId && (silence.subject === null || silence.subject === subject),
  );
}

/** An episode and the highest stage it has reached. */
export type EpisodeStage = Pick<Acknowledgement, 'ruleId' | 'subject' | 'episode' | 'stage'>;

/** Returns the episode number; a notice without a rule has none and is identified by its start. */
export function episodeOf({
  episode,
  sinceMs,
}: {
  readonly episode: number;
  readonly sinceMs: number;
}): number {
  return episode === 0 ? sinceMs : episode;
}

/** Returns the acknowledgement of the episode, unless it got worse since. */
export function acknowledgementOf(
  acknowledgements: readonly Acknowledgement[],
  { ruleId, subject, episode, stage }: EpisodeStage,
): Acknowledgement | undefined {
  return acknowledgements.find(
    (one) =>
      one.ruleId === ruleId && one.subject === subject && one.episode === episode && one.stage >= stage,
  );
}

/** An order by a person; handled like a rule's intents, including the gate. */
export type OperatorOrder = OutputOf<typeof operatorOrderSchema>;

/** What the API says of every kind of operator order. */
export const operatorOrderReply = z
  .looseObject({
    kind: z.enum(['reduce', 'withdraw', 'answer']),
    id: z.string(),
    author: z.string(),
    reason: z.string(),
    atMs: timeMs(),
    expiresAtMs: timeMs(),
  })
  .meta({ id: 'OperatorOrder' }) as unknown as z.ZodType<OperatorOrder>;

/** Audit words for an operator order that matches no open position. */
export const NOTHING_MEANT = 'no open position is meant by the order';

/** Returns why the slippage of an operator order is refused; undefined if it is within the maximum or none is known. */
export function slippageFault(steps: readonly number[], maxSlippage: number | undefined): string | undefined {
  const largest = Math.max(0, ...steps);
  if (maxSlippage === undefined || largest <= maxSlippage) return undefined;
  return `a slippage of ${figure(largest, 'ratio')} is beyond operators.maxSlippage (${figure(maxSlippage, 'ratio')})`;
}

/**
 * Operator orders waiting to become intents: a document of the account, emptied by the commit that opens the intents.
 */
export interface Inbox {
  readonly version: 1;
  readonly orders: readonly OperatorOrder[];
  /** How many entries were skipped as invalid; never stored. */
  readonly unread?: number;
}

/** Most orders that may wait at once. */
export const MAX_INBOX_ORDERS = 64;

/** Most pauses and silences that may be in force at once. */
export const MAX_CONTROLS = 512;

/** Beyond this the oldest acknowledgements are dropped: they must not block a pause. */
export const MAX_ACKNOWLEDGEMENTS = 256;

/** Longest an acknowledgement lasts: its author may have forgotten it. */
export const LONGEST_ACKNOWLEDGED_MS = 7 * 86_400_000;
