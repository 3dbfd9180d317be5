import type { Redis } from 'ioredis';

/** A Lua script that is sent whole once per server and by its digest from then on. */
export interface RedisScript {
  readonly name: string;
  /** Absent: it varies, and the number of keys is the first argument of each call. */
  readonly numberOfKeys?: number;
  readonly lua: string;
}

export type ScriptArgument = string | number;

/** FieldCache scripts on a connection; ioredis falls back from EVALSHA to EVAL by itself. */
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

export function toNumbers(reply: unknown): number[] {
  if (!Array.isArray(reply)) throw new TypeError('unexpected reply of a Redis script');
  return reply.map(Number);
}
