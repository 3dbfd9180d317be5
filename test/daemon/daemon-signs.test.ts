import { once } from 'node:events';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { readSigns, showSign } from '../../src/app/daemon-signs.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { startPrivateRedis } from '../support/redis.ts';
import { eventually } from './world.ts';

const SIGN = { takesOrders: true, keyMark: null, isGuarded: true, maxSlippage: 0.05 };

async function openSigns() {
  const server = await startPrivateRedis();
  const redis = new Redis(server.url);
  await once(redis, 'ready');
  closeAfterTest(async () => {
    redis.disconnect();
    await server.stop();
  });
  const show = async (instance: string, isRenewed: boolean) => {
    const after = (ms: number, work: () => void) => {
      const timer = isRenewed ? setTimeout(work, ms) : undefined;
      return () => clearTimeout(timer);
    };
    const { end } = await showSign({
      redis,
      prefix: server.prefix,
      instance,
      timers: { after },
      sign: () => SIGN,
      clock: systemClock,
      telemetry: { emit: () => undefined },
      state: { controls: { list: async () => [] } },
    });
    return end;
  };
  return { redis, prefix: server.prefix, show, signs: () => readSigns(redis, server.prefix) };
}

test('a stopped daemon takes no orders any more, and a killed one counts as running only briefly', async () => {
  const { show, signs } = await openSigns();
  const end = await show('i0-a', true);
  await show('i1-killed', false);
  expect(await signs()).toMatchObject([SIGN, SIGN]);
  await eventually(async () => (await signs()).length === 1, 'the killed one is forgotten');
  await end();
  expect(await signs()).toEqual([]);
});

test('foreign data in place of signs is skipped', async () => {
  const { redis, prefix, show, signs } = await openSigns();
  const end = await show('i0-a', true);
  await redis.hset(`${prefix}:{daemons}:signs`, 'i2', '{"takesOrders":"yes"}');
  await redis.zadd(`${prefix}:{daemons}:until`, Date.now() + 60_000, 'i2');
  expect(await signs()).toMatchObject([SIGN]);
  await end();
});
