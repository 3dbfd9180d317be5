import { findField } from '../fields/field-catalogue.ts';
import { AccountQuantities } from '../quantities/account.ts';
import type { Instant, Snapshot } from '../quantities/snapshot.ts';
import type { NextDue } from '../risk/cadence.ts';
import { planNext } from '../risk/plan-next.ts';
import type { AccountState } from './account-state.ts';
import { activeRequests } from './active-requests.ts';
import { unconfirmedZeros } from './balances.ts';
import type { CompiledRules } from './compiled-rules.ts';
import { type Decision, NO_BLINDNESS, type Transition, type UnknownFigure } from './decision.ts';
import { type Elapsed, elapsedSince } from './elapsed.ts';
import { type Memory, remember } from './memory.ts';
import { positionsReadMs } from './overtaken.ts';
import { RuleRun } from './rule-run.ts';
import type { ActionRequest } from './subject.ts';
import {
  type MarketForecast,
  marketForecasts,
  type Subjects,
  subjectsOf,
  unseenPositions,
} from './subjects.ts';

/** Results of evaluating one snapshot; plain JSON. */
export interface Evaluation {
  readonly state: AccountState;
  /** One per rule and selected subject. */
  readonly decisions: readonly Decision[];
  readonly transitions: readonly Transition[];
  /** What keeps rules from being judged although it was read; a figure may be listed more than once. */
  readonly unknowns: readonly UnknownFigure[];
  /** Level-triggered: all actions of every stage reached by a firing episode. An action no longer here is over. */
  readonly active: readonly ActionRequest[];
  readonly forecasts: readonly MarketForecast[];
  readonly nextDue: NextDue;
}

export interface EvaluateOptions {
  /** Shortest polling interval that the request budget allows; see `leastIntervalMs`. */
  readonly leastIntervalMs?: number;
  /** The clock shared by all processes, Unix milliseconds; absent: there is only one process. */
  readonly laneNowMs?: number;
}

/** All inputs of an evaluation except the rules; the audit stores them. */
export interface EvaluationInputs {
  readonly snapshot: Snapshot;
  /** State before the evaluation. */
  readonly state: AccountState;
  readonly now: Instant;
  readonly options?: EvaluateOptions | undefined;
}

/** At most this many calm intervals (or a longer planned one) are credited at once: a longer gap has unknown causes. */
const MAX_CREDITED_INTERVALS = 3;

/**
 * Evaluates one account. Pure: the same inputs give the same bytes. Only complete, valid data no older than
 * `maxSnapshotAgeMs` decide; unknown data freeze the rules that need them. A jump of the wall clock only changes
 * labels.
 */
export function evaluate(inputs: EvaluationInputs, rules: CompiledRules): Evaluation {
  const { snapshot, state, now, options = {} } = inputs;
  const { account, memory, forecasts, passage, subjects } = prepare(inputs, rules);
  const windowNowMs = account.serverNowMs ?? now.wallMs;
  const run = new RuleRun(state, rules, { atMs: now.wallMs, timerMs: passage.timerMs, windowNowMs });
  run.judge(rules.position, subjects.positions);
  run.judge(rules.creditLine, subjects.creditLines);
  run.judge(rules.account, subjects.account);
  const slots = run.finish();
  const due = planNext({ rules, account, subjects, slots }, options.leastIntervalMs ?? 0);
  const { laneNowMs } = options;
  const readMs = laneNowMs === undefined ? undefined : positionsReadMs(snapshot, state, laneNowMs);
  return {
    state: {
      version: state.version,
      accountId: state.accountId,
      passage: { at: now, plannedMs: due.inMs },
      nextEpisode: run.nextEpisode,
      rules: slots,
      ...(readMs === undefined ? {} : { positionsReadMs: readMs }),
      ...memory,
    },
    decisions: run.decisions,
    transitions: run.transitions,
    unknowns: [...run.unknowns, ...unknownDistances(account, subjects)],
    active: activeRequests(rules, slots, account),
    forecasts,
    nextDue: due,
  };
}

const DISTANCE = findField('position', 'liquidationDistance')?.label;

/** A liquidation price that is passed means nothing where positions hedge each other, in a market or across them. */
function unknownDistances(account: AccountQuantities, { positions }: Subjects): readonly UnknownFigure[] {
  return positions.subjects.flatMap(({ key, of: { position } }): readonly UnknownFigure[] => {
    const { liquidationDistance: distance } = position;
    if (distance.kind !== 'unknown') return [];
    const isOdd = distance.why === 'disagreement' && !account.isHedged(position) && !account.isPooled;
    return isOdd || !NO_BLINDNESS.has(distance.why)
      ? [{ subject: key, figure: DISTANCE, why: distance.why }]
      : [];
  });
}

interface Prepared {
  readonly account: AccountQuantities;
  readonly memory: Memory;
  readonly forecasts: readonly MarketForecast[];
  readonly passage: Elapsed;
  readonly subjects: Subjects;
}

function prepare({ snapshot, state, now }: EvaluationInputs, rules: CompiledRules): Prepared {
  const { settings } = rules;
  if (snapshot.accountId !== settings.accountId || state.accountId !== settings.accountId) {
    throw new TypeError(`snapshot, state and rules are not of one account (${settings.accountId})`);
  }
  const longestStepMs = Math.max(
    MAX_CREDITED_INTERVALS * settings.cadence.calmMs,
    state.passage?.plannedMs ?? 0,
  );
  const passage = elapsedSince(state.passage, now, longestStepMs);
  const account = new AccountQuantities(snapshot, settings, now, state.positions);
  const memory = remember(state, account, passage);
  account.noteUncertain(unseenPositions(account, memory), unconfirmedZeros(memory));
  const forecasts = marketForecasts(memory);
  return { account, memory, forecasts, passage, subjects: subjectsOf(account, memory, forecasts) };
}
