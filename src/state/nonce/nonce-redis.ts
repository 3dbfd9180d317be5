import type { Redis } from 'ioredis';
import {
  MOST_AHEAD_MS,
  type MutexSignal,
  type NonceStore,
  type ReservedSequence,
  SEQUENCES_PER_MS,
} from '../../core/ports/nonce-store.ts';
import {
  LUA_NOW,
  prepareScripts,
  type RedisScript,
  type ScriptArgument,
  toNumbers,
  wholeNumber,
} from '../redis-scripts.ts';
import { MAX_GAP_MS, MAX_RUNS } from './nonce-window.ts';

export interface RedisNonceStore extends NonceStore {
  /** Ends the store's own subscription; the given connection stays the caller's. */
  close(): Promise<void>;
}

/** How long sequences outlive the process. A lost one restarts at the clock, which is ahead of all values given out. */
const KEEP_MS = 30 * 24 * 3600 * 1000;

/** Lua: the highest value reserved before; 0 for a value that cannot have been reserved, which is overwritten. */
const STORED = `
local function stored(key, floor)
  local value = tonumber(redis.call('GET', key) or '0')
  local most = math.max(floor, now * ${SEQUENCES_PER_MS}) + ${MOST_AHEAD_MS * SEQUENCES_PER_MS}
  if value == nil or value ~= value or value < 0 or value > most then return 0 end
  return value
end`;

/**
 * KEYS: sequences. ARGV: how long kept, then floor and count of each. Returns each first value and the highest
 * before.
 */
const RESERVE: RedisScript = {
  name: 'bwNonceReserve',
  lua: `
${LUA_NOW}${STORED}
local out = {}
for index, key in ipairs(KEYS) do
  local floor = tonumber(ARGV[2 * index])
  local previous = stored(key, floor)
  local first = math.max(floor, previous + 1)
  redis.call('SET', key, string.format('%.0f', first + tonumber(ARGV[2 * index + 1]) - 1), 'PX', ARGV[1])
  out[2 * index - 1] = string.format('%.0f', first)
  out[2 * index] = string.format('%.0f', previous)
end
return out`,
};

/** The steps of `reserveFromRuns`: runs are stored as "from to from to ...", most recently used last. */
const RESERVE_WINDOW: RedisScript = {
  name: 'bwNonceReserveWindow',
  numberOfKeys: 1,
  lua: `
local lowest, highest, count = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local maxRuns, maxGap = tonumber(ARGV[4]), tonumber(ARGV[5])
local runs, sorted = {}, {}
local text = redis.call('GET', KEYS[1]) or ''
for from, to in string.gmatch(text, '(%d+) (%d+)') do
  local run = { from = tonumber(from), to = tonumber(to) }
  runs[#runs + 1] = run
  sorted[#sorted + 1] = run
end
table.sort(sorted, function(a, b) return a.from < b.from end)
local first, ceiling = lowest, highest
for _, run in ipairs(sorted) do
  if run.from <= first and first <= run.to then
    if run.to <= highest + ${MOST_AHEAD_MS} then first = run.to + 1 end
  elseif run.from > first then ceiling = math.min(ceiling, run.from - 1) break end
end
if first > highest then return { 0, first - highest } end
local last = math.min(first + count - 1, ceiling)
local below
for index, run in ipairs(runs) do
  if run.to < first and (below == nil or run.to > runs[below].to) then below = index end
end
if below ~= nil and first - runs[below].to <= maxGap then
  local run = table.remove(runs, below)
  runs[#runs + 1] = { from = run.from, to = last }
else
  runs[#runs + 1] = { from = first, to = last }
end
if #runs > maxRuns then table.remove(runs, 1) end
local out = {}
for _, run in ipairs(runs) do out[#out + 1] = string.format('%.0f %.0f', run.from, run.to) end
redis.call('SET', KEYS[1], table.concat(out, ' '), 'PX', ARGV[6])
return { 1, string.format('%.0f', first), last - first + 1 }`,
};

/** A lease that ends later is from before a step back of the server's clock. */
const LONGEST_LEASE_MS = 60_000;

const LIVE = `${LUA_NOW}
local function live(name, lease)
  local owner = redis.call('HGET', KEYS[1], name)
  if not owner then return nil, 0 end
  local till = tonumber(redis.call('HGET', KEYS[1], name .. 'Until'))
  if till == nil or till <= now or till > now + math.max(lease, ${LONGEST_LEASE_MS}) then return nil, 0 end
  return owner, till
end`;

const ENTER_MUTEX: RedisScript = {
  name: 'bwNonceMutexEnter',
  numberOfKeys: 2,
  lua: `${LIVE}${STORED}
local owner, floor, lease, urgent = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local holder, holderUntil = live('holder', lease)
local wisher, wisherUntil = live('urgent', lease)
local held = holder ~= nil and holder ~= owner
local wished = wisher ~= nil and wisher ~= owner
if held or (wished and not urgent) then
  redis.call('HSET', KEYS[1], 'contendedUntil', now + lease)
  redis.call('PEXPIRE', KEYS[1], lease * 10)
  if holder == owner then
    redis.call('HDEL', KEYS[1], 'holder', 'holderUntil')
    redis.call('PUBLISH', ARGV[5], 'free ' .. ARGV[6])
  end
  if urgent and not wished then
    redis.call('HSET', KEYS[1], 'urgent', owner, 'urgentUntil', now + lease)
    if wisher == nil then redis.call('PUBLISH', ARGV[5], 'urgent ' .. ARGV[6]) end
  end
  return { 0, math.max(1, (held and holderUntil or wisherUntil) - now) }
end
if wisher == owner then redis.call('HDEL', KEYS[1], 'urgent', 'urgentUntil') end
local contended = wished or (tonumber(redis.call('HGET', KEYS[1], 'contendedUntil') or '0') or 0) > now
redis.call('HSET', KEYS[1], 'holder', owner, 'holderUntil', now + lease)
redis.call('PEXPIRE', KEYS[1], lease * 10)
local sequence = math.max(floor, stored(KEYS[2], floor) + 1)
redis.call('SET', KEYS[2], string.format('%.0f', sequence), 'PX', ARGV[7])
return { 1, string.format('%.0f', sequence), contended and 1 or 0 }`,
};

const RENEW_MUTEX: RedisScript = {
  name: 'bwNonceMutexRenew',
  numberOfKeys: 1,
  lua: `${LIVE}
local owner, lease = ARGV[1], tonumber(ARGV[2])
if live('holder', lease) ~= owner then return 0 end
redis.call('HSET', KEYS[1], 'holderUntil', now + lease)
redis.call('PEXPIRE', KEYS[1], lease * 10)
local wisher = live('urgent', lease)
if wisher ~= nil and wisher ~= owner then return 2 end
return 1`,
};

const LEAVE_MUTEX: RedisScript = {
  name: 'bwNonceMutexLeave',
  numberOfKeys: 1,
  lua: `
if redis.call('HGET', KEYS[1], 'urgent') == ARGV[1] then redis.call('HDEL', KEYS[1], 'urgent', 'urgentUntil') end
if redis.call('HGET', KEYS[1], 'holder') == ARGV[1] then
  redis.call('HDEL', KEYS[1], 'holder', 'holderUntil', 'contendedUntil')
end
redis.call('PUBLISH', ARGV[2], 'free ' .. ARGV[3])
return 1`,
};

/** Nonces and mutexes that processes on several hosts share. Leases are timed by the Redis server's clock. */
export function createRedisNonceStore(options: { redis: Redis; prefix?: string }): RedisNonceStore {
  const { redis, prefix = 'breakwater' } = options;
  const run = prepareScripts(redis, [RESERVE, RESERVE_WINDOW, ENTER_MUTEX, RENEW_MUTEX, LEAVE_MUTEX]);
  // Every account has its own key, and those of a bucket are polled in the same turn.
  const reserve = reserver((keys, args) => run(RESERVE, keys.length, ...keys, KEEP_MS, ...args));
  const channel = `${prefix}:mutexes`;
  const signals = createSignals(redis, channel);
  // Keys of one API key share a hash tag, so that the scripts also run on a Redis Cluster.
  const names = (key: string) => {
    const tag = `${prefix}:{nonce/${key}}`;
    return { sequence: `${tag}:sequence`, runs: `${tag}:runs`, mutex: `${tag}:mutex` };
  };
  return {
    reserve: (key, floor, count) => reserve(names(key).sequence, floor, count),
    async reserveWindow(key, fromMs, toMs, count) {
      const bounds = [MAX_RUNS, MAX_GAP_MS, KEEP_MS];
      const reply = await run(RESERVE_WINDOW, names(key).runs, fromMs, toMs, count, ...bounds);
      const [reserved, first, granted] = toNumbers(reply);
      if (reserved !== 1) return { kind: 'exhausted', waitMs: wholeNumber(first, 1, 2 * MOST_AHEAD_MS) };
      return {
        kind: 'reserved',
        first: wholeNumber(first, fromMs, toMs),
        count: wholeNumber(granted, 1, count),
      };
    },
    async enterMutex(key, { owner, floor, leaseMs, urgent }) {
      const { mutex, sequence } = names(key);
      const asked = [owner, floor, leaseMs, urgent ? '1' : '0'];
      const reply = await run(ENTER_MUTEX, mutex, sequence, ...asked, channel, key, KEEP_MS);
      const [granted, value, contended] = toNumbers(reply);
      if (granted !== 1) {
        return { kind: 'busy', retryInMs: wholeNumber(value, 1, Math.max(leaseMs, LONGEST_LEASE_MS)) };
      }
      return { kind: 'granted', sequence: wholeNumber(value, floor), contended: contended === 1 };
    },
    async renewMutex(key, owner, leaseMs) {
      const reply = Number(await run(RENEW_MUTEX, names(key).mutex, owner, leaseMs));
      if (reply === 0) return 'lost';
      return reply === 2 ? 'urgentWaiting' : 'held';
    },
    async leaveMutex(key, owner) {
      await run(LEAVE_MUTEX, names(key).mutex, owner, channel, key);
    },
    onMutexSignal: (listener) => signals.listen(listener),
    close: () => signals.close(),
  };
}

interface Reservation {
  readonly key: string;
  readonly floor: number;
  readonly count: number;
  readonly resolve: (reserved: ReservedSequence) => void;
  readonly reject: (error: unknown) => void;
}

/** Sends the reservations of one turn in one call, or each by itself if a cluster refuses keys of several slots. */
function reserver(
  reserve: (keys: readonly string[], args: readonly ScriptArgument[]) => Promise<unknown>,
): NonceStore['reserve'] {
  let waiting: Reservation[] = [];
  let isTogether = true;
  const send = async (batch: readonly Reservation[]): Promise<void> => {
    const keys = batch.map(({ key }) => key);
    const args = batch.flatMap(({ floor, count }) => [floor, count]);
    try {
      const values = toNumbers(await reserve(keys, args));
      for (const [index, { floor, count, resolve }] of batch.entries()) {
        const [first, previous] = values.slice(2 * index, 2 * index + 2);
        resolve({ first: wholeNumber(first, floor), count, previous: wholeNumber(previous, 0) });
      }
    } catch (error) {
      const { name, message } = error as Error;
      if (message.startsWith('CROSSSLOT')) isTogether = false;
      // If the server refuses one of them, the others must still get theirs.
      if (batch.length > 1 && name === 'ReplyError') for (const one of batch) void send([one]);
      else for (const { reject } of batch) reject(error);
    }
  };
  const sendWaiting = (): void => {
    const batches = isTogether ? [waiting] : waiting.map((one) => [one]);
    waiting = [];
    for (const batch of batches) void send(batch);
  };
  return (key, floor, count) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) process.nextTick(sendWaiting);
      waiting.push({ key, floor, count, resolve, reject });
    });
}

/** One subscription per store, opened for the first listener; a lost message costs time, never order. */
function createSignals(redis: Redis, channel: string) {
  const listeners = new Set<(signal: MutexSignal) => void>();
  let subscriber: Redis | undefined;
  const receive = (_channel: string, message: string) => {
    const space = message.indexOf(' ');
    const kind = message.slice(0, space) === 'urgent' ? 'urgent' : 'free';
    for (const listener of listeners) listener({ key: message.slice(space + 1), kind });
  };
  return {
    listen(listener: (signal: MutexSignal) => void): () => void {
      listeners.add(listener);
      if (subscriber === undefined) {
        subscriber = redis.duplicate();
        // Signals are hints: without them mutexes are polled, so a failing subscription is not an error.
        subscriber.on('error', () => undefined);
        subscriber.on('message', receive);
        subscriber.subscribe(channel).catch(() => undefined);
      }
      return () => listeners.delete(listener);
    },
    async close() {
      listeners.clear();
      subscriber?.disconnect();
      subscriber = undefined;
    },
  };
}
