import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { describe, expect, inject, it, vi } from 'vitest';
import { leftOver, takeFootprint } from './leaks.ts';
import { hasRedisServer, type RedisServer, startPrivateRedis, startRedisServer } from './redis.ts';
import { sliceAt } from './slice.ts';
import { notHeldUp, startWorkingTime, unlessHeldUp } from './working-time.ts';

/** Set by the hooks; an earlier value would match the processes of every test file. */
const mark = (): string => `BREAKWATER_TEST_FILE=${process.env['BREAKWATER_TEST_FILE'] ?? 'no mark yet'}`;

describe('the leak check', () => {
  it('finds a listening server', async () => {
    const before = takeFootprint(mark());
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    expect(await leftOver(before, mark(), 50)).toEqual(['1 x TCPServerWrap (an open handle)']);
    server.close();
    expect(await leftOver(before, mark())).toEqual([]);
  });

  it('finds a single timer, and shows where it was started', async () => {
    const before = takeFootprint(mark());
    const timer = setInterval(() => undefined, 60_000);
    const found = await leftOver(before, mark(), 50);
    expect(found).toEqual([expect.stringMatching(/^a timer, started at .*support\.test\.ts/)]);
    clearInterval(timer);
    expect(await leftOver(before, mark())).toEqual([]);
  });

  it('finds a new timer although an earlier one has ended meanwhile', async () => {
    const earlier = setInterval(() => undefined, 60_000);
    const before = takeFootprint(mark());
    clearInterval(earlier);
    const timer = setTimeout(() => undefined, 60_000);
    expect(await leftOver(before, mark(), 50)).toHaveLength(1);
    clearTimeout(timer);
    expect(await leftOver(before, mark())).toEqual([]);
  });

  it('finds a timer not started by a global function, but no timer of the test runner or without a ref', async () => {
    const before = takeFootprint(mark());
    const ending = new AbortController();
    const pause = sleep(60_000, undefined, { signal: ending.signal });
    const loose = setInterval(() => undefined, 60_000).unref();
    const waiting = vi.waitFor(() => expect(ending.signal.aborted).toBe(true), { timeout: 20_000 });
    expect(await leftOver(before, mark(), 50)).toHaveLength(1);
    ending.abort();
    await expect(pause).rejects.toThrow('aborted');
    await waiting;
    expect(await leftOver(before, mark())).toEqual([]);
    clearInterval(loose);
  });

  it('finds state that other files of the same process would notice', async () => {
    const before = takeFootprint(mark());
    const listener = (): void => undefined;
    process.env['LEFT_OVER'] = '1';
    process.on('SIGUSR2', listener);
    expect((await leftOver(before, mark(), 50)).filter((line) => !line.includes('handle'))).toEqual([
      'environment variable LEFT_OVER, changed',
      'the number of process listeners for SIGUSR2, changed',
    ]);
    delete process.env['LEFT_OVER'];
    process.off('SIGUSR2', listener);
    expect(await leftOver(before, mark())).toEqual([]);
  });

  it.runIf(existsSync('/proc/self/stat'))('finds a process whose parent has ended', async () => {
    const before = takeFootprint(mark());
    const parent = spawn('sh', ['-c', 'sleep 60 >/dev/null 2>&1 & echo $!'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    await once(parent, 'close');
    const pid = Number(String(line));
    expect(await leftOver(before, mark(), 50)).toEqual([`process ${pid}: sleep 60`]);
    process.kill(pid);
    expect(await leftOver(before, mark())).toEqual([]);
  });
});

describe('property tests', () => {
  it('run with the seed that was printed', () => {
    expect(fc.readConfigureGlobal().seed).toBe(inject('fastCheckSeed'));
  });
});

describe('a slice', () => {
  it('takes at least one, and as many consecutive seeds as shares take each once', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 12 }),
        fc.nat(),
        (count, share, from) => {
          const all = Array.from({ length: count }, (_, index) => index);
          const seeds = Array.from({ length: Math.min(share, count) }, (_, index) => from + index);
          const slices = seeds.map((seed) => sliceAt(all, share, seed));
          expect(slices.every((slice) => slice.length > 0)).toBe(true);
          expect(slices.flat().toSorted((a, b) => a - b)).toEqual(all);
          // The same seed takes the same.
          expect(sliceAt(all, share, from)).toEqual(slices[0]);
        },
      ),
    );
  });
});

describe('startPrivateRedis', () => {
  it('starts a Redis, and removes the stored keys', async () => {
    const redis = await startPrivateRedis();
    const client = new Redis(redis.url);
    await client.set(`${redis.prefix}a`, '1');
    expect(await client.get(`${redis.prefix}a`)).toBe('1');
    client.disconnect();
    await redis.stop();
  });

  it.runIf(hasRedisServer())('touches nothing else on a shared server', async () => {
    const server = await startRedisServer();
    const client = new Redis(server.url);
    const own = process.env['REDIS_URL'];
    process.env['REDIS_URL'] = server.url;
    try {
      await client.set('theirs', '1');
      const redis = await startPrivateRedis();
      await client.set(`${redis.prefix}ours`, '1');
      await redis.stop();
      expect(await client.keys('*')).toEqual(['theirs']);
    } finally {
      if (own === undefined) delete process.env['REDIS_URL'];
      else process.env['REDIS_URL'] = own;
      client.disconnect();
      await server.stop();
    }
  });
});

describe.runIf(hasRedisServer())('startRedisServer', () => {
  it('survives a kill with its data when it is persistent', async () => {
    const server = await startRedisServer({ persistent: true, args: ['--appendfsync', 'always'] });
    await withClient(server, (client) => client.set('k', 'v'));
    await server.kill();
    await server.start();
    expect(await withClient(server, (client) => client.get('k'))).toBe('v');
    await server.stop();
  });

  it('does not answer while paused', async () => {
    const server = await startRedisServer();
    await withClient(server, async (client) => {
      server.pause();
      const answer = client.ping();
      const first = await Promise.race([
        answer,
        new Promise((resolve) => setTimeout(resolve, 100, 'silence')),
      ]);
      expect(first).toBe('silence');
      server.resume();
      expect(await answer).toBe('PONG');
    });
    await server.stop();
  });
});

async function withClient<T>(server: RedisServer, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(server.url);
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

describe('a process that is held up', () => {
  const holdUp = (forMs: number): void =>
    void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);

  it('has worked for less than the time that passed', async () => {
    const workedMs = startWorkingTime();
    await sleep(60);
    const beforeMs = workedMs();
    expect(beforeMs).toBeGreaterThan(0);
    holdUp(500);
    await sleep(60);
    expect(workedMs() - beforeMs).toBeLessThan(500);
  });

  it('repeats what failed meanwhile, and nothing else', async () => {
    let attempts = 0;
    const failing = async (forMs: number): Promise<void> => {
      attempts += 1;
      await sleep(30);
      if (attempts === 1) holdUp(forMs);
      if (attempts === 1) throw new Error('too late');
    };
    await unlessHeldUp(300, () => failing(500));
    expect(attempts).toBe(2);
    attempts = 0;
    await expect(unlessHeldUp(300_000, () => failing(1))).rejects.toThrow('too late');
    expect(attempts).toBe(1);
  });

  it('plays again what cannot be judged, a bounded number of times', async () => {
    let plays = 0;
    const play = async (): Promise<number> => {
      plays += 1;
      await sleep(30);
      holdUp(500);
      return plays;
    };
    expect(await notHeldUp(300, 3, play)).toBe(3);
    expect(await notHeldUp(300_000, 3, play)).toBe(4);
  });
});
