import { withGenerated } from '../../scripts/documents/config-tables.ts';
import { asMarkdown, summaryOf, tablesOf } from './render.ts';
import type { FieldReport } from './report.ts';

/** docs/field.md with the tables of a report. */
export function documentOf(document: string, report: FieldReport): string {
  const tables = tablesOf(report).map(asMarkdown);
  return withGenerated(document, { field: [summaryOf(report), ...tables].join('\n\n') });
}
