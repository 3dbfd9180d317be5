import type { Redis } from 'ioredis';
import { below, type Draw, mutatedJson, oneOf } from './mutate.ts';
import { excluded } from './processor-time.ts';

/** Commands and scripts whose replies the stores read. */
const READ = /^(?:bw|get$|hget|hkeys|info$|set$|x|hexists)/;

/** The same connection with occasionally changed replies, as from a foreign server. */
export function hostileRedis(redis: Redis, draw: Draw): Redis {
  return new Proxy(redis, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (typeof name !== 'string' || !READ.test(name)) return member.bind(target) as unknown;
      return (...args: unknown[]) => {
        const reply: unknown = Reflect.apply(member, target, args);
        return reply instanceof Promise
          ? reply.then((value: unknown) => excluded(() => changed(draw, value)))
          : reply;
      };
    },
  });
}

const ODD = [
  null,
  '',
  '0',
  '-1',
  'nan',
  'Infinity',
  '1e308',
  -1,
  0,
  1,
  2,
  3.5,
  2 ** 53,
  1e300,
  [],
  ['x'],
  {},
];

function changed(draw: Draw, reply: unknown): unknown {
  if (draw() < 0.5) return reply;
  if (typeof reply === 'string' && reply.startsWith('{') && draw() < 0.7)
    return mutatedJson(draw, JSON.parse(reply));
  if (typeof reply !== 'object' || reply === null || draw() < 0.1) return oneOf(draw, ODD);
  const copy = (Array.isArray(reply) ? [...reply] : { ...reply }) as Record<string, unknown> | unknown[];
  const keys = Object.keys(copy);
  const key = keys[below(draw, keys.length)];
  if (key === undefined) return oneOf(draw, ODD);
  const kind = draw();
  if (kind < 0.2 && Array.isArray(copy)) copy.splice(Number(key), 1 + below(draw, 3));
  else if (kind < 0.3 && Array.isArray(copy)) copy.push(...copy.slice(0, 50));
  else if (kind < 0.6) Reflect.set(copy, key, changed(draw, Reflect.get(copy, key)));
  else Reflect.set(copy, key, oneOf(draw, ODD));
  return copy;
}
