import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  createExchangeClient,
  type ExchangeClientOptions,
  ExchangeOptionsError,
} from '../../src/exchange/client.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../src/state/nonce/nonce-memory.ts';

const store = createMemoryRateLimitStore(systemClock);
const nonces = createMemoryNonceStore(systemClock);

interface Changes {
  readonly baseUrls?: readonly string[];
  readonly credentials?: Partial<ExchangeClientOptions['credentials']>;
  readonly nonce?: Partial<ExchangeClientOptions['nonce']>;
  readonly limiter?: Partial<ExchangeClientOptions['limiter']>;
  readonly rest?: Partial<ExchangeClientOptions>;
}

/** The option named by the error; `fine` if there is none. */
async function faultOf({ baseUrls, credentials, nonce, limiter, rest }: Changes): Promise<string> {
  try {
    const client = createExchangeClient({
      baseUrls: baseUrls ?? ['http://127.0.0.1:9'],
      credentials: { apiKey: 'key', apiSecret: 'secret', ...credentials },
      nonce: { mode: 'unique', store: nonces, ...nonce },
      limiter: { store, fallback: store, ...limiter },
      ...rest,
    });
    await client.close();
    return 'fine';
  } catch (error) {
    if (!(error instanceof ExchangeOptionsError)) throw error;
    expect(error.code).toBe('EXCHANGE_OPTIONS');
    expect(error.message).not.toContain('secret');
    return error.message;
  }
}

const ROWS: readonly (readonly [string, Changes, RegExp | 'fine'])[] = [
  ['nothing', {}, 'fine'],
  ['no address', { baseUrls: [] }, /^baseUrls: name at least one address$/],
  ['two addresses', { baseUrls: ['https://a.example', 'http://b.example/x'] }, 'fine'],
  ['another scheme', { baseUrls: ['https://a.example', 'ftp://b.example'] }, /^baseUrls\[1\]: must be/],
  ['no address at all', { baseUrls: ['a.example'] }, /^baseUrls\[0\]: must be/],
  ['a query', { baseUrls: ['https://a.example?x=1'] }, /^baseUrls\[0\]: must be/],
  ['a user', { baseUrls: ['https://u:p@a.example'] }, /^baseUrls\[0\]: must be/],
  ['an empty key', { credentials: { apiKey: '' } }, /^credentials.apiKey: must be visible ASCII/],
  ['a key with a space', { credentials: { apiKey: 'a b' } }, /^credentials.apiKey/],
  ['a key with an umlaut', { credentials: { apiKey: 'schlüssel' } }, /^credentials.apiKey/],
  ['an empty secret', { credentials: { apiSecret: '' } }, /^credentials.apiSecret: must not be empty$/],
  ['a proxy', { rest: { proxy: 'http://u:p@127.0.0.1:8080' } }, 'fine'],
  ['a proxy with TLS', { rest: { proxy: 'https://127.0.0.1:8080' } }, 'fine'],
  ['a SOCKS proxy', { rest: { proxy: 'socks5://127.0.0.1:8080' } }, /^proxy: must be/],
  ['a proxy that is no address', { rest: { proxy: '127.0.0.1' } }, /^proxy: must be/],
  ['no ordinals', { nonce: { ordinals: 0 } }, /^nonce.ordinals: must be 1 to 50$/],
  ['half an ordinal', { nonce: { ordinals: 1.5 } }, /^nonce.ordinals/],
  ['51 ordinals', { nonce: { ordinals: 51 } }, /^nonce.ordinals/],
  ['50 ordinals', { nonce: { ordinals: 50, ordinal: 49 } }, 'fine'],
  ['one ordinal', { nonce: { ordinals: 1 } }, 'fine'],
  ['the last ordinal', { nonce: { ordinal: 9 } }, 'fine'],
  ['one ordinal too far', { nonce: { ordinal: 10 } }, /^nonce.ordinal: must be a whole number from 0 to 9$/],
  ['a negative ordinal', { nonce: { ordinal: -1 } }, /^nonce.ordinal: /],
  ['a broken ordinal', { nonce: { ordinal: 0.5 } }, /^nonce.ordinal: /],
  ['all reserved', { limiter: { reservedShare: 1 } }, /^limiter.reservedShare/],
  ['nothing reserved', { limiter: { reservedShare: 0 } }, 'fine'],
  ['less than nothing reserved', { limiter: { reservedShare: -0.1 } }, /^limiter.reservedShare/],
  ['no number reserved', { limiter: { reservedShare: Number.NaN } }, /^limiter.reservedShare/],
  [
    'no time',
    { rest: { timeouts: { callMs: 0 } } },
    /^timeouts.callMs: must be milliseconds greater than zero$/,
  ],
  ['a short time', { rest: { timeouts: { attemptMs: 0.5 } } }, 'fine'],
  ['no number of a time', { rest: { timeouts: { storeMs: Number.NaN } } }, /^timeouts.storeMs/],
  ['no connections', { rest: { pool: { connections: 0 } } }, /^pool.connections/],
  ['half a connection', { rest: { pool: { connections: 1.5 } } }, /^pool.connections/],
  ['one connection', { rest: { pool: { connections: 1 } } }, 'fine'],
  ['empty replies', { rest: { pool: { maxReplyBytes: 0 } } }, /^pool.maxReplyBytes/],
  ['replies of a byte', { rest: { pool: { maxReplyBytes: 1 } } }, 'fine'],
  ['no attempt', { rest: { retry: { maxAttempts: 0 } } }, /^retry.maxAttempts: must be at least 1$/],
  ['one attempt', { rest: { retry: { maxAttempts: 1 } } }, 'fine'],
];

test.each(ROWS)('options with %s', async (_what, changes, expected) => {
  const fault = await faultOf(changes);
  if (expected === 'fine') expect(fault).toBe('fine');
  else expect(fault).toMatch(expected);
});

/** What a client asks its stores for in a prefetch of this call. */
async function askedFor(
  call: Parameters<ReturnType<typeof createExchangeClient>['prefetch']>[0],
  apiKey = 'key',
) {
  const asked: string[] = [];
  const limits = createMemoryRateLimitStore(systemClock);
  const keys = createMemoryNonceStore(systemClock);
  const client = createExchangeClient({
    baseUrls: ['http://127.0.0.1:9'],
    credentials: { apiKey, apiSecret: 'secret' },
    nonce: {
      mode: 'unique',
      store: {
        reserve: async (key, ...rest) => {
          asked.push(key);
          return await keys.reserve(key, ...rest);
        },
        reserveWindow: keys.reserveWindow.bind(keys),
        enterMutex: keys.enterMutex.bind(keys),
        renewMutex: keys.renewMutex.bind(keys),
        leaveMutex: keys.leaveMutex.bind(keys),
        onMutexSignal: keys.onMutexSignal.bind(keys),
      },
    },
    limiter: {
      fallback: limits,
      store: {
        take: async (request) => {
          asked.push(`${request.scope} ${request.share}`);
          return await limits.take(request);
        },
        penalize: limits.penalize.bind(limits),
      },
    },
  });
  client.prefetch(call);
  await setImmediate();
  await client.close();
  return asked.toSorted();
}

test('the stores see a key only as a digest, and a call only by the limits of its endpoint', async () => {
  const digest = '2c70e12b7a0646f92279f427c7b38e73';
  expect(await askedFor('reduceOnlyStop')).toEqual([digest, 'default/order 1']);
  expect(await askedFor('openPositions')).toEqual([digest, 'default/positions 1']);
  const other = (await askedFor('cancelAll', 'another-key')).find((one) => !one.includes('/'));
  expect(other).toMatch(/^[0-9a-f]{32}$/);
  expect(other).not.toBe(digest);
});
