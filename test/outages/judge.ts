import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import { auditTrailOf } from '../faults/audit-trail.ts';
import { ledgerViolations } from '../faults/ledger-check.ts';
import { isOurs } from '../support/own-orders.ts';
import { isCalm, MOMENTS, nameOf, type Outage } from './outage.ts';
import { ACCOUNT, LATE_ARRIVAL_MS, type Scene, type Times } from './scene.ts';

export interface Judged {
  readonly outage: Outage;
  readonly name: string;
  /** Milliseconds until each daemon that lost Redis reported it; null: none did. */
  readonly noticedMs: number | null;
  /** From the later of breach and loss until an order of the daemon stood or the target was reached. */
  readonly protectedMs: number;
  /** After that: the longest time without either. */
  readonly uncoveredMs: number;
  readonly boundMs: number;
  /** Accepted orders; orders refused because their id was taken. */
  readonly orders: number;
  readonly refusedAsTaken: number;
  readonly overshoots: number;
  readonly finalSize: number;
  /** Violations, in words. */
  readonly violations: readonly string[];
}

const TARGET = 0.25;
const STEP = 0.0005;
const CALM_MS = 5_000;
/** Time to notice the loss. */
const NOTICE_MS = 2_000;
/** Two round trips, on a machine under load. */
const TWO_ROUND_TRIPS_MS = 1_000;
/** Bound for outages that cut off the exchange, counted from their end. */
const AFTER_PARTITION_MS = 8_000;

export async function judge(scene: Scene, times: Times): Promise<Judged> {
  const { outage, simulator, daemons, heard } = scene;
  const ledger = simulator.ledger();
  const [daemon] = daemons;
  if (daemon === undefined) throw new TypeError('there is no daemon');
  const { audit, store } = daemon.state;
  const startMs = times.breachMs;
  const trail = await auditTrailOf({ audit, startMs, spec: { exchange: { accounts: [{ id: ACCOUNT }] } } });
  const violations = [...ledgerViolations(ledger, trail, startMs)];
  const finalSize = simulator.model.openPositions(ACCOUNT)[0]?.amount.toNumber() ?? 0;
  if (Math.abs(finalSize - TARGET) > STEP)
    violations.push(`the position is ${finalSize}, the target was ${TARGET}`);
  const open = simulator.model.openOrders(ACCOUNT).length;
  if (open > 0) violations.push(`${open} orders are left`);
  const verified = await audit.verify(ACCOUNT);
  if (verified.kind !== 'intact')
    violations.push(`the audit trail is not whole: ${JSON.stringify(verified).slice(0, 200)}`);
  const { load } = await store.read(ACCOUNT);
  if (load.kind !== 'loaded') violations.push('the state cannot be read');
  else {
    const lanes = [...load.account.lanes.values()];
    const left = lanes.flatMap(({ intents }) => intents).filter(({ end }) => end === null).length;
    if (left > 0) violations.push(`${left} intents are open in the state`);
  }
  const toldOf = new Set(trail.events.map(({ order }) => order?.clientOrderId));
  const unexplained = placedBy(ledger).filter(({ clientOrderId = '' }) => !toldOf.has(clientOrderId));
  if (unexplained.length > 0) violations.push(`${unexplained.length} orders are not in the audit trail`);
  const fromMs = cutsExchange(outage)
    ? Math.max(times.breachMs, times.backMs)
    : Math.max(times.breachMs, times.lostMs);
  const { protectedMs, uncoveredMs } = protectionOf(ledger, fromMs);
  const boundMs = boundOf(outage);
  if (protectedMs > boundMs) violations.push(`protected after ${protectedMs} ms, not within ${boundMs} ms`);
  return {
    outage,
    name: nameOf(outage),
    noticedMs: noticed(heard, times),
    protectedMs,
    uncoveredMs,
    boundMs,
    orders: placedBy(ledger).length,
    refusedAsTaken: trail.events.filter(({ kind, reason }) => kind === 'rejected' && reason === 'duplicateId')
      .length,
    overshoots: trail.overshoots.size,
    finalSize,
    violations: [...new Set(violations)],
  };
}

function cutsExchange(outage: Outage): boolean {
  return outage.kind === 'partition' && (outage.between === 'exchange' || outage.between === 'oneWay');
}

function boundOf(outage: Outage): number {
  if (cutsExchange(outage)) return AFTER_PARTITION_MS;
  const moment = outage.kind === 'killed' ? MOMENTS[outage.moment] : undefined;
  const isUnderWay = moment === undefined || !isCalm(moment);
  return isUnderWay ? Math.max(CALM_MS, LATE_ARRIVAL_MS + NOTICE_MS + TWO_ROUND_TRIPS_MS) : CALM_MS;
}

function noticed(heard: Scene['heard'], { lostMs }: Times): number | null {
  const firsts = heard.flatMap((own) => {
    const first = own.find(({ event }) => event.kind === 'standby' && event.state === 'alone');
    return first === undefined ? [] : [first.atMs - lostMs];
  });
  return firsts.length === 0 ? null : Math.max(...firsts);
}

function placedBy(ledger: readonly LedgerEntry[]): readonly LedgerEntry[] {
  return ledger.filter((entry) => entry.kind === 'order_placed' && isOurs(entry));
}

/** Whether an order of the daemon stands or the target is reached, over time from `fromMs` on. */
function protectionOf(
  ledger: readonly LedgerEntry[],
  fromMs: number,
): { readonly protectedMs: number; readonly uncoveredMs: number } {
  /** Open amount of each order, by its id. */
  const open = new Map<number, number>();
  let isAtTarget = false;
  let uncoveredSinceMs: number | undefined = fromMs;
  let [protectedMs, uncoveredMs] = [Number.POSITIVE_INFINITY, 0];
  const look = (atMs: number): void => {
    const isCovered = isAtTarget || open.size > 0;
    if (isCovered && uncoveredSinceMs !== undefined) {
      const lastedMs = Math.max(0, atMs - uncoveredSinceMs);
      if (protectedMs === Number.POSITIVE_INFINITY) protectedMs = lastedMs;
      else uncoveredMs = Math.max(uncoveredMs, lastedMs);
      uncoveredSinceMs = undefined;
    } else if (!isCovered) uncoveredSinceMs ??= Math.max(fromMs, atMs);
  };
  let isAfter = false;
  for (const { kind, orderId = 0, atMs, details, amount } of ledger) {
    if (!isAfter && atMs >= fromMs) {
      isAfter = true;
      look(fromMs);
    }
    if (kind === 'order_placed') open.set(orderId, Number(amount));
    else if (kind === 'order_cancelled') open.delete(orderId);
    else if (kind === 'fill') {
      isAtTarget = Number(details?.['sizeAfter'] ?? 1) <= TARGET + STEP;
      const left = (open.get(orderId) ?? 0) - Number(amount);
      if (left > STEP) open.set(orderId, left);
      else open.delete(orderId);
    }
    if (isAfter) look(atMs);
  }
  return { protectedMs, uncoveredMs };
}
