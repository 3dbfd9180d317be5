import { compileGlobs } from './filter.ts';
import { actionKey, type LaneRequest } from './intent.ts';
import type { ActionRequest, PositionView } from './subject.ts';
import { positionKey } from './subjects.ts';

/** Which positions each action concerns, fixed when it was first seen. Plain JSON. */
export interface RouteState {
  readonly version: 1;
  readonly routes: Readonly<Record<string, readonly PositionRef[]>>;
}

export interface PositionRef {
  readonly positionId: string;
  readonly market: string;
}

export const NO_ROUTES: RouteState = { version: 1, routes: {} };

export interface RouteInputs {
  readonly active: readonly ActionRequest[];
  /** Whether an action absent from `active` has ended. */
  readonly conclusive: boolean;
  readonly positions: readonly PositionView[];
  /** Whether the list of positions is complete. */
  readonly complete: boolean;
}

export interface Routed {
  readonly state: RouteState;
  /** What each market's lane is asked for. A lane that is not named is asked for nothing. */
  readonly byMarket: ReadonlyMap<string, readonly LaneRequest[]>;
  /** `cancelAll` of account scope, for the account's own lane. */
  readonly accountWide: readonly ActionRequest[];
  /** Actions whose positions are not known yet. */
  readonly waiting: readonly ActionRequest[];
}

/**
 * Takes actions to the lanes of the markets they concern. An action of an account or credit-line rule concerns
 * the matching positions of the first complete list after it appeared; what is opened later is not touched.
 */
export function routeRequests(state: RouteState, inputs: RouteInputs): Routed {
  const routes: Record<string, readonly PositionRef[]> = {};
  if (!inputs.conclusive) Object.assign(routes, state.routes);
  const byMarket = new Map<string, LaneRequest[]>();
  const accountWide: ActionRequest[] = [];
  const waiting: ActionRequest[] = [];
  for (const request of inputs.active) {
    if (request.action.kind === 'notify') continue;
    if (request.action.kind === 'cancelAll' && request.action.scope === 'account') {
      accountWide.push(request);
      continue;
    }
    const key = actionKey(request, null);
    const refs = state.routes[key] ?? concerned(request, inputs);
    if (refs === undefined) {
      waiting.push(request);
      continue;
    }
    routes[key] = refs;
    for (const [market, entry] of entries(request, refs)) {
      const listed = byMarket.get(market) ?? [];
      listed.push(entry);
      byMarket.set(market, listed);
    }
  }
  return { state: { version: 1, routes }, byMarket, accountWide, waiting };
}

function concerned(request: ActionRequest, inputs: RouteInputs): readonly PositionRef[] | undefined {
  if (request.subjectKind === 'position') {
    const own = inputs.positions.filter((view) => positionKey(view.positionId) === request.subject);
    return own.length === 0 ? undefined : own.map(refOf);
  }
  if (!inputs.complete) return undefined;
  const globs = request.action.kind === 'cancelAll' ? ['*'] : (globsOf(request) ?? ['*']);
  const matches = compileGlobs(globs);
  return inputs.positions.filter((view) => matches(view.market)).map(refOf);
}

function globsOf({ action }: ActionRequest): readonly string[] | undefined {
  return action.kind === 'reduce' || action.kind === 'protect' ? action.positions : undefined;
}

function refOf({ positionId, market }: PositionView): PositionRef {
  return { positionId, market };
}

/** One entry per position, or, for a cancel, one per market. */
function entries(
  request: ActionRequest,
  refs: readonly PositionRef[],
): [market: string, entry: LaneRequest][] {
  if (request.action.kind !== 'cancelAll') {
    return refs.map(({ positionId, market }) => [market, { request, positionId }]);
  }
  const markets = new Set(refs.map(({ market }) => market));
  return [...markets].map((market) => [market, { request, positionId: null }]);
}
