import { referenceOf } from '../approvals/question.ts';
import type { AuditEvent } from '../audit/audit-event.ts';
import type { AuditContent } from '../audit/audit-record.ts';
import type { Control, OperatorOrder } from '../controls/controls.ts';
import type { Transition } from '../rules/decision.ts';
import { orderWords } from './state-of.ts';

/** An audit record in one line for people. */
export function contentWords(content: AuditContent): string {
  switch (content.kind) {
    case 'decision': {
      const changes = content.transitions.map(
        (change) => `rule ${change.ruleId} for ${change.subject}: ${transitionWords(change)}`,
      );
      return `decision: ${changes.length === 0 ? 'nothing changed' : changes.join('; ')}`;
    }
    case 'action': {
      const { kind, market, reason, alarm } = content.event;
      const where = market === undefined ? '' : ` ${market}`;
      return `${alarm ? 'ALARM ' : ''}${kind}${where} (${reason}): ${actionWords(content.event)}`;
    }
    case 'notification':
      return `notification: ${JSON.stringify(content.detail)}`;
    case 'control': {
      const { change, control, by } = content;
      return `${control.kind} ${change} for ${scopeWords(control)} by ${by.author}: ${by.reason}`;
    }
    case 'operatorOrder':
      return `by hand: ${operatorOrderWords(content.order)} by ${content.order.author}: ${content.order.reason}`;
    case 'note':
      return `${content.about}: ${content.words}`;
    case 'epochStarted': {
      const before = content.previousEpoch === null ? '' : ` after ${content.previousEpoch}`;
      return `epoch ${content.epoch} began${before} (${content.why})`;
    }
    case 'lanes': {
      const heads = Object.entries(content.heads).map(([market, { seq }]) => `${market} up to ${seq}`);
      return `records of lanes: ${heads.join(', ')}`;
    }
    case 'checkpoint': {
      const exported = content.exportSha256 === null ? 'not exported' : `export ${content.exportSha256}`;
      return `checkpoint: everything up to ${content.lastSeq} of its chain was taken away (${exported}): ${content.reason}`;
    }
  }
}

/** Spells out what observe mode did not send, so that a person can judge those exact orders and cancels. */
export function actionWords({ kind, order, cancel, words }: AuditEvent): string {
  if (kind === 'wouldPlace' && order !== undefined) return `${orderWords(order)}; ${words}`;
  if (kind !== 'wouldCancel' || cancel === undefined) return words;
  const where = cancel.market === undefined ? 'in every market' : `in ${cancel.market}`;
  const types = cancel.types === undefined ? '' : `${cancel.types.join(', ')} `;
  return `cancel all ${types}orders ${where}; ${words}`;
}

/** `pending -> firing: the condition has held long enough: distance to liquidation is 4.1 %, below 5 %`. */
export function transitionWords({ from, to, words }: Transition): string {
  return `${from} -> ${to}: ${words}`;
}

function operatorOrderWords(order: OperatorOrder): string {
  if (order.kind === 'withdraw') return `withdraw ${order.orderId}`;
  if (order.kind === 'answer')
    return `${order.decision} ${referenceOf({ id: order.questionId }, order.revision)}`;
  const what = order.flatten ? (order.urgent === true ? 'flatten, urgent,' : 'flatten') : 'reduce';
  const of =
    order.positionId === undefined ? (order.markets ?? []).join(', ') : `position ${order.positionId}`;
  return `${what} ${of} (${order.id})`;
}

/** `account desk-1`, `rule near on position:42 of every account`. */
export function scopeWords(control: Control): string {
  const where = control.accountId === null ? 'every account' : `account ${control.accountId}`;
  if (control.kind === 'pause') return where;
  const subject = control.subject === null ? '' : ` on ${control.subject}`;
  return `rule ${control.ruleId}${subject} of ${where}`;
}
