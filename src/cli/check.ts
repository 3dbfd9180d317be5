import type { Command } from 'commander';
import type { CheckReport } from '../app.ts';
import { EXIT } from './exit-codes.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, paint, printJson, printLine } from './io.ts';
import { filled } from './table.ts';

interface Flags {
  readonly print?: boolean;
  readonly json?: boolean;
}

/** `breakwater check`: reports everything that is wrong or dangerous in a config file at once. */
export function registerCheck(program: Command, io: CliIo): void {
  const command = program
    .command('check')
    .summary('check a config file, and say its rules in words')
    .description(
      'Says everything that is wrong in a config file, each with file:line:column, and warns of what is legal\n' +
        'but dangerous. Secrets are looked at when they are at hand and never printed; one that is missing here\n' +
        'is a warning, as the daemon may run elsewhere.',
    )
    .argument('<file>', 'the config file')
    .option('--print', 'say each rule, and the heartbeat, in words');
  withJson(command);
  withExamples(command, {
    'errors and warnings': 'check config/breakwater.yaml',
    'and what each rule of each account does': 'check config/breakwater.yaml --print',
  });
  withRemarks(command, '\nEnds with 0 when the file can be used (warnings or not), with 1 when it cannot.\n');
  command.action(async (file: string, flags: Flags) => {
    const { checkConfigFile } = await import('../app.ts');
    const report = await checkConfigFile(file, io.env);
    if (flags.json === true) printJson(io, flags.print === true ? report : withoutRules(report));
    else print(io, report, flags.print === true);
    if (!report.ok) io.setExitCode(EXIT.failed);
  });
}

function withoutRules(report: CheckReport): Omit<CheckReport, 'accounts' | 'heartbeat'> {
  const { accounts: _accounts, heartbeat: _heartbeat, ...rest } = report;
  return rest;
}

function print(io: CliIo, report: CheckReport, withWords: boolean): void {
  for (const { severity, text } of report.problems) {
    printLine(io, paint(io, 'stdout', severity === 'error' ? 'red' : 'yellow', text));
  }
  if (withWords) printRules(io, report);
  printLine(io, summary(report));
}

function printRules(io: CliIo, { accounts, heartbeat }: CheckReport): void {
  if (heartbeat !== undefined) printLine(io, `${paint(io, 'stdout', 'bold', 'heartbeat')}: ${heartbeat}`);
  for (const alike of foldedAccounts(accounts)) {
    const [{ mode, rules }] = alike;
    for (const line of headLines(alike)) printLine(io, paint(io, 'stdout', 'bold', line));
    if (rules.length === 0) printLine(io, '  no rules: it is only watched');
    for (const rule of rules) {
      const differs = rule.mode === mode ? '' : `, ${rule.mode}`;
      printLine(io, `  ${paint(io, 'stdout', 'cyan', rule.id)} (${rule.severity}${differs}):`);
      printLine(io, `    ${rule.words}.`);
    }
  }
}

type Account = CheckReport['accounts'][number];

/** Groups accounts with the same mode and rules, in the order of the config. */
function foldedAccounts(accounts: readonly Account[]): readonly (readonly [Account, ...Account[]])[] {
  const folded = Map.groupBy(accounts, ({ mode, rules }) => JSON.stringify([mode, rules]));
  return [...folded.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [[first, ...others]],
  );
}

const LINE_WIDTH = 80;
const INDENT = '  ';

/** `account desk-1 (enforce)`, or `2 accounts (enforce):` with their names on the next lines. */
function headLines(alike: readonly [Account, ...Account[]]): readonly string[] {
  const [{ id, mode }] = alike;
  if (alike.length === 1) return [`account ${id} (${mode})`];
  const names = alike.map(({ id: name }, at) => (at === alike.length - 1 ? name : `${name},`));
  const lines = filled(names, LINE_WIDTH - INDENT.length).map((line) => `${INDENT}${line}`);
  return [`${alike.length} accounts (${mode}):`, ...lines];
}

function summary({ file, ok, errors, warnings }: CheckReport): string {
  const counted = [counts(errors, 'error'), counts(warnings, 'warning')]
    .filter((part) => part !== '')
    .join(', ');
  if (counted === '') return `${file}: no problems`;
  return `${file}: ${ok ? 'can be used' : 'cannot be used'}: ${counted}`;
}

function counts(count: number, what: string): string {
  if (count === 0) return '';
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
