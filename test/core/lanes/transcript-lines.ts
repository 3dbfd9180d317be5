import type { AuditEvent } from '../../../src/core/audit/audit-event.ts';
import type { LaneState } from '../../../src/core/lanes/lane-state.ts';

/** Steps and events of a lane, one per line. */
export function lineOf({
  kind,
  reason,
  alarm,
  positionId,
  ruleId,
  order,
  cancel,
  targetBase,
  sizeBase,
}: AuditEvent): string {
  const request = order && [
    order.market,
    order.side,
    order.amount,
    `at ${order.activationPrice}`,
    `limit ${order.price}`,
    order.positionSide,
    order.inFavour === true ? 'in favour' : '',
    order.clientOrderId.slice(-4),
  ];
  const parts = [
    kind,
    reason,
    alarm ? 'ALARM' : '',
    ruleId ?? '',
    positionId ?? '',
    targetBase === undefined ? '' : `target ${targetBase}`,
    sizeBase === undefined ? '' : `size ${sizeBase}`,
    ...(request ?? []),
    cancel === undefined ? '' : `${cancel.market} ${cancel.types?.join('+')}`,
  ];
  return parts.filter((part) => part !== '').join(' ');
}

/** The state of a lane in one line. */
export function summaryOf(state: LaneState): string {
  const intents = state.intents.map(
    ({ ruleId, positionId, end, targetBase, failures, renewals, ...intent }) =>
      [
        ruleId,
        positionId,
        targetBase ?? '?',
        end === null ? (intent.refusedBy ?? intent.blockedBy ?? 'open') : end.why,
        `${failures}f${renewals}r`,
        intent.approvedBase === undefined ? '' : `approved ${intent.approvedBase}`,
      ].join(' '),
  );
  const orders = state.orders.map(
    ({ role, positionId, amount, status, presumedFilled, ambiguous, overshoot, activatedMs, ...order }) =>
      [
        role,
        positionId,
        amount,
        status,
        ...[presumedFilled && 'filled', ambiguous && 'ambiguous', overshoot && 'overshoot'].filter(Boolean),
        ...[activatedMs !== null && 'activated', order.inverted && 'inverted', order.trial && 'trial'].filter(
          Boolean,
        ),
      ].join(' '),
  );
  const covers = state.covers.map(
    ({ positionId, blockedBy, refusedBy }) => blockedBy ?? refusedBy ?? positionId,
  );
  const absent = state.absent?.map(({ positionId, phase, reads }) => `${positionId} ${phase} ${reads}`) ?? [];
  const doubt = state.doubt === null ? '' : `doubt ${state.doubt.why}`;
  const change = state.change === null ? '' : `change ${state.change.why} ${state.change.phase}`;
  const tasks = state.cancels.map(({ types, state: how }) => `${types.join('+')} ${how}`);
  const { margins, contests } = state;
  const { maintenance, basis, basisInFavour: _, ...bounds } = state.learned ?? {};
  const steps = Object.keys(bounds).length === 0 ? undefined : bounds;
  const learned = [steps, maintenance, basis, margins, contests].map((one) =>
    one === undefined ? '' : JSON.stringify(one),
  );
  return [...intents, ...covers, ...orders, ...tasks, ...absent, doubt, change, ...learned]
    .filter((part) => part !== '')
    .join(' | ');
}
