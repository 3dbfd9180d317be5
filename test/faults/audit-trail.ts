import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import type { AuditRecord } from '../../src/core/audit/audit-record.ts';
import { type Decimal, decimal } from '../../src/core/quantities/decimal.ts';
import type { World } from '../../src/world/open-world.ts';

/** More than any account of a world has. */
const MOST_RECORDS = 1_000_000;

export interface OpenIntent {
  readonly openedMs: number;
  readonly accountId: string;
  readonly positionId: number;
  readonly target: Decimal | undefined;
}

/** The intentions in the audit trail of a world, which its ledger does not show. */
export interface AuditTrail {
  readonly events: readonly AuditEvent[];
  /** Client order ids of standing stops. */
  readonly covers: ReadonlySet<string>;
  /** Client order ids of orders that may add up with others. */
  readonly overshoots: ReadonlySet<string>;
  /**
   * The earliest time at which an order that arrived at a given time was sent; the arrival itself if no record tells.
   */
  readonly sentFromMs: (clientOrderId: string, arrivedMs: number) => number;
  /** Client order ids of orders sent by processes without the store. */
  readonly alone: ReadonlySet<string>;
  /** The lowest target committed for a position up to a time. */
  readonly lowestTarget: (positionId: number, atMs: number) => Decimal | undefined;
  /** Intents that have not ended, with their last target. */
  readonly open: readonly OpenIntent[];
}

/** Clocks of daemons, of the store and of the exchange differ. */
const CLOCK_ERROR_MS = 250;

/** How far the store's clock, which dates audit records, was ahead at most until then. */
function storeAheadMs({ spec, startMs }: AuditedWorld, atMs: number): number {
  let [ahead, most] = [0, 0];
  for (const event of (spec.events ?? []).toSorted((a, b) => a.atMs - b.atMs)) {
    if (event.kind !== 'stepStoreClock' || startMs + event.atMs > atMs) continue;
    ahead += event.byMs;
    most = Math.max(most, ahead);
  }
  return most;
}

/** The parts needed of a world, or of daemons in real time. */
export interface AuditedWorld extends Pick<World, 'audit' | 'startMs'> {
  readonly spec: {
    readonly exchange: { readonly accounts: readonly { readonly id: string }[] };
    readonly events?: World['spec']['events'];
  };
}

export async function auditTrailOf(world: AuditedWorld, clockErrorMs = CLOCK_ERROR_MS): Promise<AuditTrail> {
  const read = await Promise.all(world.spec.exchange.accounts.map(({ id }) => recordsOf(world, id)));
  const attached = eventsIn(read.flatMap((records) => records.attached));
  const events = [...eventsIn(read.flatMap((records) => records.chained)), ...attached];
  const sent = Map.groupBy(
    events.filter(({ kind }) => kind === 'placing'),
    ({ order }) => order?.clientOrderId ?? '',
  );
  const targets = Map.groupBy(targetsOf(events), ({ positionId }) => positionId);
  return {
    events,
    covers: idsOf(events, (event) => event.kind === 'placing' && isOfCover(event)),
    overshoots: idsOf(events, ({ kind }) => kind === 'overshoot'),
    sentFromMs: (clientOrderId, arrivedMs) => {
      const earlierMs = clockErrorMs + storeAheadMs(world, arrivedMs);
      const sentMs = (sent.get(clientOrderId) ?? [])
        .map(({ atMs }) => atMs - earlierMs)
        .filter((atMs) => atMs <= arrivedMs);
      return sentMs.length === 0 ? arrivedMs : Math.max(...sentMs);
    },
    alone: idsOf(attached, ({ kind }) => kind === 'placing'),
    lowestTarget: (positionId, atMs) => {
      let lowest: Decimal | undefined;
      const untilMs = atMs + storeAheadMs(world, atMs) + clockErrorMs;
      for (const target of targets.get(positionId) ?? []) {
        if (target.atMs <= untilMs && (lowest === undefined || target.base.lt(lowest))) lowest = target.base;
      }
      return lowest;
    },
    open: openIntentsOf(eventsIn(read.flatMap((records) => records.inForce))),
  };
}

function idsOf(events: readonly AuditEvent[], isWanted: (event: AuditEvent) => boolean): ReadonlySet<string> {
  return new Set(
    events.flatMap((event) =>
      event.order !== undefined && isWanted(event) ? [event.order.clientOrderId] : [],
    ),
  );
}

function eventsIn(records: readonly AuditRecord[]): readonly AuditEvent[] {
  return records.flatMap(({ content }) => (content.kind === 'action' ? [content.event] : []));
}

interface Records {
  readonly chained: readonly AuditRecord[];
  /** Written by a daemon that was alone, and could only be attached. */
  readonly attached: readonly AuditRecord[];
  /** Chained records; attached segments are inserted in their place if no other process superseded them. */
  readonly inForce: readonly AuditRecord[];
}

async function recordsOf({ audit }: AuditedWorld, accountId: string): Promise<Records> {
  const chained = (await audit.tail(accountId, MOST_RECORDS)).map(({ record }) => record);
  const segments = await Promise.all(
    chained.map(async (record) => ({ record, attached: await attachedTo(record, accountId, audit) })),
  );
  return {
    chained,
    attached: segments.flatMap(({ attached }) => attached),
    inForce: segments.flatMap(({ record, attached }) =>
      isMerged(record) ? [record, attached].flat() : record,
    ),
  };
}

async function attachedTo(
  { content, attachments }: AuditRecord,
  accountId: string,
  audit: AuditedWorld['audit'],
): Promise<readonly AuditRecord[]> {
  if (content.kind !== 'note' || content.about !== 'carriedAlone') return [];
  const text = await audit.attachment(accountId, attachments['records'] ?? '');
  if (text === undefined) throw new Error(`records that were made alone are missing (${accountId})`);
  return (JSON.parse(text) as readonly { readonly text: string }[]).map(
    (record) => JSON.parse(record.text) as AuditRecord,
  );
}

function isMerged({ content }: AuditRecord): boolean {
  return content.kind === 'note' && content.detail?.['how'] === 'merged';
}

function isOfCover({ key, reason }: AuditEvent): boolean {
  return reason === 'cover' || key?.startsWith('cover') === true;
}

interface Target {
  readonly positionId: number;
  readonly atMs: number;
  readonly base: Decimal;
}

function targetsOf(events: readonly AuditEvent[]): readonly Target[] {
  return events.flatMap(({ kind, atMs, positionId, targetBase }): Target[] =>
    kind === 'targetSet' && positionId !== undefined && targetBase !== undefined
      ? [{ positionId: Number(positionId), atMs, base: decimal(targetBase) }]
      : [],
  );
}

/** Records made alone may be attached after the end of their intent was chained; they do not reopen it. */
export function openIntentsOf(events: readonly AuditEvent[]): readonly OpenIntent[] {
  const open = new Map<string, OpenIntent>();
  const ended = new Map<string, { readonly openedMs: number; readonly atMs: number }>();
  for (const { kind, key, accountId, positionId, targetBase, atMs, openedMs = -Infinity } of events) {
    if (key === undefined || positionId === undefined) continue;
    const id = `${accountId} ${key}`;
    const before = ended.get(id);
    if (kind === 'intentEnded') {
      open.delete(id);
      ended.set(id, { openedMs, atMs });
    } else if (before !== undefined && kind === 'intentOpened' && atMs <= before.openedMs) continue;
    else if (before !== undefined && kind === 'targetSet' && !open.has(id) && atMs <= before.atMs) continue;
    else if (kind === 'intentOpened' || kind === 'intentReopened' || kind === 'targetSet') {
      const known = open.get(id);
      const target = targetBase === undefined ? known?.target : decimal(targetBase);
      open.set(id, {
        accountId,
        positionId: Number(positionId),
        target,
        openedMs: known?.openedMs ?? atMs,
      });
    }
  }
  return [...open.values()];
}
