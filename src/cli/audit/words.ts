import type { AuditContent, AuditRecord } from '../../core/ports/audit.ts';
import type { OperatorOrder } from '../../core/ports/controls.ts';
import { scopeWords } from '../operate/controls.ts';
import { timeOf } from '../operate/values.ts';

/** A record in one line for people: number, time, and what it says. */
export function recordLine(record: AuditRecord): string {
  return `${record.seq} ${timeOf(record.atMs)} ${contentWords(record.content)}`;
}

export function contentWords(content: AuditContent): string {
  switch (content.kind) {
    case 'decision': {
      const changes = content.transitions.map(
        ({ ruleId, subject, from, to, words }) => `rule ${ruleId} for ${subject}: ${from} -> ${to}: ${words}`,
      );
      return `decision: ${changes.length === 0 ? 'nothing changed' : changes.join('; ')}`;
    }
    case 'action': {
      const { kind, market, reason, words, alarm } = content.event;
      const where = market === undefined ? '' : ` ${market}`;
      return `${alarm ? 'ALARM ' : ''}${kind}${where} (${reason}): ${words}`;
    }
    case 'notification':
      return `notification: ${JSON.stringify(content.detail)}`;
    case 'control': {
      const { change, control, by } = content;
      const what = control.kind === 'pause' ? 'pause' : 'silence';
      return `${what} ${change} for ${scopeWords(control)} by ${by.author}: ${by.reason}`;
    }
    case 'operatorOrder':
      return `by hand: ${orderWords(content.order)} by ${content.order.author}: ${content.order.reason}`;
    case 'note':
      return `${content.about}: ${content.words}`;
    case 'lifeStarted': {
      const before = content.previousLife === null ? '' : ` after ${content.previousLife}`;
      return `life ${content.life} began${before} (${content.why})`;
    }
    case 'checkpoint': {
      const exported = content.exportSha256 === null ? 'not exported' : `export ${content.exportSha256}`;
      return `checkpoint: everything up to ${content.lastSeq} was taken away (${exported}): ${content.reason}`;
    }
  }
}

function orderWords(order: OperatorOrder): string {
  if (order.kind === 'withdraw') return `withdraw ${order.orderId}`;
  const what = order.flatten ? 'flatten' : 'reduce';
  const of =
    order.positionId === undefined ? (order.markets ?? []).join(', ') : `position ${order.positionId}`;
  return `${what} ${of} (${order.id})`;
}
