import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { openWorld, type World } from '../../src/world/open-world.ts';
import type { WorldSpec } from '../../src/world/spec.ts';
import { auditTrailOf } from '../faults/audit-trail.ts';
import { hostsOf } from '../faults/judge.ts';
import { ledgerViolations } from '../faults/ledger-check.ts';
import { streamViolations } from './streams.ts';
import { type Arrival, type Seen, witness } from './witness.ts';

/**
 * Plays a world, and returns violations, in words, of the invariants that hold in the ledger of every world, whatever
 * failed in it: every order of the daemon only reduces; positions are never reduced below the lowest target so far, nor
 * could open orders do so, except for audited overshoot; nothing is sent while paused; a stream of requests that changes
 * nothing ends (16); no cancel reaches the owner's orders before anything is to be reduced in their market, a position
 * has closed, or a rule asks for it. `graceMs`: how long earlier requests may still arrive.
 */
export async function playJudged(
  spec: WorldSpec,
  { graceMs, before }: { readonly graceMs: number; readonly before?: (world: World) => void },
): Promise<{ readonly world: World; readonly violations: readonly string[] }> {
  const world = openWorld(spec);
  before?.(world);
  const seen = witness(world);
  await world.run();
  // In virtual time audit and ledger have one clock.
  const trail = await auditTrailOf(world, 0);
  const entries = world.exchange.model.ledger();
  const violations = [
    ...ledgerViolations(entries, trail, world.startMs, hostsOf(spec, world.startMs)),
    ...sentWhileClosed(world, graceMs),
    ...[...seen].flatMap(([id, notes]) => {
      const events = trail.events.filter(({ accountId }) => accountId === id);
      const untilMs = toldUntilMs(spec);
      const told = notes.filter(({ atMs }) => atMs < untilMs);
      return streamViolations(notes, { events, covers: trail.covers })
        .concat(cancelledInCalm(told, events, world.startMs))
        .map((words) => `${id}: ${words}`);
    }),
  ];
  return { world, violations };
}

/** A daemon without the store hands its records over when it is back. */
const HANDED_OVER_MS = 15_000;

/** Up to when the audit trail tells everything. */
function toldUntilMs({ events = [], durationMs }: WorldSpec): number {
  const changes = events.filter((event) => event.kind === 'store').toSorted((a, b) => a.atMs - b.atMs);
  const down = changes.findLast(({ state }) => state === 'down');
  const up = changes.findLast(({ state }) => state === 'up');
  if (down === undefined) return durationMs;
  const isBack = up !== undefined && up.atMs > down.atMs && up.atMs + HANDED_OVER_MS < durationMs;
  return isBack ? durationMs : down.atMs;
}

/** Clocks of hosts and of the exchange differ by up to this. */
const CLOCKS_APART_MS = 10_000;
/** A stop that was reached is followed up by a reduction. */
const OPENED = new Set(['intentOpened', 'coverTriggered']);
const REASONS = new Set(['cancelAction', 'confirmed', 'newPosition', 'closedByOurs']);

/** Cancels sent before anything had to be done in their market. */
export function cancelledInCalm(
  seen: readonly Seen[],
  events: readonly AuditEvent[],
  startMs: number,
): readonly string[] {
  const acts = events.filter(({ kind, reason }) => OPENED.has(kind) || REASONS.has(reason));
  const forced: Arrival[] = [];
  return seen.flatMap((one) => {
    if (one.kind !== 'cancel') return [];
    // One a minute, which may be lost and repeated.
    const recent = forced.filter(({ market, atMs }) => market === one.market && one.atMs - atMs < 55_000);
    if (recent.length < 2 && isForced(one, seen, { events, startMs })) {
      forced.push(one);
      return [];
    }
    const own = acts.filter(({ market }) => one.market === null || (market ?? one.market) === one.market);
    const calmUntilMs = Math.min(...own.map(({ atMs }) => atMs)) - CLOCKS_APART_MS;
    return startMs + one.atMs < calmUntilMs
      ? [`${one.atMs} ms, ${one.market ?? 'all'}: a cancel in calm`]
      : [];
  });
}

interface ClosedTime {
  readonly accountId: string | null;
  readonly fromMs: number;
  readonly toMs: number;
  readonly why: string;
}

/** Periods in which nothing may be sent. */
function closedTimes({ spec, startMs }: World, graceMs: number): readonly ClosedTime[] {
  const times: ClosedTime[] = [];
  for (const event of spec.events ?? []) {
    if (event.kind !== 'pause') continue;
    const lifted = (spec.events ?? []).filter(
      (other) => other.kind === 'unpause' && other.account === event.account && other.atMs > event.atMs,
    );
    const endMs = Math.min(
      spec.durationMs,
      event.atMs + (event.forMs ?? Infinity),
      ...lifted.map(({ atMs }) => atMs),
    );
    times.push({
      accountId: event.account,
      fromMs: startMs + event.atMs + graceMs,
      toMs: startMs + endMs,
      why: 'paused',
    });
  }
  return times;
}

/**
 * Whether a stop has to go that lies beyond liquidation with no room beside it for another one, or that exceeds the net
 * exposure since a position changed.
 */
function isForced(
  { market, atMs }: Arrival,
  seen: readonly Seen[],
  { events, startMs }: { readonly events: readonly AuditEvent[]; readonly startMs: number },
): boolean {
  const sizes = seen.flatMap((one) => {
    if (one.kind !== 'sight' || one.atMs > atMs || market === null) return [];
    return (one.markets.get(market) ?? []).map(({ positionId, size }) => `${positionId} ${size}`).join();
  });
  const reasons = new Set(['noRoom', ...(new Set(sizes).size > 1 ? ['exceedsNetExposure'] : [])]);
  return events.some(
    (event) =>
      event.kind === 'cancelling' &&
      event.market === market &&
      reasons.has(event.reason) &&
      Math.abs(event.atMs - startMs - atMs) <= CLOCKS_APART_MS,
  );
}

function sentWhileClosed(world: World, graceMs: number): readonly string[] {
  const closed = closedTimes(world, graceMs);
  return world.exchange.model.ledger({ kinds: ['request'] }).flatMap((entry) =>
    closed
      .filter(({ accountId }) => accountId === null || accountId === entry.accountId)
      .filter(({ fromMs, toMs }) => entry.atMs > fromMs && entry.atMs < toMs)
      .map(({ why }) => {
        const { atMs, accountId, details } = entry;
        return `${atMs - world.startMs} ms, ${accountId ?? '-'}: ${String(details?.['path'])} while ${why}`;
      }),
  );
}
