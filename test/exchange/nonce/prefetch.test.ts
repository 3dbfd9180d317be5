import { expect, test } from 'vitest';
import { systemClock } from '../../../src/exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../../src/state/nonce/nonce-memory.ts';
import { connect, openExchange, STOP } from '../../contract/support/world.ts';
import { eventually } from '../../pipeline/world.ts';

/** A client whose shared stores record their requests. */
async function openClient(mode: 'unique' | 'increasing' | 'window' = 'unique') {
  const exchange = await openExchange();
  const asked: string[] = [];
  const limits = createMemoryRateLimitStore(systemClock);
  const nonces = createMemoryNonceStore(systemClock);
  const counted = <T extends object>(store: T): T =>
    new Proxy(store, {
      get: (target, name, receiver) => {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]): unknown => {
          asked.push(String(name));
          return Reflect.apply(value, target, args);
        };
      },
    });
  const { client } = connect(exchange, 'long', {
    nonce: { mode, store: counted(nonces) },
    limiter: { store: counted(limits) },
  });
  return { exchange, client, asked };
}

test.each(['unique', 'window'] as const)(
  'with %s nonces, prefetch sends nothing, and asks the shared stores for what the call needs',
  async (mode) => {
    const { exchange, client, asked } = await openClient(mode);
    client.prefetch('reduceOnlyStop');
    await eventually(() => asked.length === 2, 'both stores asked');
    expect(asked.toSorted()).toEqual([mode === 'unique' ? 'reserve' : 'reserveWindow', 'take']);
    expect(exchange.requestLog()).toEqual([]);
  },
);

test('a prefetched call asks for nothing more; one made at once waits for the prefetch', async () => {
  const { client, asked } = await openClient();
  client.prefetch('reduceOnlyStop');
  // A second prefetch changes nothing.
  client.prefetch('reduceOnlyStop');
  expect(await client.reduceOnlyStop(STOP, { priority: 'protective' })).toMatchObject({ kind: 'accepted' });
  expect(asked.toSorted()).toEqual(['reserve', 'take']);
});

test('increasing nonces come with the mutex: only the permit is prefetched', async () => {
  const { client, asked } = await openClient('increasing');
  client.prefetch('cancelAll');
  await eventually(() => asked.length === 1, 'the permit');
  expect(asked).toEqual(['take']);
  expect(await client.cancelAll({}, { priority: 'protective' })).toMatchObject({ kind: 'accepted' });
});

test('a closed client prefetches nothing', async () => {
  const { client, asked } = await openClient();
  await client.close();
  client.prefetch('openPositions');
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toEqual([]);
});
