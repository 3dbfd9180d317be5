import type { GivenAnswer } from '../../core/approvals/judge.ts';
import type { AuditDraft } from '../../core/audit/audit-record.ts';
import { type Inbox, NOTHING_MEANT, type OperatorOrder } from '../../core/controls/controls.ts';
import type { OperatorRequest } from '../../core/intents/intent.ts';
import type { PositionRecord } from '../../core/ports/exchange.ts';
import { compileGlobs } from '../../core/rules/filter.ts';

/** An operator's request, as an order for one lane. */
export type LaneOrder =
  | { readonly kind: 'reduce'; readonly market: string; readonly request: OperatorRequest }
  | { readonly kind: 'withdraw'; readonly market: string; readonly orderId: string };

export interface InboxTaken {
  readonly operatorOrders: readonly LaneOrder[];
  /** Answers to approval questions, in the order in which they were given. */
  readonly answers: readonly GivenAnswer[];
  /** Orders that must wait for a read of the positions; absent: the inbox was empty. */
  readonly rest: Inbox | undefined;
  readonly notes: readonly AuditDraft[];
  /** Why orders were refused: an unknown party may be writing to the store. */
  readonly refused: readonly string[];
}

interface InboxScene {
  /** Undefined: not known now. */
  readonly positions: readonly PositionRecord[] | undefined;
  /** Whether `positions` are all; if not, an order that matches none of them waits. */
  readonly complete: boolean;
  readonly markets: readonly string[];
  /** Unix milliseconds by the clock that orders expire by. */
  readonly nowMs: number;
  /** Why an order must not be carried out; undefined: it may. */
  readonly faultOf: (order: OperatorOrder) => string | undefined;
}

/** Turns operator orders into lane orders, each once: the commit removes them from the inbox. */
export function takeInbox(inbox: Inbox | undefined, scene: InboxScene): InboxTaken {
  const { orders = [], unread = 0 } = inbox ?? {};
  if (orders.length + unread === 0) {
    return { operatorOrders: [], answers: [], rest: undefined, notes: [], refused: [] };
  }
  const refused = unread === 0 ? [] : [`${unread} in the inbox are no orders: left out`];
  const withdrawn = new Set(
    orders.flatMap((order) =>
      order.kind === 'withdraw' && scene.faultOf(order) === undefined ? [order.orderId] : [],
    ),
  );
  const operatorOrders: LaneOrder[] = [];
  const answers: GivenAnswer[] = [];
  const waiting: OperatorOrder[] = [];
  const notes: AuditDraft[] = [];
  for (const order of orders) {
    const note = (words: string): void => {
      const detail = { orderId: order.id };
      notes.push({ kind: 'note', atMs: scene.nowMs, about: 'operatorOrderNotBegun', words, detail });
    };
    const fault = scene.faultOf(order);
    if (fault !== undefined) {
      refused.push(`the order ${order.id} by ${order.author} is not carried out: ${fault}`);
      note(`refused: ${fault}`);
      continue;
    }
    if (order.kind === 'withdraw') {
      operatorOrders.push(...scene.markets.map((market) => ({ ...order, market })));
      continue;
    }
    if (order.kind === 'answer') {
      const { questionId, decision, author, reason, atMs, revision } = order;
      answers.push({ questionId, decision, author, reason, atMs, revision });
      continue;
    }
    if (scene.nowMs >= order.expiresAtMs) {
      note('the order expired before the positions could be read');
      continue;
    }
    const meant = scene.positions?.filter((record) => concerns(order, record));
    if (meant === undefined || (meant.length === 0 && !scene.complete)) {
      waiting.push(order);
      continue;
    }
    // Begun for the known positions: an operator order is meant for now.
    if (!scene.complete && order.positionId === undefined) {
      note('the list did not show every position: begun for those that it shows');
    }
    if (meant.length === 0) note(NOTHING_MEANT);
    if (!withdrawn.has(order.id)) operatorOrders.push(...meant.map((record) => laneOrderOf(order, record)));
  }
  return {
    operatorOrders,
    answers,
    rest: { version: 1, orders: waiting.filter(({ id }) => !withdrawn.has(id)) },
    notes,
    refused,
  };
}

type ReduceOrder = Extract<OperatorOrder, { kind: 'reduce' }>;

function concerns({ positionId, markets }: ReduceOrder, record: PositionRecord): boolean {
  if (positionId !== undefined) return record.positionId === positionId;
  return compileGlobs(markets ?? [])(record.market);
}

function laneOrderOf(order: ReduceOrder, { market, positionId }: PositionRecord): LaneOrder {
  const { id, target, slippageSteps, flatten, urgent, author, reason } = order;
  const because = `${author}: ${reason}`;
  const request = { id, positionId, target, slippageSteps, flatten, because };
  return { kind: 'reduce', market, request: urgent === true ? { ...request, urgent } : request };
}
