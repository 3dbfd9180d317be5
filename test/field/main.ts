import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { createProgress } from '../../src/cli/replay/progress.ts';
import { caseOfId } from './case-at.ts';
import type { Fixed } from './covering.ts';
import { documentOf } from './document.ts';
import { FACTORS, parseFixed } from './factors.ts';
import { playField } from './play.ts';
import { asText, summaryOf, tablesOf } from './render.ts';
import { replayCase } from './replay-case.ts';
import { reportOf } from './report.ts';
import { SCENARIO_PLACES } from './scenarios.ts';
import { playSlow, slowText, worseThanStop } from './slow/play-slow.ts';

const HELP = `Plays the field grid: slow, odd, crossed, hedged and refused exchanges in virtual time, in all of which the daemon has to
prevent the liquidation that somebody who knows the path of prices prevents.

  npm run field -- [options]

  --seed N              what everything follows from (default 1)
  --cases N             preventable cases to play (default 2000)
  --only factor=value   only cases with this value; repeatable
  --controls N          accounts that need nothing (default a tenth of the cases)
  --no-scenarios        leave out outages, thin books, gaps and the other scenarios
  --slow                play slow falls instead: the whole sets against their own standing stop alone
  --case ID             replay one case (1-42, 1-c42, 1-s42; 1-w42 of the slow falls), with what the daemon decided; give the same --only
  --json                the report as JSON on standard output
  --docs                write the tables into docs/field.md
  --help

Factors and their values:
${Object.entries(FACTORS)
  .map(([factor, values]) => `  ${factor}: ${values.join(' | ')}`)
  .join('\n')}

Plays in as many threads as there are processors. Ctrl-C prints what there is. Ends with 0 when every bar holds, 1 when
one does not, 2 when an option makes no sense, 130 after Ctrl-C.
`;

class UsageError extends Error {
  readonly code = 'usage';
}

function readFlags(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seed: { type: 'string', default: '1' },
        cases: { type: 'string', default: '2000' },
        only: { type: 'string', multiple: true, default: [] },
        controls: { type: 'string' },
        'no-scenarios': { type: 'boolean', default: false },
        slow: { type: 'boolean', default: false },
        case: { type: 'string' },
        json: { type: 'boolean', default: false },
        docs: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new UsageError(`--${name} ${text}: expected a whole number`);
  return Number(text);
}

function fixedOf(texts: readonly string[]): Fixed {
  return Object.fromEntries(
    texts.map((text) => {
      const pair = parseFixed(text);
      if (pair === undefined) throw new UsageError(`--only ${text}: expected factor=value; see --help`);
      return pair;
    }),
  );
}

async function main(): Promise<number> {
  const flags = readFlags(process.argv.slice(2));
  if (flags.help) return print(HELP);
  const fixed = fixedOf(flags.only);
  if (flags.case !== undefined) {
    const found = caseOfId(flags.case, fixed);
    if (found === undefined) throw new UsageError(`--case ${flags.case}: there is no such case`);
    return print(await replayCase(found, flags.json));
  }
  const cases = wholeNumber('cases', flags.cases);
  const controls =
    flags.controls === undefined ? Math.ceil(cases / 10) : wholeNumber('controls', flags.controls);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const progress = createProgress({
    stderr: process.stderr,
    isTty: { stdin: false, stdout: process.stdout.isTTY, stderr: process.stderr.isTTY },
    env: process.env,
  });
  process.stderr.write(`Playing ${cases} cases; Ctrl-C prints what there is by then.\n`);
  const seed = wholeNumber('seed', flags.seed);
  if (flags.slow) {
    const played = await playSlow({ seed, cases }, stop.signal, (done, of) =>
      progress.show(done / of, `${done} of ${of}`),
    ).finally(() => progress.end());
    print(flags.json ? `${JSON.stringify(played)}\n` : slowText(played));
    if (stop.signal.aborted) return 130;
    return worseThanStop(played.results).length === 0 ? 0 : 1;
  }
  const played = await playField(
    { seed, cases, fixed, controls, scenarios: flags['no-scenarios'] ? 0 : SCENARIO_PLACES.length },
    stop.signal,
    (done, of, what) => progress.show(done / of, `${done} of ${of} (${what})`),
  ).finally(() => progress.end());
  const report = reportOf(played);
  if (flags.json) print(`${JSON.stringify(report)}\n`);
  else print(`${summaryOf(report)}\n\n${tablesOf(report).map(asText).join('\n\n')}\n`);
  if (flags.docs && !report.isStopped) {
    const file = new URL('../../docs/field.md', import.meta.url);
    writeFileSync(file, documentOf(readFileSync(file, 'utf8'), report));
  }
  if (report.isStopped) return 130;
  return report.bars.every(({ holds }) => holds) ? 0 : 1;
}

function print(text: string): 0 {
  process.stdout.write(text);
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
