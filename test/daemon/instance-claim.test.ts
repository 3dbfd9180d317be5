import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CLAIM_TTL_MS, InstanceClaim } from '../../src/app/instance-claim.ts';
import { systemClock, systemTimers } from '../../src/exchange/system-clock.ts';
import { type PrivateRedis, startPrivateRedis } from '../support/redis.ts';

/** Which process holds which `--instance`, in a real Redis; time passes with each check. */

let server: PrivateRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startPrivateRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

let names = 0;
function open(prefix: string, ordinal = 0) {
  let nowMs = 0;
  const company: boolean[] = [];
  const taken: string[] = [];
  const claim = new InstanceClaim({
    redis,
    prefix,
    ordinal,
    instance: `i${ordinal}-${(names += 1)}`,
    clock: {
      ...systemClock,
      monotonicMs: () => nowMs,
      sleep: async (delayMs) => void (nowMs += delayMs),
    },
    timers: systemTimers,
    onCompany: (hasCompany) => void company.push(hasCompany),
    onTaken: (holder) => void taken.push(holder),
  });
  return { claim, company, taken, waitedMs: () => nowMs };
}

const keyOf = (prefix: string, ordinal: number): string => `${prefix}:{instances}:${ordinal}`;
const prefixOf = (name: string): string => `${server.prefix}${name}`;

test('one process at a time holds a number, and it sees whether there are others', async () => {
  const prefix = prefixOf('one');
  const first = open(prefix);
  await first.claim.take();
  expect(first.company).toEqual([false]);
  expect(await redis.pttl(keyOf(prefix, 0))).toBeGreaterThan(0);
  const beside = open(prefix, 1);
  await beside.claim.take();
  expect(beside.company).toEqual([true]);
  const second = open(prefix);
  await expect(second.claim.take()).rejects.toMatchObject({ code: 'instance-taken' });
  expect(second.waitedMs()).toBeGreaterThan(CLAIM_TTL_MS);
  await second.claim.release();
  await first.claim.release();
  await open(prefix).claim.take();
});

test('the number of a dead process of this machine is taken over without a wait', async () => {
  const prefix = prefixOf('died');
  const former = open(prefix);
  await former.claim.take();
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  const held = (await redis.get(keyOf(prefix, 0))) ?? '';
  await redis.set(keyOf(prefix, 0), held.replace(/\d+$/, String(child.pid)), 'PX', CLAIM_TTL_MS);
  const next = open(prefix);
  await next.claim.take();
  expect(next.waitedMs()).toBe(0);
});

test('the number of a dead process of another machine is waited for until it expires', async () => {
  const prefix = prefixOf('elsewhere');
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  await redis.set(keyOf(prefix, 0), `i0-other another-host pid:[1] ${child.pid}`, 'PX', CLAIM_TTL_MS);
  await expect(open(prefix).claim.take()).rejects.toThrow(/another-host/);
  await redis.pexpire(keyOf(prefix, 0), 1);
  await expect.poll(() => redis.exists(keyOf(prefix, 0))).toBe(0);
  await open(prefix).claim.take();
});

test('a process whose number was taken by another is notified once, and leaves it to the other', async () => {
  const prefix = prefixOf('lost');
  const { claim, taken } = open(prefix);
  await claim.take();
  await redis.set(keyOf(prefix, 0), 'i0-other another-host pid:[1] 7', 'PX', CLAIM_TTL_MS);
  claim.start();
  await expect.poll(() => taken).toEqual(['i0-other another-host pid:[1] 7']);
  await claim.release();
  expect(await redis.get(keyOf(prefix, 0))).toBe('i0-other another-host pid:[1] 7');
});

test.each(['without end', 'for a year', 'as a list'])(
  'a number that was taken %s by somebody with access to Redis does not keep a daemon from starting',
  async (how) => {
    const prefix = prefixOf(how.replaceAll(' ', '-'));
    const key = keyOf(prefix, 0);
    if (how === 'as a list') await redis.rpush(key, 'a');
    else await redis.set(key, 'i0-other another-host pid:[1] 1');
    if (how === 'for a year') await redis.expire(key, 365 * 86_400);
    await open(prefix).claim.take();
  },
);

test('a forged holder is described in one short line', async () => {
  const prefix = prefixOf('written');
  const written = `\u001b[2Jgone\nfine ${'very '.repeat(1_000)}long`;
  await redis.set(keyOf(prefix, 0), written, 'PX', CLAIM_TTL_MS);
  const { claim } = open(prefix);
  const error = (await claim.take().catch((refused: unknown) => refused)) as Error;
  expect(error.message).toMatch(/^--instance 0 is taken by a process that runs \(\[2Jgone fine (very )+/);
  expect(error.message.length).toBeLessThan(350);
});
