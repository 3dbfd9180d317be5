import { urlOrRef } from './shape/references.ts';
import { name } from './shape/scalars.ts';
import { section } from './shape/shape.ts';

export const redisSchema = section(
  {
    url: urlOrRef('redis:', 'rediss:').describe(
      'Address of the Redis server; with a password, as a reference.',
    ),
    prefix: name('a prefix').describe(
      'First part of every key, so that several installations can share a server.',
    ),
  },
  { url: 'redis://127.0.0.1:6379', prefix: 'breakwater' },
);
