import { expect, test } from 'vitest';
import { readPriceFiles } from '../../src/replay/price-files.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2020, 0, 1);

/** A trade at the beginning of each day. */
function days(market: string, from: number, to: number) {
  const rows = Array.from({ length: to - from }, (_, index) => `${START_MS + (from + index) * DAY_MS},100,1`);
  return { market, file: `${market}.csv`, text: rows.join('\n') };
}

function refusalOf(...given: Parameters<typeof readPriceFiles>): readonly string[] {
  const read = readPriceFiles(...given);
  return read.kind === 'refused' ? read.problems : [];
}

test('a start or end outside the file is refused with the times that the file has', () => {
  const has = 'found some from 2020-01-11 00:00 UTC to 2020-01-20 00:00 UTC';
  expect(refusalOf([days('A', 10, 20)], { fromMs: START_MS + 30 * DAY_MS })).toEqual([
    `A.csv: expected prices from 2020-01-31 00:00 UTC on, ${has}`,
  ]);
  expect(refusalOf([days('A', 10, 20)], { toMs: START_MS + 5 * DAY_MS })).toEqual([
    `A.csv: expected prices before 2020-01-06 00:00 UTC, ${has}`,
  ]);
});

test('files without a common time are named with the end that each misses; a file that misses none is not', () => {
  const files = [days('A', 10, 20), days('B', 30, 40), days('C', 1, 90)];
  expect(refusalOf(files).map((words) => words.replace(/, found.*/, ''))).toEqual([
    'A.csv: expected prices from 2020-01-31 00:00 UTC on',
    'B.csv: expected prices before 2020-01-20 00:00 UTC',
  ]);
});
