import process from 'node:process';
import { parseArgs } from 'node:util';
import { mixedCase } from './mixed-case.ts';
import { NoSuchVersionError, type OtherTree, openOtherTree } from './other-tree.ts';
import { type Mixed, play } from './play.ts';

const HELP = `Runs this version and another one at once against one Redis, through a crash in which one of them may be killed, and
then each alone, on what the other has written: an upgrade and its way back. The ledger of a simulated exchange judges.
The other version is a commit of this repository that runs with the packages that are installed here.

  npm run versions -- --with REF [--seeds N] [--from SEED] [--json]
  npm run versions -- --with REF --seed SEED      plays one again

Ends with 0 when everything held, with 1 when something did not, with 2 for options that make no sense, and with 130
when it was interrupted (what was played by then is summed up).
`;

const { values } = parseArgs({
  options: {
    with: { type: 'string' },
    seeds: { type: 'string', default: '20' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function refuse(words: string): never {
  process.stderr.write(`${words}\n`);
  process.exit(2);
}

function whole(name: string, text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : refuse(`--${name} ${text}: expected a whole number`);
}

if (values.help) process.stdout.write(HELP);
else await run(values.with ?? refuse('--with: expected a commit, such as a tag of a release'));

async function run(ref: string): Promise<void> {
  const from = whole('from', values.seed ?? values.from);
  const seeds = values.seed === undefined ? whole('seeds', values.seeds) : 1;
  const tree = await openOtherTree(ref).catch((error: unknown) => {
    if (error instanceof NoSuchVersionError) return refuse(`--with ${ref}: ${error.message}`);
    throw error;
  });
  try {
    if (!values.json) process.stdout.write(`old: ${tree.words}\n`);
    await playAll(tree, from, from + seeds);
  } finally {
    await tree.remove();
  }
}

async function playAll(tree: OtherTree, from: number, to: number): Promise<void> {
  const over = new AbortController();
  process.once('SIGINT', () => {
    over.abort();
    process.exitCode = 130;
  });
  const all: Mixed[] = [];
  for (let seed = from; seed < to && !over.signal.aborted; seed++) {
    const mixed = await play(mixedCase(seed), tree);
    all.push(mixed);
    if (mixed.violations.length > 0) process.exitCode ||= 1;
    process.stdout.write(`${values.json ? JSON.stringify(mixed) : lineOf(mixed)}\n`);
  }
  if (!values.json) process.stdout.write(sumOf(all));
}

function lineOf({ played, violations, orders, durationMs }: Mixed): string {
  const { seed, first, killed, killedAfterMs, next } = played;
  const death = killed === 'none' ? 'none killed' : `${killed} killed after ${killedAfterMs} ms`;
  const line = `${seed}: both, ${first} first, ${death}; then ${next} alone, then the other: ${orders} orders, ${(durationMs / 1_000).toFixed(0)} s`;
  return [line, ...violations.map((words) => `  VIOLATION ${words}`)].join('\n');
}

function sumOf(all: readonly Mixed[]): string {
  const broken = all.filter(({ violations }) => violations.length > 0).length;
  const warnings = new Map<string, number>();
  for (const [words, times] of all.flatMap((mixed) => Object.entries(mixed.warnings))) {
    warnings.set(words, (warnings.get(words) ?? 0) + times);
  }
  const lines = [...warnings]
    .toSorted((a, b) => b[1] - a[1])
    .map(([words, times]) => `  ${times} x ${words}`);
  return [`${all.length} cases, ${broken} with a violation. Warned of:`, ...lines, ''].join('\n');
}
