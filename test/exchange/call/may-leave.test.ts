import { expect, test } from 'vitest';
import { decimal, formatDecimal } from '../../../src/core/quantities/decimal.ts';
import type { WireDispatcher } from '../../../src/exchange/call/sockets.ts';
import { Connections } from '../../../src/exchange/call/transport.ts';
import { createExchangeClient } from '../../../src/exchange/client.ts';
import { systemClock, systemTimers } from '../../../src/exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../../src/state/nonce/nonce-memory.ts';

/** Refuses the nonce of every request, without delay. */
function openClient() {
  const sent: string[] = [];
  const dispatcher = {
    dispatch(options, handler) {
      const controller = { abort: () => undefined } as never;
      sent.push(options.path);
      handler.onRequestStart?.(controller, undefined);
      handler.onResponseStart?.(controller, 401, {});
      const body = { code: 0, message: 'Nonce has already been used.', errors: {} };
      handler.onResponseData?.(controller, Buffer.from(JSON.stringify(body)));
      handler.onResponseEnd?.(controller, {});
      return true;
    },
    close: () => Promise.resolve(),
  } as WireDispatcher;
  const client = createExchangeClient({
    baseUrls: ['https://exchange.example'],
    credentials: { apiKey: 'key', apiSecret: 'secret' },
    nonce: { mode: 'unique', store: createMemoryNonceStore(systemClock) },
    limiter: {
      store: createMemoryRateLimitStore(systemClock),
      fallback: createMemoryRateLimitStore(systemClock),
    },
    sharedConnections: new Connections({ open: () => dispatcher, timers: systemTimers }),
  });
  return { client, sent };
}

const ORDER = {
  market: 'BTC_PERP',
  side: 'sell',
  amount: formatDecimal(decimal('0.1')),
  price: formatDecimal(decimal('50000')),
  activationPrice: formatDecimal(decimal('51000')),
  clientOrderId: 'bw1.test',
  positionSide: 'BOTH',
} as const;

test('a request that may no longer leave is not sent, not even again after a refused nonce', async () => {
  const { client, sent } = openClient();
  const never = await client.reduceOnlyStop(ORDER, { mayLeave: () => false });
  expect(never).toMatchObject({ kind: 'rejected', error: { name: 'aborted', effect: 'none' } });
  expect(sent).toHaveLength(0);
  let asked = 0;
  const once = await client.reduceOnlyStop(ORDER, { mayLeave: () => (asked += 1) === 1 });
  expect(once).toMatchObject({ kind: 'rejected', error: { name: 'aborted', effect: 'none' } });
  expect(sent).toHaveLength(1);
  await client.close();
});
