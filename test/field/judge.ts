import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import { isOurs } from '../support/own-orders.ts';
import { type Baseline, liquidatedMs, playUnprotected, runUntilLiquidated } from './baseline.ts';
import type { Levels } from './factors.ts';
import type { FieldCase } from './field-case.ts';
import { ACCOUNT } from './holdings.ts';
import { playerPrevents } from './player.ts';

/** Result of a case: an `unpreventable` one is excluded from all other counts. */
export type Verdict = 'prevented' | 'liquidated' | 'unpreventable';

export interface CaseResult {
  readonly id: string;
  readonly levels: Levels;
  readonly verdict: Verdict;
  /** Milliseconds from the crossing of the threshold to the liquidation without protection. */
  readonly timeMs: number;
  /** Only for a case that was played with the daemon. */
  readonly daemon?: DaemonResult;
}

export interface DaemonResult {
  /** Milliseconds from the crossing of the threshold to the daemon's first fill; negative if it was earlier. */
  readonly reactionMs: number | null;
  /** Three round trips, a second, and the time the market took to cover the gap of that order. */
  readonly boundMs: number | null;
  readonly liquidatedMs: number | null;
  /** If it was liquidated: which step of acting was missing. */
  readonly failure: Failure | null;
  /** Unexpected errors of the daemon. */
  readonly errors: readonly string[];
}

/** How far the daemon got; the first match applies. */
export type Failure =
  | 'no request left'
  | 'only cancels left'
  | 'no order was accepted'
  | 'first order too late'
  | 'activation on the wrong side'
  | 'activation not reached'
  | 'triggered, not filled'
  | 'reduced too little'
  | 'a remainder was liquidated';

export async function judge(fieldCase: FieldCase): Promise<CaseResult> {
  const { id, levels } = fieldCase;
  const baseline = await playUnprotected(fieldCase);
  const { breachMs = 0 } = baseline;
  const timeMs = (baseline.liquidatedMs ?? Number.POSITIVE_INFINITY) - breachMs;
  const isPreventable = baseline.liquidatedMs !== undefined && (await playerPrevents(fieldCase, baseline));
  if (!isPreventable) return { id, levels, verdict: 'unpreventable', timeMs };
  const world = openWorld(fieldCase.world);
  await runUntilLiquidated(world);
  const daemon = daemonResult(world, fieldCase, { baseline, breachMs });
  return { id, levels, verdict: daemon.liquidatedMs === null ? 'prevented' : 'liquidated', timeMs, daemon };
}

interface Crossing {
  readonly baseline: Baseline;
  readonly breachMs: number;
}

function daemonResult(world: World, fieldCase: FieldCase, { baseline, breachMs }: Crossing): DaemonResult {
  const entries = world.exchange.model.ledger({ accountId: ACCOUNT });
  const at = ({ atMs }: LedgerEntry): number => atMs - world.startMs;
  const ours = entries.filter(isOurs);
  const fill = ours.find(({ kind }) => kind === 'fill');
  const lostMs = liquidatedMs(world) ?? null;
  const order = ours.find(({ kind, orderId }) => kind === 'order_placed' && orderId === fill?.orderId);
  const gapMs =
    order === undefined ? 0 : gapOf(order, { placedMs: at(order), breachMs }, fieldCase, baseline);
  const roundTripMs = Math.max(fieldCase.roundTrips.readMs, fieldCase.roundTrips.orderMs);
  const base = { liquidatedMs: lostMs, errors: world.errors.map(String) };
  const failure =
    lostMs === null
      ? null
      : failureOf(
          entries.filter((entry) => at(entry) <= lostMs),
          fieldCase,
          world,
          breachMs,
        );
  if (fill === undefined) return { ...base, reactionMs: null, boundMs: null, failure };
  return {
    ...base,
    reactionMs: at(fill) - breachMs,
    boundMs: 3 * roundTripMs + 1_000 + gapMs,
    failure,
  };
}

/**
 * Milliseconds that the market took from its price to the activation of the order. An order that stood when the
 * threshold was crossed has the gap at that moment.
 */
export function gapOf(
  { market = '', details }: Pick<LedgerEntry, 'market' | 'details'>,
  { placedMs, breachMs }: { readonly placedMs: number; readonly breachMs: number },
  { speed }: Pick<FieldCase, 'speed'>,
  { triggerAt }: Pick<Baseline, 'triggerAt'>,
): number {
  const price = triggerAt(market, Math.max(placedMs, breachMs));
  const activation = Number(details?.['activationPrice']);
  if (Number.isNaN(price) || !Number.isFinite(activation)) return 0;
  return (1_000 * Math.abs(price - activation)) / price / speed;
}

function failureOf(
  entries: readonly LedgerEntry[],
  fieldCase: FieldCase,
  { exchange, startMs }: World,
  breachMs: number,
): Failure {
  const ours = entries.filter(isOurs);
  const of = (kind: LedgerEntry['kind']): readonly LedgerEntry[] =>
    ours.filter((entry) => entry.kind === kind);
  const fills = of('fill');
  if (fills.length > 0)
    return 1 - closedShare(fills, fieldCase) < REMAINDER
      ? 'a remainder was liquidated'
      : 'reduced too little';
  if (of('stop_triggered').length > 0) return 'triggered, not filled';
  const placed = of('order_placed');
  const right = placed.find(
    ({ side, details }) => details?.['trigger'] === (side === 'sell' ? 'fall' : 'rise'),
  );
  if (right !== undefined)
    return right.atMs - startMs - breachMs > LATE_MS ? 'first order too late' : 'activation not reached';
  if (placed.length > 0) return 'activation on the wrong side';
  const requests = exchange.log.list({ account: ACCOUNT });
  if (requests.some(({ endpoint }) => endpoint === 'stopLimit')) return 'no order was accepted';
  return requests.some(({ endpoint }) => endpoint === 'cancelAll') ? 'only cancels left' : 'no request left';
}

/** Part of a position below which the rest counts as closed. */
const REMAINDER = 0.1;

/** Share that was closed of what had to be, by value at the fills. */
function closedShare(fills: readonly LedgerEntry[], { losing }: FieldCase): number {
  const shares = losing.map(({ market, side, amount }) => {
    const closed = fills
      .filter((fill) => fill.market === market && fill.side === side)
      .reduce((sum, fill) => sum + Number(fill.amount), 0);
    return Math.min(1, closed / Number(amount));
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

const LATE_MS = 10_000;
