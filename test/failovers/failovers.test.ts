import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { describe, expect, inject, test } from 'vitest';
import { hasRedisServer } from '../support/redis.ts';
import { sliceOf } from '../support/slice.ts';
import { failoverCase, TROUBLES } from './failover-case.ts';
import { play } from './play.ts';

const PROGRAM = new URL('main.ts', import.meta.url).pathname;

async function run(...args: readonly string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { stdout, stderr, code };
}

test('the help names every trouble and explains the exit codes', async () => {
  const { stdout, code } = await run('--help');
  expect(code).toBe(0);
  for (const trouble of Object.values(TROUBLES).flat()) expect(stdout).toContain(trouble);
  expect(stdout).toContain('Ends with 0');
});

test.each([
  [['--seeds', 'many'], '--seeds many: expected a whole number'],
  [['--keeper', 'etcd'], '--keeper etcd: there are sentinel, cluster'],
])('%j is refused with the reason', async (args, reason) => {
  const { stdout, stderr, code } = await run(...args);
  expect({ stdout, code }).toEqual({ stdout: '', code: 2 });
  expect(stderr).toContain(reason);
});

test('consecutive seeds take all troubles of a keeper, with one daemon and with two', () => {
  for (const keeper of ['sentinel', 'cluster'] as const) {
    const cases = Array.from({ length: 24 }, (_, seed) => failoverCase(keeper, seed));
    expect(new Set(cases.map(({ trouble }) => trouble))).toEqual(new Set(TROUBLES[keeper]));
    expect(new Set(cases.map(({ daemons }) => daemons))).toEqual(new Set([1, 2]));
  }
});

describe.runIf(hasRedisServer())('a failover during an action', () => {
  const seed = inject('fastCheckSeed') % 10_000;
  test.each(sliceOf(['sentinel', 'cluster'] as const, 2, 'keepers of Redis'))(
    `by a %s, seed ${seed}`,
    async (keeper) => {
      expect((await play(failoverCase(keeper, seed))).violations).toEqual([]);
    },
  );
});
