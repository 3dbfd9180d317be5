import type { FieldReport } from './report.ts';
import { percent, WANTED_OF_EACH } from './report.ts';

/** Cases of a kind named in a table; the JSON names all. */
const EXAMPLES = 5;

export interface ReportTable {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function tablesOf(report: FieldReport): readonly ReportTable[] {
  return [
    {
      title: 'Bars',
      head: ['What', 'Wanted', 'Measured', 'Holds'],
      rows: report.bars.map(({ what, wanted, got, holds }) => [what, wanted, got, holds ? 'yes' : 'no']),
    },
    {
      title: 'By value of a factor',
      head: ['Factor', 'Value', 'Drawn', 'Preventable', 'Prevented', 'Share', 'Below the bar'],
      rows: report.values.map(({ factor, value, drawn, preventable, prevented, share }) => [
        factor,
        value,
        String(drawn),
        String(preventable),
        String(prevented),
        percent(share),
        share !== null && share < WANTED_OF_EACH ? 'yes' : '',
      ]),
    },
    {
      title: 'Cells that fail: two values together, the worst first',
      head: ['Cell', 'Preventable', 'Prevented', 'Share'],
      rows: report.cells.map(({ cell, preventable, prevented, share }) => [
        cell,
        String(preventable),
        String(prevented),
        percent(share),
      ]),
    },
    {
      title: 'Why: how far the daemon came in cases that it lost',
      head: ['What', 'Cases', 'Mostly with', 'To replay'],
      rows: report.failures.map(({ failure, count, mostly, ids }) => [
        failure,
        String(count),
        mostly.join(', '),
        ids.slice(0, EXAMPLES).join(' '),
      ]),
    },
    {
      title: 'Scenarios of their own',
      head: ['Scenario', 'Played', 'Preventable', 'Prevented', 'Lost, to replay'],
      rows: report.scenarios.map(({ id, drawn, preventable, prevented, lost }) => [
        id,
        String(drawn),
        String(preventable),
        String(prevented),
        lost.slice(0, 4).join(' '),
      ]),
    },
    {
      title: 'Accounts that needed nothing and were harmed',
      head: ['Case', 'Harm'],
      rows: report.controls.harmed.slice(0, 20).map(({ id, harm }) => [id, harm.slice(0, 3).join('; ')]),
    },
  ].filter(({ rows }) => rows.length > 0);
}

export function summaryOf({
  seed,
  total,
  pairs,
  tookMs,
  cpuMs,
  isStopped,
  reaction,
  errors,
}: FieldReport): string {
  const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;
  return [
    isStopped ? 'Stopped early: what follows is incomplete.' : '',
    `Seed ${seed}: ${total.drawn} cases drawn, ${total.preventable} preventable, ${total.prevented} prevented;`,
    `${pairs.covered} of ${pairs.all} pairs of values.`,
    reaction.medianMs === null ? '' : `From breach to first fill: ${seconds(reaction.medianMs)} (median).`,
    `Took ${seconds(tookMs)}, ${seconds(cpuMs)} of processor time.`,
    errors.length === 0 ? '' : `Unexpected errors: ${errors.join('; ')}`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}

export function asText({ title, head, rows }: ReportTable): string {
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [title, '', line(head.map((name) => name.toUpperCase())), ...rows.map(line)].join('\n');
}

export function asMarkdown({ title, head, rows }: ReportTable): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [`### ${title}`, '', line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join(
    '\n',
  );
}
