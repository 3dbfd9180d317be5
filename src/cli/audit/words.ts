import type { ChainedRecord } from '../../core/audit/audit-record.ts';
import { contentWords } from '../../core/view/record-words.ts';
import { timeOf } from '../operate/values.ts';

/** A record in one line for people: number, time, and what it says. */
export function recordLine({ number, record }: Pick<ChainedRecord, 'number' | 'record'>): string {
  return `${number} ${timeOf(record.atMs)} ${contentWords(record.content)}`;
}
