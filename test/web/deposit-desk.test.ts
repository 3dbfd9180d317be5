import { expect, test } from 'vitest';
import { createDepositDesk } from '../../src/app/web/deposit-desk.ts';
import type { DecimalString } from '../../src/core/quantities/decimal.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createMemoryState } from '../../src/state/state.ts';
import { CONNECTION_TIMEOUT_MS } from '../../src/web/server.ts';

/** For each of the two records of a link, at most (a store that does not answer). */
const STORE_MS = 2_000;

test('the server waits for a deposit link longer than the exchange may take', async () => {
  const state = createMemoryState({ clock: systemClock });
  const given: (number | undefined)[] = [];
  const settings = {
    tickers: ['EUR'],
    provider: 'p',
    byCard: false,
    uniqueIdPrefix: 'bw',
    links: {},
  } as const;
  const desk = createDepositDesk({
    store: state.store,
    clock: systemClock,
    accessOf: () => ({
      settings,
      deposit: {
        async link(_request, options) {
          given.push(options?.timeoutMs);
          return { kind: 'unknown', error: { name: 'timeout' } } as never;
        },
      },
    }),
  });
  const amount = '100' as DecimalString;
  const order = {
    accountId: 'desk-1',
    subject: 'creditLine:A@1',
    ticker: 'EUR',
    amount,
    author: 'ada',
  } as const;
  const outcome = await desk.link(order);
  expect(outcome.kind).toBe('unknown');
  const [timeoutMs = Number.POSITIVE_INFINITY] = given;
  expect(timeoutMs + 2 * STORE_MS).toBeLessThan(CONNECTION_TIMEOUT_MS);
  state.close();
});
