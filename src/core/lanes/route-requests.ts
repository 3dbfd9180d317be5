import { type AuditEvent, type FailureReason, recorder } from '../audit/audit-event.ts';
import { figure } from '../fields/field-words.ts';
import { type AccountTarget, isAccountTarget, type Sizes } from '../intents/account-plan.ts';
import { episodeKeyOf } from '../intents/gate.ts';
import { actionKey, type LaneRequest } from '../intents/intent.ts';
import type { PositionRecord } from '../ports/exchange.ts';
import type { DecimalString } from '../quantities/decimal.ts';
import { compileGlobs } from '../rules/filter.ts';
import type { ActionRequest } from '../rules/subject.ts';
import { positionKey } from '../rules/subjects.ts';

/** The positions that each action concerns, fixed when it was first seen. Plain JSON. */
export interface RouteState {
  readonly version: 1;
  readonly routes: Readonly<Record<string, readonly PositionRef[]>>;
  /** Actions whose positions come from an incomplete list; others may follow. Absent: none. */
  readonly partial?: readonly string[];
  /** Episodes that wait for their positions to be known, by `episodeKeyOf`. Absent: none. */
  readonly waiting?: Readonly<Record<string, Waiting>>;
}

export interface Waiting {
  /** Milliseconds on the lanes' clock. */
  readonly sinceMs: number;
  /** It has waited as long as an intent may live, and the failure was reported. */
  readonly failed: boolean;
}

/** A position that an action concerns, and what is planned for it. Its state comes from reads. */
export interface PositionRef {
  readonly positionId: string;
  readonly market: string;
  /** For an account-wide target: the size to leave. Absent: it is not to be reduced yet. */
  readonly plannedBase?: DecimalString;
  /** Open date of the position that this was planned for, Unix seconds. */
  readonly openDate?: number;
}

export const NO_ROUTES: RouteState = { version: 1, routes: {} };

export interface RouteInputs {
  readonly active: readonly ActionRequest[];
  /** Whether an action absent from `active` has ended. */
  readonly conclusive: boolean;
  readonly positions: readonly PositionRecord[];
  readonly complete: boolean;
  readonly accountId: string;
  /** An episode that has waited this long has failed. */
  readonly intentTtlMs: number;
  /** On the lanes' clock. */
  readonly nowMs: number;
  /** Returns what an account target leaves of the matching positions, or `undefined` if an input is not known. */
  readonly plan: (
    request: ActionRequest,
    target: AccountTarget,
    refs: readonly PositionRef[],
  ) => Sizes | undefined;
}

/**
 * Routes actions to the lanes of their markets. An action of an account or credit-line rule concerns the matching
 * positions of the first list after it appeared; while lists are incomplete, also positions of later lists that were
 * open before it, and of what is asked of each position also those opened later. An episode fails, once, if no list shows its positions in time.
 */
export function routeRequests(state: RouteState, inputs: RouteInputs) {
  const routes: Record<string, readonly PositionRef[]> = {};
  if (!inputs.conclusive) Object.assign(routes, state.routes);
  const partial = new Set(inputs.conclusive ? [] : state.partial);
  const byMarket = new Map<string, LaneRequest[]>();
  const accountWide: ActionRequest[] = [];
  const waiting: ActionRequest[] = [];
  const unplanned = new Set<ActionRequest>();
  for (const request of inputs.active) {
    if (request.action.kind === 'notify') continue;
    if (request.action.kind === 'cancelAll' && request.action.scope === 'account') {
      accountWide.push(request);
      continue;
    }
    const key = actionKey(request, null);
    const meant = routeOf(state, key, request, inputs)?.map((ref) => asNamedNow(ref, inputs));
    const refs = meant && planned(request, meant, inputs);
    if (refs === undefined) {
      waiting.push(request);
      if (meant !== undefined) unplanned.add(request);
      continue;
    }
    routes[key] = refs;
    const mayLack = state.routes[key] === undefined || state.partial?.includes(key) === true;
    if (mayLack && !inputs.complete && request.subjectKind !== 'position') partial.add(key);
    else partial.delete(key);
    for (const [market, entry] of entries(request, refs)) {
      byMarket.set(market, [...(byMarket.get(market) ?? []), entry]);
    }
  }
  const kept = stillWaiting(state.waiting ?? {}, { waiting, unplanned }, inputs);
  const next: RouteState = {
    version: 1,
    routes,
    ...(partial.size === 0 ? {} : { partial: [...partial] }),
    ...(Object.keys(kept.waiting).length === 0 ? {} : { waiting: kept.waiting }),
  };
  return {
    state: next,
    /** Requests for each market's lane. A lane that is not named has none. */
    byMarket,
    /** `cancelAll` of account scope, for the account's own lane. */
    accountWide,
    /** Actions whose positions are not known yet. */
    waiting,
    /** Episodes that failed because they waited too long. */
    events: kept.events,
  };
}

function stillWaiting(
  before: NonNullable<RouteState['waiting']>,
  { waiting: requests, unplanned }: Unrouted,
  { active, conclusive, accountId, intentTtlMs, nowMs }: RouteInputs,
): { readonly waiting: NonNullable<RouteState['waiting']>; readonly events: readonly AuditEvent[] } {
  const audit = recorder(accountId, undefined, nowMs);
  const waiting: Record<string, Waiting> = {};
  if (!conclusive) {
    const asked = new Set(active.map(episodeKeyOf));
    for (const [key, entry] of Object.entries(before)) if (!asked.has(key)) waiting[key] = entry;
  }
  for (const request of requests) {
    const key = episodeKeyOf(request);
    if (waiting[key] !== undefined) continue;
    // A clock that was set back must not lengthen the wait.
    const sinceMs = Math.min(before[key]?.sinceMs ?? nowMs, nowMs);
    const isUnplanned = unplanned.has(request);
    const waitMs = isUnplanned ? Math.min(PLANNED_WITHIN_MS, intentTtlMs) : intentTtlMs;
    const isOver = nowMs - sinceMs >= waitMs;
    if (isOver && before[key]?.failed !== true) {
      const { ruleId, mode } = request;
      const why: FailureReason = isUnplanned ? 'planUnknown' : 'positionsUnknown';
      const reason = `failed:${why}`;
      const words = vainWords(request, waitMs, isUnplanned);
      // An action in observe mode fails without an alarm.
      audit.emit({ kind: 'intentEnded', key, ruleId, reason, words, alarm: mode !== 'observe' });
    }
    waiting[key] = { sinceMs, failed: isOver || before[key]?.failed === true };
  }
  return { waiting, events: audit.events };
}

interface Unrouted {
  readonly waiting: readonly ActionRequest[];
  /** Those whose positions are known, and no sizes for them. */
  readonly unplanned: ReadonlySet<ActionRequest>;
}

/** Where the positions are known, another read seldom brings what a plan lacks: people hear of it soon. */
const PLANNED_WITHIN_MS = 10_000;

function vainWords({ subjectKind, subject }: ActionRequest, waitedMs: number, isUnplanned: boolean): string {
  const lacking =
    subjectKind === 'position' ? `a read that shows ${subject}` : 'a complete list of the positions';
  const what = isUnplanned ? 'a reduction that helps, or a figure exact enough to tell which' : lacking;
  return `no action could begin, for ${figure(waitedMs / 1_000, 'seconds')} there was not ${what}`;
}

/** Returns the positions that it concerns already, and those that an incomplete list had hidden. */
function routeOf(
  state: RouteState,
  key: string,
  request: ActionRequest,
  inputs: RouteInputs,
): readonly PositionRef[] | undefined {
  const known = state.routes[key];
  if (known === undefined) return concerned(request, inputs);
  const isOfAll = request.subjectKind !== 'position' && isStanding(request.action);
  if (!isOfAll && state.partial?.includes(key) !== true) return known;
  const wasOpen = new Set(
    inputs.positions
      .filter(({ openDate }) => openDate !== undefined && openDate * 1_000 <= request.atMs)
      .map(({ positionId }) => positionId),
  );
  const found = concerned(request, inputs) ?? [];
  const hidden = found.filter(
    ({ positionId }) =>
      (isOfAll || wasOpen.has(positionId)) && !known.some((ref) => ref.positionId === positionId),
  );
  return hidden.length === 0 ? known : [...known, ...hidden];
}

/** What it asks for, it asks of each position, opened when it may: a stop, or a distance. */
function isStanding(action: ActionRequest['action']): boolean {
  if (action.kind === 'protect') return true;
  return (
    action.kind === 'reduce' && (action.target.kind === 'untilDistance' || isAccountTarget(action.target))
  );
}

function concerned(request: ActionRequest, inputs: RouteInputs): readonly PositionRef[] | undefined {
  if (request.subjectKind === 'position') {
    const own = inputs.positions.filter((record) => positionKey(record.positionId) === request.subject);
    return own.length === 0 ? undefined : own.map(refOf);
  }
  const { action } = request;
  const isOnPositions = action.kind === 'reduce' || action.kind === 'protect';
  const matches = compileGlobs((isOnPositions ? action.positions : undefined) ?? ['*']);
  const refs = inputs.positions.filter((record) => matches(record.market)).map(refOf);
  return refs.length === 0 && !inputs.complete ? undefined : refs;
}

/** Adds the sizes of the account's plan. Without a new plan the earlier one stays; `undefined` until there is one. */
function planned(
  request: ActionRequest,
  refs: readonly PositionRef[],
  { positions, plan }: RouteInputs,
): readonly PositionRef[] | undefined {
  const { action } = request;
  if (action.kind !== 'reduce' || !isAccountTarget(action.target)) return refs;
  const current = refs.map((ref) => forgetOther(ref, positions));
  const sizes = positions.length > 0 ? plan(request, action.target, current) : undefined;
  if (sizes === undefined)
    return refs.some(({ plannedBase }) => plannedBase !== undefined) ? refs : undefined;
  return current.map((ref): PositionRef => {
    const { positionId, market } = ref;
    const plannedBase = sizes.get(positionId);
    if (plannedBase === undefined) return ref;
    const openDate = positions.find((record) => record.positionId === positionId)?.openDate ?? ref.openDate;
    return openDate === undefined
      ? { positionId, market, plannedBase }
      : { positionId, market, plannedBase, openDate };
  });
}

/** Drops what was planned for an earlier position under the same id. */
function forgetOther(ref: PositionRef, positions: readonly PositionRecord[]): PositionRef {
  const { positionId, market, openDate } = ref;
  const now = positions.find((record) => record.positionId === positionId)?.openDate;
  const isOther = openDate !== undefined && now !== undefined && openDate !== now;
  return isOther ? { positionId, market } : ref;
}

/** Follows a position by its id if its market was renamed. */
function asNamedNow(ref: PositionRef, { positions }: RouteInputs): PositionRef {
  const now = positions.find(({ positionId }) => positionId === ref.positionId);
  return now === undefined || now.market === ref.market ? ref : { ...ref, market: now.market };
}

function refOf({ positionId, market }: PositionRecord): PositionRef {
  return { positionId, market };
}

/** One entry per position, or, for a cancel, one per market. */
function entries(
  request: ActionRequest,
  refs: readonly PositionRef[],
): [market: string, entry: LaneRequest][] {
  const { action } = request;
  if (action.kind === 'cancelAll') {
    const markets = new Set(refs.map(({ market }) => market));
    return [...markets].map((market) => [market, { request, positionId: null }]);
  }
  const isPlanned = action.kind === 'reduce' && isAccountTarget(action.target);
  return refs.flatMap(({ positionId, market, plannedBase }): [string, LaneRequest][] => {
    if (!isPlanned) return [[market, { request, positionId }]];
    return plannedBase === undefined ? [] : [[market, { request, positionId, plannedBase }]];
  });
}
