import type { AuditRecord } from '../../core/audit/audit-record.ts';
import { contentWords } from '../../core/view/record-words.ts';
import { timeOf } from '../operate/values.ts';

/** A record in one line for people: number, time, and what it says. */
export function recordLine(record: AuditRecord): string {
  return `${record.seq} ${timeOf(record.atMs)} ${contentWords(record.content)}`;
}
