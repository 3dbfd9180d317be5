import type { ChainableCommander, Redis } from 'ioredis';
import { below, type Draw, mutatedJson, mutatedText, oneOf } from './mutate.ts';

/** A stored key, and how to restore it. */
interface StoredKey {
  readonly name: string;
  readonly type: string;
  readonly dump: Buffer;
  /**
   * Changeable texts: fields of a hash, scores of a sorted set, fields of each stream entry; a string has one without a
   * name.
   */
  readonly texts: readonly Place[];
}

interface Place {
  /** For a stream: `id field`. */
  readonly field: string;
  readonly text: string;
}

export interface StoredKeys {
  readonly keys: readonly StoredKey[];
  /** Restores the original keys, and deletes all others. */
  restore(): Promise<void>;
}

export async function storedKeys(redis: Redis, prefix: string): Promise<StoredKeys> {
  const names = (await redis.keys(`${prefix}*`)).toSorted();
  const keys = await Promise.all(names.map((name) => readKey(redis, name)));
  return {
    keys,
    async restore() {
      const pipeline = redis.pipeline();
      const others = (await redis.keys(`${prefix}*`)).filter((name) => !names.includes(name));
      if (others.length > 0) pipeline.del(...others);
      for (const { name, dump } of keys) pipeline.restore(name, '0', dump, 'REPLACE');
      await pipeline.exec();
    },
  };
}

async function readKey(redis: Redis, name: string): Promise<StoredKey> {
  const type = await redis.type(name);
  const dump = await redis.dumpBuffer(name);
  return { name, type, dump, texts: await placesOf(redis, name, type) };
}

async function placesOf(redis: Redis, name: string, type: string): Promise<readonly Place[]> {
  if (type === 'hash')
    return Object.entries(await redis.hgetall(name))
      .map(([field, text]) => ({ field, text }))
      .sort((a, b) => (a.field < b.field ? -1 : 1));
  if (type === 'string') return [{ field: '', text: (await redis.get(name)) ?? '' }];
  if (type === 'zset') {
    const members = await redis.zrange(name, '0', '-1');
    return members.map((field) => ({ field, text: '0' }));
  }
  const entries = await redis.xrange(name, '-', '+');
  return entries.flatMap(([id, values]) =>
    values.flatMap((text, at) => (at % 2 === 1 ? [{ field: `${id} ${values[at - 1] ?? ''}`, text }] : [])),
  );
}

/** A change of one key; its words suffice to repeat it. */
export interface KeyChange {
  readonly words: string;
  readonly apply: (pipeline: ChainableCommander) => void;
}

const TYPES = ['list', 'set', 'hash', 'string'] as const;
const STAMP_LENGTH = 12;
const MOST_TEXT = 500_000;
/** Offsets of scores and milliseconds: around now, and far from it. */
const OFFSETS_MS = [0, 1_000, -1_000, 59_000, 61_000, 599_000, 601_000, -86_400_000, 9e14, -9e15];

export function changeOf(draw: Draw, { keys }: StoredKeys): KeyChange {
  const key = oneOf(draw, keys);
  const { name, type, texts } = key;
  const kind = draw();
  if (kind < 0.03) return { words: `DEL ${name}`, apply: (pipeline) => pipeline.del(name) };
  if (kind < 0.06) {
    const other = oneOf(draw, TYPES);
    return { words: `${name} becomes a ${other}`, apply: (pipeline) => becomes(pipeline, name, other) };
  }
  const place = oneOf(draw, texts);
  const { field } = place;
  const changed = textOf(draw, place.text);
  // Writing longer texts would dominate the measured time.
  const text = changed.length > MOST_TEXT ? place.text : changed;
  const words = `${type} ${name} ${field}: ${text.slice(0, 1_500)}`;
  if (type === 'string') return { words, apply: (pipeline) => pipeline.set(name, text) };
  if (type === 'zset') {
    const score = String(scoreOf(draw));
    return { words: `${name} ${field}: ${score}`, apply: (pipeline) => pipeline.zadd(name, score, field) };
  }
  if (type === 'stream') return { words, apply: (pipeline) => rewrite(pipeline, key, { field, text }) };
  if (draw() < 0.1)
    return { words: `HDEL ${name} ${field}`, apply: (pipeline) => pipeline.hdel(name, field) };
  const target = draw() < 0.1 ? mutatedText(draw, field, 'abdlmvht:_0129').slice(0, 1_000) : field;
  return { words: `${words} (as ${target})`, apply: (pipeline) => pipeline.hset(name, target, text) };
}

function becomes(pipeline: ChainableCommander, name: string, type: (typeof TYPES)[number]): void {
  pipeline.del(name);
  if (type === 'list') pipeline.rpush(name, 'x');
  else if (type === 'set') pipeline.sadd(name, 'x');
  else if (type === 'hash') pipeline.hset(name, 'x', 'x');
  else pipeline.set(name, 'x');
}

/** Stream entries cannot be changed, so the stream is rewritten, sometimes with an entry far ahead. */
function rewrite(pipeline: ChainableCommander, { name, texts }: StoredKey, changed: Place): void {
  pipeline.del(name);
  const entries = new Map<string, string[]>();
  for (const { field, text } of texts) {
    const [id = '', value = ''] = field.split(' ');
    const values = entries.get(id) ?? [];
    values.push(value, field === changed.field ? changed.text : text);
    entries.set(id, values);
  }
  for (const [id, values] of entries) pipeline.xadd(name, id, ...values);
  if (changed.text.length % 7 === 0) pipeline.xadd(name, '18446744073709551614-1', 't', changed.text);
}

const scoreOf = (draw: Draw): number | string =>
  draw() < 0.3 ? oneOf(draw, ['inf', '-inf', '1e300', '0', '-1']) : Date.now() + oneOf(draw, OFFSETS_MS);

/** Numbers become other numbers, JSON becomes other JSON, and sometimes any text becomes another text. */
function textOf(draw: Draw, text: string): string {
  const kind = draw();
  if (kind < 0.15) return mutatedText(draw, text, '{}[]":,0123456789|-.eEinfa \u0000\u00e9');
  for (const from of [0, STAMP_LENGTH]) {
    const value = jsonOf(text.slice(from));
    if (typeof value === 'object' && value !== null) return text.slice(0, from) + mutatedJson(draw, value);
  }
  if (kind < 0.3) return mutatedText(draw, text, '0123456789|-.eEinfa ');
  const numbers = [...text.matchAll(/\d+(?:\.\d+)?/g)];
  const found = numbers[below(draw, Math.max(1, numbers.length))];
  if (found === undefined) return mutatedText(draw, text, 'abc|0 ');
  return text.slice(0, found.index) + numberText(draw) + text.slice(found.index + found[0].length);
}

function numberText(draw: Draw): string {
  if (draw() < 0.5)
    return oneOf(draw, [
      '',
      '-1',
      '0',
      'nan',
      'inf',
      '-inf',
      '1e308',
      '9e20',
      '0x1F',
      '1.5',
      '9'.repeat(400),
    ]);
  const scale = oneOf(draw, [1, 10]);
  return String((Date.now() + oneOf(draw, OFFSETS_MS)) * scale);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
