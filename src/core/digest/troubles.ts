import { type AuditEvent, showsOrderStands } from '../audit/audit-event.ts';
import type { TroubleDigest, TroubleKind } from './digest.ts';

/** Refusals, failures and alarms, grouped by kind and reason, gravest first. */
export function troublesIn(events: readonly AuditEvent[]): readonly TroubleDigest[] {
  const found = events.flatMap((event) => {
    const kind = troubleOf(event);
    return kind === undefined ? [] : [{ kind, event }];
  });
  const groups = Map.groupBy(found, ({ kind, event: { reason, ruleId, market } }) =>
    JSON.stringify([kind, reason, ruleId ?? null, market ?? null]),
  );
  return [...groups.values()]
    .flatMap((group): readonly TroubleDigest[] => {
      const last = group.at(-1);
      if (last === undefined) return [];
      const { reason, ruleId = null, market = null, words, atMs } = last.event;
      const alarm = group.some(({ event }) => event.alarm);
      return [{ kind: last.kind, reason, ruleId, market, times: group.length, words, lastMs: atMs, alarm }];
    })
    .toSorted(compareTroubles);
}

/** Negative if `a` comes first. */
export function compareTroubles(a: TroubleDigest, b: TroubleDigest): number {
  return Number(b.alarm) - Number(a.alarm) || b.times - a.times || a.lastMs - b.lastMs;
}

const KINDS: Partial<Readonly<Record<AuditEvent['kind'], TroubleKind>>> = {
  refused: 'heldBack',
  operatorOrderRefused: 'heldBack',
  rejected: 'orderRefused',
  cancelRejected: 'cancelRefused',
};

/** Events of observe mode are excluded: the digest reports them as what would have been done. */
function troubleOf(event: AuditEvent): TroubleKind | undefined {
  const { kind, reason, alarm } = event;
  if (reason === 'observeMode' || reason.endsWith(':observeMode')) return undefined;
  // Asking people, or being vetoed, is no trouble.
  if (reason === 'awaitingApproval' || reason.endsWith('vetoed')) return undefined;
  if (showsOrderStands(event)) return undefined;
  const known = KINDS[kind];
  if (known !== undefined) return known;
  if (!alarm) return undefined;
  if (kind === 'blocked') return 'blocked';
  return kind === 'intentEnded' ? 'failed' : 'alarm';
}
