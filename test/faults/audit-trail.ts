import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { type Decimal, decimal } from '../../src/core/quantities/decimal.ts';
import type { World } from '../../src/world/open-world.ts';

/** More than any account of a world has. */
const MOST_RECORDS = 1_000_000;

export interface OpenIntent {
  readonly accountId: string;
  readonly positionId: number;
  readonly target: Decimal | undefined;
}

/** What the audit trail of a world says that its ledger cannot: what was meant. */
export interface AuditTrail {
  readonly events: readonly AuditEvent[];
  /** Client order ids of standing stops. */
  readonly covers: ReadonlySet<string>;
  /** Client order ids of orders that may add up with others. */
  readonly overshoots: ReadonlySet<string>;
  /** The lowest target that was committed for a position up to a time. */
  readonly lowestTarget: (positionId: number, atMs: number) => Decimal | undefined;
  /** Intents that had not ended, with the last target of each. */
  readonly open: readonly OpenIntent[];
}

export async function auditTrailOf({ audit, spec }: World): Promise<AuditTrail> {
  const chains = await Promise.all(spec.exchange.accounts.map(({ id }) => audit.tail(id, MOST_RECORDS)));
  const events = chains
    .flat()
    .flatMap(({ record: { content } }) => (content.kind === 'action' ? [content.event] : []));
  const idsOf = (wanted: (event: AuditEvent) => boolean): ReadonlySet<string> =>
    new Set(
      events.flatMap((event) =>
        event.order !== undefined && wanted(event) ? [event.order.clientOrderId] : [],
      ),
    );
  const targets = Map.groupBy(targetsOf(events), ({ positionId }) => positionId);
  return {
    events,
    covers: idsOf((event) => event.kind === 'placing' && isOfCover(event)),
    overshoots: idsOf((event) => event.kind === 'overshoot'),
    lowestTarget: (positionId, atMs) => {
      let lowest: Decimal | undefined;
      for (const target of targets.get(positionId) ?? []) {
        if (target.atMs <= atMs && (lowest === undefined || target.base.lt(lowest))) lowest = target.base;
      }
      return lowest;
    },
    open: openIntentsOf(events),
  };
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

function openIntentsOf(events: readonly AuditEvent[]): readonly OpenIntent[] {
  const open = new Map<string, OpenIntent>();
  for (const { kind, key, accountId, positionId, targetBase } of events) {
    if (key === undefined || positionId === undefined) continue;
    const id = `${accountId} ${key}`;
    if (kind === 'intentEnded') open.delete(id);
    else if (kind === 'intentOpened' || kind === 'intentReopened' || kind === 'targetSet') {
      const target = targetBase === undefined ? open.get(id)?.target : decimal(targetBase);
      open.set(id, { accountId, positionId: Number(positionId), target });
    }
  }
  return [...open.values()];
}
