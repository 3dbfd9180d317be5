import type { Redis } from 'ioredis';
import { MOST_AHEAD_MS } from '../../core/ports/nonce-store.ts';
import { bucketOf, type LaneLeases, type LeaseRenewal } from '../../core/ports/state-store.ts';
import { CLOCK_STEP_MS } from '../account/account-backend.ts';
import type { BucketKeys } from '../account/keys.ts';
import { LUA_NOW, prepareScripts, type RedisScript, wholeNumber } from '../redis-scripts.ts';

/** Tokens are milliseconds of the clock, so no real one has more digits. */
const TOKEN_DIGITS = 15;

/**
 * KEYS[1]: a hash per account. `m:<market>` and `all` hold `token|until|owner`, `wish` holds `0|until|owner` of the
 * owner that waits for all lanes, `n` the last token. The next caller removes expired leases. A lease that ends later
 * than one that begins now is from before a step back of the server's clock: it ends with the new one. A malformed
 * lease, and a token far ahead of the clock, were written by others: they count as absent.
 */
const READ_LEASES = `${LUA_NOW}
local function parse(text)
  local token, till, owner = string.match(text, '^(%d+)|(%d+)|(.*)$')
  if not token or #token > ${TOKEN_DIGITS} then return nil, 0, '' end
  return token, tonumber(till), owner
end`;

/** ARGV: field, owner, lease, how long the hash outlives its leases. Replies 1 and the token, or 0, owner, wait. */
export const ACQUIRE: RedisScript = {
  name: 'bwLeaseAcquire',
  numberOfKeys: 1,
  lua: `${READ_LEASES}
local field, owner, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])
local held = redis.call('HGETALL', KEYS[1])
local last, mine, blocker, wait, wished = 0, nil, nil, 0, false
for index = 1, #held, 2 do
  local name = held[index]
  if name == 'n' then
    last = tonumber(held[index + 1]) or 0
    if not (last >= 0 and last <= now + ${MOST_AHEAD_MS}) then last = 0 end
  else
    local token, till, holder = parse(held[index + 1])
    if till > now + lease + ${CLOCK_STEP_MS} then
      till = now + lease
      redis.call('HSET', KEYS[1], name, string.format('%s|%.0f|%s', token, till, holder))
    end
    if till <= now then redis.call('HDEL', KEYS[1], name)
    elseif holder == owner then
      if name == field then mine = token end
    else
      if name == 'wish' then wished = true end
      if field == 'all' or name == field or name == 'all' or name == 'wish' then
        if till - now > wait then blocker, wait = holder, till - now end
      end
    end
  end
end
if blocker and not mine then
  if field == 'all' and not wished then
    redis.call('HSET', KEYS[1], 'wish', string.format('0|%.0f|%s', now + lease, owner))
    redis.call('PEXPIRE', KEYS[1], lease + tonumber(ARGV[4]))
  end
  return { 0, blocker, wait }
end
if field == 'all' then redis.call('HDEL', KEYS[1], 'wish') end
local token = mine
if not token then token = string.format('%.0f', math.max(last + 1, now)) end
redis.call('HSET', KEYS[1], field, string.format('%s|%.0f|%s', token, now + lease, owner), 'n',
  mine and string.format('%.0f', last) or token)
redis.call('PEXPIRE', KEYS[1], lease + tonumber(ARGV[4]))
return { 1, token }`,
};

/** ARGV: field, token, lease, owner, how long the hash outlives its leases. 0 lost, 1 held, 2 wanted. */
export const RENEW: RedisScript = {
  name: 'bwLeaseRenew',
  numberOfKeys: 1,
  lua: `${READ_LEASES}
local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text or parse(text) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%s|%.0f|%s', ARGV[2], now + tonumber(ARGV[3]), ARGV[4]))
redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[3]) + tonumber(ARGV[5]))
local wish = redis.call('HGET', KEYS[1], 'wish')
if wish then
  local _, till, owner = parse(wish)
  if till > now and owner ~= ARGV[4] then return 2 end
end
return 1`,
};

/** ARGV: field, owner. */
export const RELEASE: RedisScript = {
  name: 'bwLeaseRelease',
  numberOfKeys: 1,
  lua: `${READ_LEASES}
local function drop(name)
  local text = redis.call('HGET', KEYS[1], name)
  if not text then return end
  local _, _, owner = parse(text)
  if owner == ARGV[2] then redis.call('HDEL', KEYS[1], name) end
end
drop(ARGV[1])
if ARGV[1] == 'all' then drop('wish') end
return 1`,
};

/** How long the hash outlives its leases, so that tokens rise. Losing it is harmless: tokens begin at the clock. */
const KEEP_MS = 3_600_000;

const RENEWALS: readonly LeaseRenewal[] = ['lost', 'held', 'wanted'];

/** Rejects with a StoreLostError that names what was being done. */
export type Within = <T>(doing: string, call: () => Promise<T>) => Promise<T>;

/** Leases in Redis; time is the Redis server's. */
export function createRedisLeases(
  redis: Redis,
  keysOf: (bucket: number) => BucketKeys,
  within: Within,
): LaneLeases {
  const run = prepareScripts(redis, [ACQUIRE, RENEW, RELEASE]);
  const keyOf = (accountId: string): string => keysOf(bucketOf(accountId)).leases(accountId);
  return {
    acquire(accountId, market, owner, leaseMs) {
      return within('taking a lane', async () => {
        const reply = await run(ACQUIRE, keyOf(accountId), leaseField(market), owner, leaseMs, KEEP_MS);
        const [code, value, wait] = reply as [number, string, number | undefined];
        if (code === 1)
          return { kind: 'held', lease: { accountId, market, owner, token: wholeNumber(value, 1) } };
        const retryInMs = Math.max(1, wholeNumber(wait, 0, leaseMs + CLOCK_STEP_MS));
        return { kind: 'busy', by: value, retryInMs };
      });
    },
    renew({ accountId, market, owner, token }, leaseMs) {
      return within('keeping a lane', async () => {
        const reply = await run(RENEW, keyOf(accountId), leaseField(market), token, leaseMs, owner, KEEP_MS);
        return RENEWALS[Number(reply)] ?? 'lost';
      });
    },
    async release({ accountId, market, owner }) {
      await within('leaving a lane', () => run(RELEASE, keyOf(accountId), leaseField(market), owner));
    },
  };
}

export function leaseField(market: string | null): string {
  return market === null ? 'all' : `m:${market}`;
}
