import type { AccountView } from '../view/account-view.ts';

/** Whether it was judged within the last minute: a daemon of an older version does not otherwise show that it runs. */
export function isPolled({ judgedAtMs }: AccountView, nowMs: number): boolean {
  return judgedAtMs !== null && nowMs - judgedAtMs < 60_000;
}

const OF_OPERATOR = 'operator:';

/** Ids of the operator orders that wait in the inbox, or have begun and are not over. */
export function openOrders({ inbox, intents }: AccountView): readonly string[] {
  const waiting = inbox.flatMap(({ kind, id }) => (kind === 'reduce' ? id : []));
  const begun = intents.flatMap(({ ruleId, ended }) =>
    ended || !ruleId.startsWith(OF_OPERATOR) ? [] : ruleId.slice(OF_OPERATOR.length),
  );
  return [...new Set([...waiting, ...begun])];
}

/** Returns why the order cannot be withdrawn; undefined if it is open, or if nobody can tell. */
export function missingOrder(
  orderId: string,
  view: AccountView,
  nowMs: number,
): { readonly words: string; readonly cure: string } | undefined {
  const open = openOrders(view);
  if (open.includes(orderId) || !isAllShown(view, nowMs)) return undefined;
  return {
    words: `no such order is open: account ${view.accountId} has no order ${orderId}, or it is over; there is nothing to withdraw.`,
    cure: open.length === 0 ? 'No operator order is open there.' : `Open there: ${open.join(', ')}.`,
  };
}

/** Redis may be behind a daemon that goes on without it; once a daemon has polled, everything is in Redis. */
function isAllShown(view: AccountView, nowMs: number): boolean {
  return view.refused === null && view.state.cause !== 'storeLost' && isPolled(view, nowMs);
}
