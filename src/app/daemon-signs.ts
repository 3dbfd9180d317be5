import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { DaemonSign } from '../core/controls/daemon-sign.ts';
import type { Timers } from '../core/ports/clock.ts';
import { readJson } from '../state/read-json.ts';

/** Signs are validated: others may have written them. */
const signSchema = z.object({
  takesOrders: z.boolean(),
  keyMark: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .nullable(),
  isGuarded: z.boolean(),
  maxSlippage: z.number().min(0).max(1),
});

/** A daemon that has not renewed its sign for this long has ended. */
const LIFE_MS = 5_000;
const RENEW_MS = 1_000;

const SAY = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', nowMs)) do redis.call('HDEL', KEYS[1], name) end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', nowMs)
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], nowMs + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1`;

const READ = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local signs = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. nowMs, '+inf')) do
  signs[#signs + 1] = redis.call('HGET', KEYS[1], name)
end
return signs`;

const FORGET = `redis.call('HDEL', KEYS[1], ARGV[1]) redis.call('ZREM', KEYS[2], ARGV[1]) return 1`;

/** One hash tag: the scripts use both keys. */
function keysOf(prefix: string): readonly [string, string] {
  return [`${prefix}:{daemons}:signs`, `${prefix}:{daemons}:until`];
}

export interface SigningParts {
  readonly redis: Redis;
  readonly prefix: string;
  readonly instance: string;
  readonly timers: Pick<Timers, 'after'>;
  readonly sign: () => DaemonSign;
}

/** Publishes the sign now and every second. Resolves to a function that ends that. Failures are retried. */
export async function showSign(parts: SigningParts): Promise<() => Promise<void>> {
  const { redis, prefix, instance, timers, sign } = parts;
  let callOff: (() => void) | undefined;
  let hasEnded = false;
  const say = async (): Promise<void> => {
    const text = JSON.stringify(sign());
    if (redis.status === 'ready')
      await redis.eval(SAY, 2, ...keysOf(prefix), instance, text, LIFE_MS).catch(() => undefined);
    if (!hasEnded) callOff = timers.after(RENEW_MS, () => void say());
  };
  await say();
  return async () => {
    hasEnded = true;
    callOff?.();
    if (redis.status === 'ready')
      await redis.eval(FORGET, 2, ...keysOf(prefix), instance).catch(() => undefined);
  };
}

/** Signs of the daemons that are running. */
export async function readSigns(redis: Redis, prefix: string): Promise<readonly DaemonSign[]> {
  const texts = (await redis.eval(READ, 2, ...keysOf(prefix))) as readonly (string | null)[];
  return texts.map((text) => readJson(signSchema, text ?? '')).filter((sign) => sign !== undefined);
}
