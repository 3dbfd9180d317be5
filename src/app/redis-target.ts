import type { RedisSettings } from '../config/redis.ts';
import { readRedisAddress } from '../config/redis-address.ts';
import type { RedisTarget } from '../queues/connection.ts';

/** What says where Redis is and how it is reached. */
export type RedisPlace = Pick<RedisSettings, 'url' | 'tls'>;

/** What every connection to Redis has in common, for ioredis and BullMQ. @throws TypeError for what is no address */
export function redisTarget({ url, tls }: RedisPlace): RedisTarget {
  const reading = readRedisAddress(url.reveal());
  if (reading.kind === 'none') throw new TypeError(`expected an address of Redis, got ${reading.got}`);
  const { address } = reading;
  const [first] = address.hosts;
  return {
    ...first,
    ...(address.username === undefined ? {} : { username: address.username }),
    ...(address.password === undefined ? {} : { password: address.password }),
    ...(address.family === undefined ? {} : { family: address.family }),
    db: address.database,
    ...(address.tls ? { tls: secureContext(tls) } : {}),
  };
}

function secureContext({ ca, cert, key }: RedisSettings['tls']): NonNullable<RedisTarget['tls']> {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key: key.reveal() }),
  };
}
