import { availableParallelism, cpus } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import type { CliIo } from '../../src/cli/io.ts';
import { printJson, printLine, printNote, printWarning } from '../../src/cli/io.ts';
import { createProgress } from '../../src/cli/replay/progress.ts';
import { columnsOf, tableLines } from '../../src/cli/table.ts';
import { measureBenches } from './bench.ts';
import { compareFigures, type Row, TOLERANCE } from './compare.ts';
import { type Figure, FiguresError, PARTS, type Part, readFigures, STORED, writeFigures } from './figures.ts';
import { measureGrid, preventableIn, seedsIn } from './grid.ts';
import { measureLines, measureRooms } from './rooms.ts';
import { measureWalk } from './walk.ts';
import { measureWorlds } from './worlds.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const WORLDS = 200;
const CASES = 500;
const SEEDS = [1, 2];

const HELP = `Measures what a restructuring must keep, and what it is to make smaller, against figures that were stored before it.

  npm run baseline -- --write [options]      measures, and stores the figures
  npm run baseline -- --compare [options]    measures, and compares with the stored figures

  --only PARTS   some of ${PARTS.join(',')}, separated by commas (default: all)
  --worlds N     random worlds, and half as many contended ones (default ${WORLDS}; with --compare as many as are stored)
  --cases N      preventable cases of the field grid for each seed (default ${CASES}; with --compare as stored)
  --seeds LIST   seeds of the field grid (default ${SEEDS.join(',')}; with --compare as stored)
  --file FILE    the stored figures (default test/baseline/figures.jsonl)
  --json         one JSON object per row: part, what, before, now, unit, ratio, verdict
  --help

  lines    lines and files of each room: the folders of src and src/core, workers, test
  rooms    pairs of rooms in src/core that import each other, and circles of imports between files
  walk     a tick in a world, from its entry to its commit: how many files it enters, and how often it returns to a file
           that it had left; each function counts once, where it is first entered
  worlds   a hash of the ledger and one of the audit of each world
  grid     the field grid: prevented, share, harm, and the ids that are lost ('npm run field -- --case ID' replays one)
  bench    poll, evaluate, state, reaction, memory and start of 'npm run bench'; needs Redis

--write keeps the stored figures of the parts that it does not measure. Verdicts: equal, better, worse; noise is what is
not judged, and a bench within ${TOLERANCE * 100} %. Measure benches on a quiet machine, the same for both.

Ends with 0; with --compare with 1 when a hash differs or the grid is worse (any id lost or harmed that was not); with 2
when an option makes no sense or there is nothing to compare with; with 130 after Ctrl-C, which stores nothing.
`;

class UsageError extends Error {}

type Io = Pick<CliIo, 'stdout' | 'stderr' | 'isTty' | 'env' | 'signal'>;

/** Runs the command, and resolves to its exit code. @throws an error when something cannot be measured */
export async function runBaseline(args: readonly string[], io: Io): Promise<number> {
  try {
    const flags = readFlags(args);
    if (flags.help) {
      io.stdout.write(HELP);
      return 0;
    }
    return await run(optionsOf(flags), io);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof FiguresError)) throw error;
    printNote(io, error.message);
    return 2;
  }
}

function readFlags(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        write: { type: 'boolean', default: false },
        compare: { type: 'boolean', default: false },
        only: { type: 'string', default: PARTS.join(',') },
        worlds: { type: 'string' },
        cases: { type: 'string' },
        seeds: { type: 'string' },
        file: { type: 'string', default: STORED },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

interface Options {
  readonly isWrite: boolean;
  readonly parts: readonly Part[];
  readonly worlds: number;
  readonly cases: number;
  readonly seeds: readonly number[];
  readonly file: string;
  readonly json: boolean;
  /** What was stored before; with --compare at least as much as is measured. */
  readonly stored: readonly Figure[];
}

function optionsOf(flags: ReturnType<typeof readFlags>): Options {
  const { write, compare, only, file, json } = flags;
  if (write === compare) throw new UsageError('expected one of --write and --compare; see --help');
  const names = only.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !PARTS.some((part) => part === name));
  if (unknown !== undefined) throw new UsageError(`--only ${unknown}: expected some of ${PARTS.join(', ')}`);
  const parts = PARTS.filter((part) => names.includes(part));
  const asked = {
    worlds: wholeNumber('worlds', flags.worlds),
    cases: wholeNumber('cases', flags.cases),
    seeds: flags.seeds?.split(',').map((text) => wholeNumber('seeds', text) ?? 0),
  };
  const stored = readFigures(file, write);
  const known = write ? { worlds: WORLDS, cases: CASES, seeds: SEEDS } : storedCounts(stored);
  const { worlds = known.worlds, cases = known.cases, seeds = known.seeds } = asked;
  const options = { isWrite: write, parts, worlds, cases, seeds, file, json, stored };
  if (!write) refuseUnstored(options, known);
  return options;
}

type Counts = Pick<Options, 'worlds' | 'cases' | 'seeds'>;

/** @throws an error when something that is to be measured was not stored */
function refuseUnstored({ parts, worlds, cases, seeds, file, stored }: Options, known: Counts): void {
  for (const part of parts) {
    if (stored.every((figure) => figure.part !== part))
      throw new FiguresError(
        `${file} has no figures of ${part}: store them with --write, or leave it out by --only.`,
      );
  }
  const more = 'cannot be compared: there are figures of';
  if (parts.includes('worlds') && worlds > known.worlds)
    throw new UsageError(`--worlds ${worlds} ${more} ${known.worlds}`);
  if (parts.includes('grid') && cases > known.cases)
    throw new UsageError(`--cases ${cases} ${more} ${known.cases}`);
  if (parts.includes('grid') && !seeds.every((seed) => known.seeds.includes(seed)))
    throw new UsageError(`--seeds ${seeds.join(',')} ${more} ${known.seeds.join(',')}`);
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,5}$/.test(text))
    throw new UsageError(`--${name} ${text}: expected a whole number, at least 1`);
  return Number(text);
}

function storedCounts(stored: readonly Figure[]): Counts {
  const cases = stored.find(({ part, what }) => part === 'grid' && what.endsWith(', cases'));
  return {
    worlds: stored.filter(({ part, what }) => part === 'worlds' && /^random .*, ledger$/.test(what)).length,
    cases: preventableIn(String(cases?.value ?? '')),
    seeds: seedsIn(stored),
  };
}

async function run(options: Options, io: Io): Promise<number> {
  const { parts, stored, file, isWrite, json } = options;
  const figures: Figure[] = [];
  const rows: Row[] = [];
  for (const part of parts) {
    const measured = await measure(part, options, io);
    if (io.signal.aborted) break;
    figures.push(...measured);
    rows.push(...compareFigures(part, stored, measured));
  }
  const machine = machineFigures();
  if (!isWrite && parts.includes('bench')) warnOfMachine(io, stored, machine);
  print(io, rows, json);
  if (io.signal.aborted) {
    printNote(io, 'Stopped early: these are the parts that were measured by then.');
    return 130;
  }
  if (isWrite) {
    writeFigures(file, parts.includes('bench') ? [...machine, ...figures] : figures);
    printNote(io, `Stored in ${file}.`);
    return 0;
  }
  const failed = rows.filter(
    ({ part, verdict }) => (part === 'worlds' || part === 'grid') && verdict === 'worse',
  );
  if (failed.length > 0) printWarning(io, `Not the same: ${failed.map(({ what }) => what).join('; ')}`);
  return failed.length > 0 ? 1 : 0;
}

async function measure(part: Part, { worlds, cases, seeds }: Options, io: Io): Promise<readonly Figure[]> {
  const { signal } = io;
  printNote(io, `Measuring ${part} ...`);
  const startedMs = performance.now();
  const progress = createProgress(io);
  let saidTenths = 0;
  const show = (done: number, of: number, what: string = part): void => {
    progress.show(done / of, `${done} of ${of} (${what})`);
    const tenths = Math.floor((10 * done) / of);
    if (io.isTty.stderr || tenths <= saidTenths) return;
    saidTenths = tenths;
    printNote(io, `${part}: ${tenths * 10} %`);
  };
  const measures: Readonly<Record<Part, () => Promise<readonly Figure[]> | readonly Figure[]>> = {
    lines: () => measureLines(ROOT),
    rooms: () => measureRooms(ROOT),
    walk: () => measureWalk(signal),
    worlds: () => measureWorlds(worlds, signal, show),
    grid: () => measureGrid({ seeds, cases }, signal, show),
    bench: () => measureBenches(signal, show, (words) => printWarning(io, words)),
  };
  try {
    return await measures[part]();
  } finally {
    progress.end();
    printNote(io, `Measuring ${part} took ${Math.round((performance.now() - startedMs) / 1_000)} s.`);
  }
}

function print(io: Io, rows: readonly Row[], json: boolean): void {
  if (json) {
    for (const row of rows) printJson(io, row);
    return;
  }
  const cells = rows.map(({ part, what, before, now, unit, ratio, verdict }) => [
    part,
    what,
    valueText(before, unit),
    `${valueText(now, unit)}${ratio === undefined ? '' : ` (x ${ratio})`}`,
    verdict ?? '',
  ]);
  const table = { columns: columnsOf('PART', 'WHAT', 'BEFORE', 'NOW', 'VERDICT'), rows: cells };
  for (const line of tableLines(io, table)) printLine(io, line);
}

/** Adds the unit where the name of the row lacks it. */
function valueText(value: number | string | null, unit: string | undefined): string {
  if (value === null) return '';
  return unit === undefined || unit === 'files' || unit === 'lines' ? String(value) : `${value} ${unit}`;
}

/** Where benches run. */
function machineFigures(): readonly Figure[] {
  const model = cpus()[0]?.model ?? 'unknown';
  return [
    { part: 'machine', what: 'node', value: process.version },
    { part: 'machine', what: 'processor', value: `${availableParallelism()} x ${model}` },
  ];
}

function warnOfMachine(io: Io, stored: readonly Figure[], machine: readonly Figure[]): void {
  for (const { what, value } of machine) {
    const before = stored.find((figure) => figure.part === 'machine' && figure.what === what)?.value;
    if (before !== undefined && before !== value)
      printWarning(io, `The benches were stored on another ${what}: ${before}, now ${value}.`);
  }
}
