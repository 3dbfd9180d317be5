import process from 'node:process';
import { parseArgs } from 'node:util';
import { play } from './classroom.ts';
import { CROSSING, lieBehind, titleOf } from './crossing.ts';

/**
 * Plays the crossing of the foreign teacher: `node test/foreign/main.ts [--part 1/2] [--only WORDS] [--limit N]`. Prints
 * each case with a fault, then a summary; ends with 1 if there was one.
 */
const { values } = parseArgs({
  options: { part: { type: 'string', default: '1/1' }, only: { type: 'string' }, limit: { type: 'string' } },
});
const [part = 1, parts = 1] = values.part.split('/').map(Number);
const chosen = CROSSING.filter(
  (one, index) => index % parts === part - 1 && titleOf(one).includes(values.only ?? ''),
).slice(0, Number(values.limit ?? CROSSING.length));

let [replies, orders, faulty, lies] = [0, 0, 0, 0];
for (const one of chosen) {
  const played = await play(one);
  replies += played.replies;
  orders += played.orders;
  if (played.faults.length === 0) continue;
  if (played.faults.every((fault) => lieBehind(one, fault) !== undefined)) {
    lies += 1;
    continue;
  }
  faulty += 1;
  const { left, notices } = played;
  process.stdout.write(
    `${JSON.stringify({ case: titleOf(one), faults: played.faults, left, orders: played.orders, notices })}\n`,
  );
}
process.stdout.write(
  `${chosen.length} cases, ${replies} foreign replies, ${orders} orders, ${lies} of lies that nobody can tell, ${faulty} with a fault\n`,
);
process.exitCode = faulty > 0 ? 1 : 0;
