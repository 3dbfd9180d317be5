import type { Redis } from 'ioredis';

/** Where a store has its keys; the connection stays the caller's. */
export interface StorePlace {
  readonly redis: Redis;
  readonly prefix: string;
}

/** A Lua script: sent whole once per server, then by its digest. */
export interface RedisScript {
  readonly name: string;
  /** Absent: given as the first argument of each call. */
  readonly numberOfKeys?: number;
  readonly lua: string;
}

export type ScriptArgument = string | number;

/** Lua: `now`, the Redis server's clock, Unix milliseconds. */
export const LUA_NOW = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)`;

/** Defines scripts on a connection; ioredis falls back from EVALSHA to EVAL itself. */
export function prepareScripts(
  redis: Redis,
  scripts: readonly RedisScript[],
): (script: RedisScript, ...args: ScriptArgument[]) => Promise<unknown> {
  for (const script of scripts) {
    const { lua, numberOfKeys } = script;
    redis.defineCommand(script.name, numberOfKeys === undefined ? { lua } : { lua, numberOfKeys });
  }
  const commands = redis as unknown as Record<string, (...args: ScriptArgument[]) => Promise<unknown>>;
  return (script, ...args) => {
    const command = commands[script.name];
    if (command === undefined) throw new TypeError(`script ${script.name} is not registered`);
    return command.call(redis, ...args);
  };
}

/** @throws TypeError for anything but numbers and their texts */
export function toNumbers(reply: unknown): number[] {
  const numbers = Array.isArray(reply) ? reply.map(numberOf) : [Number.NaN];
  if (!numbers.every(Number.isFinite)) throw new TypeError('unexpected reply of a Redis script');
  return numbers;
}

/** A whole number within bounds, both inclusive. @throws TypeError for anything else */
export function wholeNumber(value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): number {
  const number = numberOf(value);
  if (Number.isSafeInteger(number) && number >= least && number <= most) return number;
  throw new TypeError('unexpected reply of a Redis script');
}

const numberOf = (value: unknown): number =>
  typeof value === 'number' || (typeof value === 'string' && value !== '') ? Number(value) : Number.NaN;

/** Pairs of alternating names and values. */
export function pairsOf(values: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < values.length; at += 2) pairs.push([values[at]!, values[at + 1]!]);
  return pairs;
}
