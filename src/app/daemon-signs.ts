import type { Redis } from 'ioredis';
import { z } from 'zod';
import { companyFault, type DaemonSign, FOREIGN } from '../core/controls/daemon-sign.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { readJson } from '../state/read-json.ts';
import type { ClaimParts } from './instance-claim.ts';

/** Signs are validated: others may have written them. */
const signSchema = z.object({
  takesOrders: z.boolean(),
  keyMark: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .nullable(),
  isGuarded: z.boolean(),
  maxSlippage: z.number().min(0).max(1),
  apiKeys: z.array(z.string().max(16)).max(8).optional(),
  config: z.string().max(64).optional(),
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
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. nowMs, nowMs + ARGV[1])) do
  signs[#signs + 1] = redis.call('HGET', KEYS[1], name)
end
return signs`;

const FORGET = `redis.call('HDEL', KEYS[1], ARGV[1]) redis.call('ZREM', KEYS[2], ARGV[1]) return 1`;

/** One hash tag: the scripts use both keys. */
function keysOf(prefix: string): readonly [string, string] {
  return [`${prefix}:{daemons}:signs`, `${prefix}:{daemons}:until`];
}

export interface SigningParts extends Pick<ClaimParts, 'redis' | 'prefix' | 'instance' | 'timers' | 'clock'> {
  readonly sign: () => DaemonSign;
  readonly telemetry: Telemetry;
}

/** Publishes the sign now and every second. Resolves to a function that ends that. Failures are retried. */
export async function showSign(parts: SigningParts): Promise<() => Promise<void>> {
  const { redis, prefix, instance, timers, sign } = parts;
  const onSigns = watchCompany(parts);
  let callOff: (() => void) | undefined;
  let hasEnded = false;
  const say = async (): Promise<void> => {
    const text = JSON.stringify(sign());
    if (redis.status === 'ready') {
      await redis.eval(SAY, 2, ...keysOf(prefix), instance, text, LIFE_MS).catch(() => undefined);
      await readSigns(redis, prefix).then(onSigns, () => undefined);
    }
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

/** A roll-out takes this long; a process whose keys were all changed reads them within the other. */
const SETTLED_MS = { configs: 60_000, keys: 5_000 };

/** Returns a listener that says what stays wrong between this process and the others. */
function watchCompany({ sign, clock, telemetry }: SigningParts): (signs: readonly DaemonSign[]) => void {
  let [seen, said]: (string | undefined)[] = [];
  let sinceMs = 0;
  return (signs) => {
    const fault = companyFault(sign(), signs);
    const nowMs = clock.monotonicMs();
    if (fault !== seen) sinceMs = nowMs;
    seen = fault;
    const settledMs = fault === undefined ? 0 : SETTLED_MS[fault === FOREIGN ? 'keys' : 'configs'];
    if (fault === said || nowMs - sinceMs < settledMs) return;
    said = fault;
    telemetry.emit({ kind: 'company', ...(fault === undefined ? {} : { fault }) });
  };
}

/** Signs of the daemons that are running. */
export async function readSigns(redis: Redis, prefix: string): Promise<readonly DaemonSign[]> {
  const texts = (await redis.eval(READ, 2, ...keysOf(prefix), LIFE_MS)) as readonly (string | null)[];
  return texts.map((text) => readJson(signSchema, text ?? '')).filter((sign) => sign !== undefined);
}
