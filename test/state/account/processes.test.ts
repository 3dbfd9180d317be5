import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createRedisState, type State } from '../../../src/state/state.ts';
import { type PrivateRedis, startPrivateRedis } from '../../support/redis.ts';
import { sliceOf } from '../../support/slice.ts';
import { commit, connectTo, episodeOf, lane, load } from '../support/place.ts';

let server: PrivateRedis;
let redis: Redis;
let state: State;

beforeAll(async () => {
  server = await startPrivateRedis();
  redis = connectTo(server.url);
  state = createRedisState({ redis, prefix: server.prefix, clock: systemClock, timeoutMs: 60_000 });
});
afterAll(async () => {
  state.close();
  redis.disconnect();
  await server.stop();
});

const PROGRAM = new URL('fixtures/committer.ts', import.meta.url).pathname;
type Child = ChildProcessByStdio<null, Readable, null>;

function start(...args: readonly string[]): Child {
  return spawn(process.execPath, [PROGRAM, server.url, server.prefix, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function linesOf(child: Child, onLine?: (count: number) => void): Promise<string[]> {
  const exited = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    onLine?.(lines.length);
  }
  await exited;
  return lines;
}

test('processes that count one account up together skip no number and use none twice', async () => {
  const rounds = 40;
  const counted = await Promise.all([1, 2, 3].map(() => linesOf(start('counted', String(rounds)))));
  const numbers = counted.flat().map(Number);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 3 * rounds }, (_, index) => index + 1),
  );
  const account = await load(state, 'counted');
  expect(episodeOf(account)).toBe(3 * rounds);
  expect(await state.audit.verify('counted')).toMatchObject({ kind: 'intact', lastSeq: 3 * rounds + 1 });
});

test('after a process is killed at any time, every reported commit is kept and the chain is whole', async () => {
  for (const killAfter of sliceOf([1, 3, 7], 3, 'moments of a kill')) {
    const accountId = `killed-${killAfter}`;
    const child = start(accountId, '100000');
    const lines = await linesOf(child, (count) => {
      if (count === killAfter) child.kill('SIGKILL');
    });
    const account = await load(state, accountId);
    expect(episodeOf(account)).toBeGreaterThanOrEqual(lines.length);
    expect(account.version).toBe(episodeOf(account));
    const lastSeq = episodeOf(account) + 1;
    expect(await state.audit.verify(accountId)).toMatchObject({ kind: 'intact', lastSeq });
  }
});

test('the lane of a process killed between read and commit is taken over when its lease ends', async () => {
  const leaseMs = 400;
  const child = start('heir', '0', String(leaseMs));
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  expect(line).toBe('held');
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  const { leases } = state.store;
  const startedMs = systemClock.monotonicMs();
  for (;;) {
    const reply = await leases.acquire('heir', 'BTC_PERP', 'heir', 10_000);
    if (reply.kind === 'held') {
      const base = await load(state, 'heir');
      await commit(state, {
        base,
        lanes: new Map([['BTC_PERP', lane(base, 'BTC_PERP')]]),
        lease: reply.lease,
      });
      break;
    }
    // The lease was not renewed, so the reported wait suffices.
    expect(reply.retryInMs).toBeLessThanOrEqual(leaseMs);
    await systemClock.sleep(reply.retryInMs);
    expect(systemClock.monotonicMs() - startedMs).toBeLessThan(20_000);
  }
});
