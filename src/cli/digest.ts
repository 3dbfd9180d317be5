import type { Command } from 'commander';
import { MS_PER_DAY } from '../core/quantities/units.ts';
import { CliError, UsageError } from './errors.ts';
import { withExamples, withJson, withRemarks } from './help.ts';
import { type CliIo, printJson, printLine } from './io.ts';
import { type PlaceFlags, withOperations, withPlace } from './operate/place.ts';
import { momentOf } from './replay/values.ts';
import { printable } from './table.ts';

interface Flags extends PlaceFlags {
  readonly from?: string;
  readonly to?: string;
  readonly all?: boolean;
}

/** `breakwater digest`: prints the daily digest without sending it. */
export function registerDigest(program: Command, io: CliIo): void {
  const command = program
    .command('digest')
    .summary('what the daily digest says, without sending it')
    .description(
      'Sums up the last 24 hours of all accounts as the daily digest of the config section `digest` does: nearest ' +
        'calls, what was refused, rules that fired, what was done and what it cost, and what enforce mode would have ' +
        'done where rules only observed. Sends nothing, and asks nothing of the exchange.',
    )
    .option(
      '--from <time>',
      'begin here: 2026-03-12, 2026-03-12T10:00 (UTC) or Unix milliseconds (default: a day before --to)',
    )
    .option('--to <time>', 'end here (default: now)')
    .option('--all', 'everything, and not only what fits a message');
  withJson(withPlace(command));
  withExamples(command, {
    'the last 24 hours': 'digest --config config/breakwater.yaml',
    'one day, for a script': 'digest --from 2026-03-12 --to 2026-03-13 --json',
  });
  withRemarks(command, EXPLANATION);
  command.action((flags: Flags) => digest(io, flags));
}

const EXPLANATION = `
Times are in UTC. The nearest calls come from the samples of the last eight hours, and before that from the moments at
which a rule changed its state: between those an account may have been nearer. docs/notifications.md has more.
Ends with 0 also where nothing happened, 2 when an option makes no sense.
`;

async function digest(io: CliIo, flags: Flags): Promise<void> {
  const { parseMoment, digestText } = await import('../app.ts');
  const toMs = momentOf(parseMoment, '--to', flags.to) ?? Date.now();
  const fromMs = momentOf(parseMoment, '--from', flags.from) ?? toMs - MS_PER_DAY;
  if (toMs <= fromMs) throw new UsageError('--to: expected a time after --from.');
  await withOperations(io, flags, async ({ digest: gather, fault }) => {
    if (gather === undefined && fault !== undefined) {
      throw new CliError('config-refused', 'a digest needs the whole config, which cannot be used.');
    }
    if (gather === undefined) {
      throw new UsageError('without a config nobody knows which accounts there are.', 'Add --config FILE.');
    }
    const found = await gather({ fromMs, toMs }, io.signal);
    if (flags.json === true) return printJson(io, { event: 'digest', ...found });
    const { headline, lines } = await digestText(found, { all: flags.all === true });
    for (const line of [headline, ...lines]) printLine(io, printable(line));
  });
}
