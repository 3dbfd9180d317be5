import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { expect, inject, test } from 'vitest';
import { hasRedisServer } from '../support/redis.ts';
import { sliceOf } from '../support/slice.ts';
import { killedOutages, MOMENTS, type Outage, PARTITIONS, partitionOutages } from './outage.ts';
import { play } from './play.ts';

/** `npm run outages` plays all of them; a test run plays a part, others with each seed. */

const PROGRAM = new URL('main.ts', import.meta.url).pathname;
const DOWN_MS = 6_000;
const seed = inject('fastCheckSeed') % 1_000_000;

function slice(): readonly Outage[] {
  const between = PARTITIONS[seed % PARTITIONS.length]!;
  const both = [
    ...killedOutages(seed, 1, seed % 4 < 2 ? 1 : 2, DOWN_MS),
    ...partitionOutages(seed, 1, between, DOWN_MS),
  ];
  return sliceOf(both, 2, 'outages, killed or partitioned');
}

test.runIf(hasRedisServer()).each(slice())(
  'the daemon protects once, and everything is consistent afterwards: $kind, $instances instances, seed $seed',
  async (outage) => {
    const { violations, ...judged } = await play(outage);
    expect({ ...judged, violations }).toMatchObject({ violations: [] });
  },
);

test('twenty moments cover the life of an action, and twenty consecutive seeds take each once', () => {
  expect(MOMENTS).toHaveLength(20);
  const taken = killedOutages(7, MOMENTS.length, 1, 1).flatMap((outage) =>
    outage.kind === 'killed' ? [outage.moment] : [],
  );
  expect(taken.toSorted((a, b) => a - b)).toEqual(MOMENTS.map((_, index) => index));
});

async function run(...args: readonly string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { stdout, stderr, code };
}

test('the help names every partition, and explains the exit codes', async () => {
  const { stdout, code } = await run('--help');
  expect(code).toBe(0);
  for (const name of PARTITIONS) expect(stdout).toContain(name);
  expect(stdout).toContain('Ends with 0');
});

test.each([
  [['--moments', 'many'], '--moments many: expected a whole number from 1 to 1000'],
  [['--instances', '3'], '--instances 3: expected a whole number from 1 to 2'],
  [['--partition', 'moon'], '--partition moon: expected all, redis'],
  [['--runs', '3'], '--runs goes with --partition'],
  [['--partition', 'all', '--moments', '3'], 'do not go with --partition'],
  [['--sead', '1'], "Unknown option '--sead'"],
])('%j is refused with the reason', async (args, reason) => {
  const { stdout, stderr, code } = await run(...args);
  expect({ stdout, code }).toEqual({ stdout: '', code: 2 });
  expect(stderr).toContain(reason);
});
