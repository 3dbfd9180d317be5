import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { withGenerated } from '../../scripts/documents/config-tables.ts';
import { parseDuration } from '../../src/config/shape/units.ts';
import { PATH_MODELS } from '../../src/simulator/prices/price-path.ts';
import { CANDLES } from '../support/candles.ts';
import { type CandidateSpace, USUAL_LADDERS, USUAL_SPACE } from './candidates.ts';
import { crashPrices, type Part } from './files.ts';
import { booksNamed, COARSE_SPACE, SHIPPED, setPlan, WALKS } from './plan.ts';
import { PAGE, PICTURE, pictureFile, recordLines, tableLines } from './render.ts';
import { searchFront } from './search.ts';
import { openTunePool } from './tune-pool.ts';

const HELP = `Measures sets of rules over standard books (2x to 20x; long, short, hedged, portfolio) and real crashes.

  npm run rulesets -- [options]

  --part PART      fit (2020, 2021) or report (2022, 2025); sets are chosen on one and reported on the other (default report)
  --search SPACE   search over thresholds, steps, waits and standing stops too: usual (some hundred sets) or coarse
                   (some forty); without it only the shipped sets
  --ladders        with --search usual: ladders of standing stops as well
  --books NAMES    such as 5x or '5x long' or short, separated by commas (default: all)
  --models NAMES   ways through a candle (default ${PATH_MODELS.join(',')})
  --wild N         stretches of each crash, those with the largest moves (default 3)
  --calm N         calm stretches of each crash (default 1)
  --walks N        quiet stretches of 2 h by the simulator's walk, at each volatility (default 60)
  --daily LIST     volatilities of the walks, in percent a day (default ${WALKS.map((daily) => daily * 100).join(',')})
  --length TIME    of a stretch (default 2h)
  --latency TIME   each way (default 100ms)
  --depth FACTOR   multiplies the order books (default 1)
  --budget TIME    ends with what was finished by then (default 30m)
  --threads N      (default: as many as there are processors)
  --seed N         (default 1)
  --json FILE      everything that was measured
  --docs TABLE     write the tables into docs/rule-sets.md, between its marks of that name
  --picture        write the figure of docs/rule-sets.md
  --help

The candles are read from ${CANDLES}, or from the folder in BREAKWATER_CANDLES. Ends with 1 where there are none, with 2
where an option makes no sense. Ctrl-C prints what there is.
`;

const { values } = parseArgs({
  options: {
    part: { type: 'string', default: 'report' },
    search: { type: 'string' },
    ladders: { type: 'boolean', default: false },
    books: { type: 'string', default: '' },
    models: { type: 'string', default: PATH_MODELS.join(',') },
    wild: { type: 'string', default: '3' },
    calm: { type: 'string', default: '1' },
    walks: { type: 'string', default: '60' },
    daily: { type: 'string', default: WALKS.map((daily) => daily * 100).join(',') },
    length: { type: 'string', default: '2h' },
    latency: { type: 'string', default: '100ms' },
    depth: { type: 'string', default: '1' },
    budget: { type: 'string', default: '30m' },
    threads: { type: 'string', default: String(availableParallelism()) },
    seed: { type: 'string', default: '1' },
    json: { type: 'string' },
    docs: { type: 'string' },
    picture: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

class OptionError extends Error {}
class CandlesError extends Error {}

function countOf(option: 'wild' | 'calm' | 'walks' | 'threads' | 'seed'): number {
  const count = Number(values[option]);
  if (Number.isSafeInteger(count) && count >= 0) return count;
  throw new OptionError(`--${option}: expected a whole number, got '${values[option]}'`);
}

function timeOf(option: 'length' | 'latency' | 'budget'): number {
  const ms = parseDuration(values[option]);
  if (ms !== undefined) return ms;
  throw new OptionError(`--${option}: expected a duration such as 2h, got '${values[option]}'`);
}

function dailyAsked(): readonly number[] {
  const asked = listOf('daily').map((text) => Number(text) / 100);
  if (asked.every((daily) => daily > 0)) return asked;
  throw new OptionError(`--daily: expected percents such as 1,2.5, got '${values.daily}'`);
}

function listOf(option: 'books' | 'models' | 'daily'): readonly string[] {
  return values[option]
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

function spaceAsked(): CandidateSpace | null {
  const { search, ladders } = values;
  if (search === undefined) return null;
  if (search === 'coarse') return COARSE_SPACE;
  if (search !== 'usual') throw new OptionError(`--search: expected usual or coarse, got '${search}'`);
  return { ...USUAL_SPACE, covers: [...USUAL_SPACE.covers, ...(ladders ? USUAL_LADDERS : [])] };
}

function planAsked() {
  if (values.part !== 'fit' && values.part !== 'report')
    throw new OptionError(`--part: expected fit or report, got '${values.part}'`);
  const books = booksNamed(listOf('books'));
  if (books === undefined)
    throw new OptionError(`--books: expected such as 5x or '5x long', got '${values.books}'`);
  const models = PATH_MODELS.filter((model) => listOf('models').includes(model));
  if (models.length === 0 || models.length < listOf('models').length)
    throw new OptionError(`--models: expected some of ${PATH_MODELS.join(', ')}, got '${values.models}'`);
  if (!(Number(values.depth) > 0))
    throw new OptionError(`--depth: expected a number above 0, got '${values.depth}'`);
  const crashes = crashPrices(values.part satisfies Part);
  const [wild, calm] = [countOf('wild'), countOf('calm')];
  if (crashes.length === 0 && wild + calm > 0)
    throw new CandlesError(
      `No candles in ${CANDLES}: BREAKWATER_CANDLES names another folder; --wild 0 --calm 0 does without.`,
    );
  return setPlan({
    crashes,
    books,
    models,
    wild,
    calm,
    lengthMs: timeOf('length'),
    walks: countOf('walks'),
    dailyVolatilities: dailyAsked(),
    latency: timeOf('latency'),
    depth: values.depth,
    kept: SHIPPED,
    space: spaceAsked(),
    seed: countOf('seed'),
  });
}

async function main(): Promise<void> {
  const plan = planAsked();
  if (plan.cases.length === 0) throw new OptionError('No cases: --wild, --calm and --walks leave none');
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  const pool = openTunePool(plan, Math.max(1, countOf('threads')));
  let said = '';
  try {
    const record = await searchFront(plan, pool, {
      signal: stop.signal,
      nowMs: () => performance.now(),
      budgetMs: timeOf('budget'),
      onProgress: (share, what) => {
        const line = `${Math.floor(share * 20) * 5} % of ${what.replace(/, \d+ s$/, '')}`;
        if (line !== said) process.stderr.write(`${what.replace(/^.*, /, '')}: ${line}\n`);
        said = line;
      },
    });
    for (const line of recordLines(record)) process.stdout.write(`${line}\n`);
    if (values.docs !== undefined) {
      const tables = { [values.docs]: tableLines(record).join('\n') };
      writeFileSync(PAGE, withGenerated(readFileSync(PAGE, 'utf8'), tables));
    }
    if (values.picture) writeFileSync(PICTURE, pictureFile(record));
    if (values.json !== undefined)
      writeFileSync(values.json, `${JSON.stringify({ options: values, ...record })}\n`);
  } finally {
    await pool.close();
  }
}

if (values.help) process.stdout.write(HELP);
else {
  await main().catch((error: unknown) => {
    if (!(error instanceof OptionError || error instanceof CandlesError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = error instanceof OptionError ? 2 : 1;
  });
}
