import { setTimeout as sleep } from 'node:timers/promises';
import type { Operations } from '../../app.ts';
import type { AuditContent } from '../../core/audit/audit-record.ts';
import { NOTHING_MEANT } from '../../core/controls/controls.ts';
import type { Expectation } from '../../core/controls/daemon-sign.ts';
import { isPolled } from '../../core/controls/open-orders.ts';
import type { AccountView } from '../../core/view/account-view.ts';

/** Outcome of an operator order within the first seconds. */
export type HandOrderOutcome =
  /** A daemon carries it out. */
  | { readonly kind: 'taken' }
  /** A daemon has looked: the order concerns no open position. */
  | { readonly kind: 'nothing' }
  /** A daemon has it, but sends nothing for now. */
  | { readonly kind: 'held'; readonly why: string }
  | { readonly kind: 'refused'; readonly why: string }
  /** It is still in the inbox. */
  | { readonly kind: 'waiting'; readonly why: string }
  /** The command did not wait. */
  | { readonly kind: 'ordered' };

const WAIT_MS = 5_000;
const LOOK_MS = 200;
/** Newest records to search: they include those that a poll writes with the order. */
const RECORDS = 100;

interface Watched {
  readonly accountId: string;
  readonly orderId: string;
  readonly expected: Expectation;
  readonly signal: AbortSignal;
}

/** Waits for a daemon to take or refuse the order; does not wait if no daemon runs. */
export async function outcomeOf(operations: Operations, watched: Watched): Promise<HandOrderOutcome> {
  const { accountId, orderId, expected, signal } = watched;
  const untilMs = Date.now() + WAIT_MS;
  for (;;) {
    // Read the view first: the commit that takes the order out of the inbox also writes the reason to the audit.
    const view = await operations.view(accountId);
    const isWaiting = view.inbox.some(({ id }) => id === orderId);
    if (!isWaiting) return await endOf(operations, view, orderId);
    const nobody = expected.kind === 'nobody' && !isPolled(view, Date.now());
    if (nobody) return { kind: 'waiting', why: 'no daemon runs that could take it' };
    if (Date.now() >= untilMs)
      return { kind: 'waiting', why: `no daemon has taken it within ${WAIT_MS / 1_000} s` };
    await sleep(LOOK_MS, undefined, { signal });
  }
}

async function endOf({ audit }: Operations, view: AccountView, orderId: string): Promise<HandOrderOutcome> {
  const records = (await audit.tail(view.accountId, RECORDS)).map(({ record }) => record.content);
  const isBegun = records.some((content) => opens(content, orderId));
  const note = records.findLast(
    (content) => content.kind === 'note' && content.detail?.['orderId'] === orderId,
  );
  if (note?.kind === 'note' && note.words === NOTHING_MEANT) return { kind: 'nothing' };
  if (note?.kind === 'note' && !isBegun)
    return { kind: 'refused', why: note.words.replace(/^refused: /, '') };
  if (view.pause !== null) return { kind: 'held', why: 'it is paused: nothing is sent before it is resumed' };
  const isObserved = view.intents.some(
    ({ ruleId, mode }) => ruleId === `operator:${orderId}` && mode === 'observe',
  );
  if (isObserved)
    return { kind: 'held', why: 'the account is in observe mode: it is recorded, and nothing is sent' };
  return { kind: 'taken' };
}

function opens(content: AuditContent, orderId: string): boolean {
  return (
    content.kind === 'action' &&
    content.event.kind === 'intentOpened' &&
    content.event.ruleId === `operator:${orderId}`
  );
}
