import type { HistoryRecord, HistorySource } from '../../app.ts';
import { linesOf } from '../audit/files.ts';
import { UsageError } from '../errors.ts';
import { type CliIo, paint, printJson, printLine, printNote } from '../io.ts';
import { withOperations } from '../operate/place.ts';
import { tableLines } from '../table.ts';
import { momentOf, type PlayFlags, refuseToPlay, writeReport } from './values.ts';

interface Flags extends Pick<PlayFlags, 'config' | 'out' | 'json'> {
  readonly history?: readonly string[];
  readonly from?: string;
  readonly to?: string;
}

/** Options that only a replay of prices has. */
const OF_PLAYING = 'prices positions live against paths latency faults depth readings seed'.split(' ');

/** `breakwater replay --history`: when each rule would have fired. */
export async function judgeHistory(
  io: CliIo,
  flags: Flags,
  given: (option: string) => boolean,
): Promise<void> {
  const idle = OF_PLAYING.filter(given).map((name) => `--${name}`);
  if (idle.length > 0) {
    throw new UsageError(
      `--history judges what was recorded, and plays no prices: ${idle.join(', ')} would do nothing.`,
      `Leave ${idle.length === 1 ? 'it' : 'them'} out, or leave out --history.`,
    );
  }
  const record = await judged(io, flags).catch(refuseToPlay);
  await show(io, flags, record);
}

async function judged(io: CliIo, flags: Flags): Promise<HistoryRecord> {
  const { judgeHistory: judge, parseMoment } = await import('../../app.ts');
  const fromMs = momentOf(parseMoment, '--from', flags.from);
  const toMs = momentOf(parseMoment, '--to', flags.to);
  const options = {
    config: flags.config,
    env: io.env,
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(toMs === undefined ? {} : { toMs }),
  };
  const places = flags.history ?? [];
  const [first = ''] = places;
  const isStore = (place: string): boolean => place === 'redis' || /^rediss?(?:\+\w+)?:\/\//.test(place);
  if (!places.some(isStore)) {
    const source: HistorySource = {
      kind: 'audit',
      files: places.map((file) => ({ file, lines: linesOf(file) })),
    };
    return await judge({ ...options, source });
  }
  if (places.length > 1) throw new UsageError('--history: expected one Redis, or one or several files.');
  const place = { config: flags.config, ...(first === 'redis' ? {} : { redis: first }) };
  return await withOperations(io, place, async ({ history, prefix }) => {
    const source = { kind: 'samples', name: `the samples in Redis (${prefix})`, reader: history } as const;
    return await judge({ ...options, source });
  });
}

async function show(io: CliIo, { out, json }: Flags, record: HistoryRecord): Promise<void> {
  const { historyViews, renderHistoryReport } = await import('../../app.ts');
  const { rules, episodes, coverage, lines } = await historyViews(record);
  for (const note of [...coverage, ...record.notes]) printNote(io, paint(io, 'stderr', 'dim', note));
  if (out !== undefined) await writeReport(io, out, await renderHistoryReport(record));
  if (json === true) {
    for (const line of lines) printJson(io, line);
    return;
  }
  printLine(io, paint(io, 'stdout', 'bold', `Rules on ${record.source}`));
  printLine(io, '');
  for (const line of tableLines(io, rules)) printLine(io, line);
  printLine(io, '');
  if (episodes.rows.length === 0) printLine(io, 'No rule would have fired.');
  for (const line of tableLines(io, episodes)) printLine(io, line);
}
