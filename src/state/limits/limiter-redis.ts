import type { Redis } from 'ioredis';
import { type RateLimitStore, WINDOW_BUCKETS } from '../../core/ports/rate-limit-store.ts';
import { CLOCK_STEP_MS } from '../account/account-backend.ts';
import { LUA_NOW, prepareScripts, type RedisScript, toNumbers, wholeNumber } from '../redis-scripts.ts';

/** Longest block by a penalty; also bounds blocks that others have written. */
const LONGEST_BLOCK_MS = 60_000;

/** Above any real budget: larger counts were written by others. */
const MOST_TAKEN = 1_000_000_000;

/** Values too far in the future are from before a step back of the server's clock, and are ignored. */
const TIME_AND_FACTOR = `${LUA_NOW}
local function factorNow()
  local state = redis.call('HMGET', KEYS[2], 'factor', 'at', 'recovery', 'blockedUntil')
  if not state[1] then return 1, 0 end
  local factor, at, recovery, blocked = tonumber(state[1]), tonumber(state[2]), tonumber(state[3]), tonumber(state[4])
  if not (factor and at and recovery and blocked) or at > now + ${CLOCK_STEP_MS} then return 1, 0 end
  local recovered = math.max(0, (now - at) / math.min(math.max(1, recovery), ${LONGEST_BLOCK_MS}))
  if blocked > now + ${LONGEST_BLOCK_MS} then blocked = 0 end
  return math.min(1, math.max(0, factor) + (1 - math.max(0, factor)) * recovered), blocked
end`;

/** Buckets are fields of one hash: index of the bucket to permits granted in it. */
const TAKE: RedisScript = {
  name: 'bwLimitTake',
  numberOfKeys: 2,
  lua: `${TIME_AND_FACTOR}
local limit, period, share = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local count, ignorePenalty, buckets = tonumber(ARGV[4]), ARGV[5] == '1', tonumber(ARGV[6])
local width = math.ceil(period / buckets)
local current = math.floor(now / width)
local used, oldest = 0, current
local fields = redis.call('HGETALL', KEYS[1])
for index = 1, #fields, 2 do
  local bucket, taken = tonumber(fields[index]), tonumber(fields[index + 1])
  local isCount = bucket and taken and taken == math.floor(taken) and taken >= 0 and taken <= ${MOST_TAKEN}
  if not (isCount and bucket >= current - buckets and bucket <= current + buckets) then
    redis.call('HDEL', KEYS[1], fields[index])
  else
    used = used + taken
    if bucket < oldest then oldest = bucket end
  end
end
local factor, blockedUntil = factorNow()
if ignorePenalty then factor = 1
elseif blockedUntil > now then return { 0, blockedUntil - now, 1 } end
local granted = math.max(0, math.min(count, math.max(1, math.floor(limit * share * factor)) - used))
if granted == 0 then return { 0, math.max(1, (oldest + buckets + 1) * width - now), 0 } end
redis.call('HINCRBY', KEYS[1], string.format('%.0f', current), granted)
redis.call('PEXPIRE', KEYS[1], period * 2)
return { granted, 0, 0 }`,
};

const PENALIZE: RedisScript = {
  name: 'bwLimitPenalize',
  numberOfKeys: 2,
  lua: `${TIME_AND_FACTOR}
local factor, floor, recovery, block = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local before, blockedUntil = factorNow()
redis.call('HSET', KEYS[2], 'factor', math.max(floor, before * factor), 'at', now, 'recovery', recovery,
  'blockedUntil', math.max(blockedUntil, now + block))
redis.call('PEXPIRE', KEYS[2], math.max(recovery, block) + 1000)
return 1`,
};

/** Request budgets that all processes behind one IP address share; time is the Redis server's. */
export function createRedisRateLimitStore(options: { redis: Redis; prefix?: string }): RateLimitStore {
  const { redis, prefix = 'breakwater' } = options;
  const run = prepareScripts(redis, [TAKE, PENALIZE]);
  const names = (scope: string): [string, string] => {
    const tag = `${prefix}:{limit/${scope}}`;
    return [`${tag}:window`, `${tag}:penalty`];
  };
  return {
    async take({ scope, limit, periodMs, share, count, ignorePenalty }) {
      const asked = [limit, periodMs, share, count, ignorePenalty ? '1' : '0', WINDOW_BUCKETS];
      const reply = await run(TAKE, ...names(scope), ...asked);
      const [granted, retryInMs, isPause] = toNumbers(reply);
      const longestMs = Math.max(LONGEST_BLOCK_MS, 2 * periodMs + CLOCK_STEP_MS);
      return {
        granted: wholeNumber(granted, 0, count),
        retryInMs: wholeNumber(retryInMs, granted === 0 ? 1 : 0, longestMs),
        isPause: isPause === 1,
      };
    },
    async penalize({ scope, factor, floor, recoveryMs, blockMs }) {
      await run(PENALIZE, ...names(scope), factor, floor, recoveryMs, blockMs);
    },
  };
}
