import { afterEach, describe, expect, test } from 'vitest';
import { classifyRejection } from '../../../src/core/orders/rejection.ts';
import type { ExchangeError } from '../../../src/core/ports/exchange.ts';
import { foreignWords } from '../../../src/core/redaction/foreign-words.ts';
import { errorOfReply, SHOWN_OF_ERRORS } from '../../../src/exchange/call/errors.ts';
import type { EndpointId } from '../../../src/exchange/endpoints.ts';
import { openClient, STOP } from '../fixtures.ts';
import { always, startServer } from './raw-server.ts';

/** Errors as other servers write them: what they mean follows their words, then their code, then the HTTP status. */

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function clientOf(status: number, body: unknown) {
  const server = await startServer(always(status, body));
  const client = openClient([server.baseUrl], { retry: { maxAttempts: 2, firstBackoffMs: 1 } });
  cleanups.push(
    () => server.close(),
    () => client.close(),
  );
  return { server, client };
}

const redact = foreignWords([], SHOWN_OF_ERRORS);
function errorOf(endpoint: EndpointId, status: number, body: unknown): ExchangeError {
  const error = errorOfReply({ endpoint, redact }, status, body);
  if (error === undefined) throw new Error('taken for a success');
  return error;
}

describe('a failure under HTTP 200 is believed to be a success', () => {
  test.each([
    ['the status in the body', { response: null, status: 503 }, 'unknown', 'temporarilyUnavailable'],
    ['its status as a text', { response: null, status: '500', message: 'oops' }, 'unknown', 'internalError'],
    ['success: false alone', { success: false }, 'rejected', 'invalidRequest'],
    [
      'a message for each field',
      { success: false, message: { market: ['Market is not available.'] } },
      'rejected',
      'marketInvalid',
    ],
    ['errors as a list', { code: 30, errors: ['Market not found or disabled'] }, 'unknown', 'marketInvalid'],
    ['a code as a text', { code: '30', message: 'Validation failed' }, 'unknown', 'validationFailed'],
    ['an error in words', { error: 'Unauthorized request.' }, 'unknown', 'unauthenticated'],
    ['an error as an object', { error: { message: 'no' } }, 'unknown', 'invalidRequest'],
  ])('%s', async (_what, body, kind, name) => {
    const { client } = await clientOf(200, body);
    expect(await client.cancelAll({ market: 'BTC_PERP' })).toMatchObject({ kind, error: { name } });
    expect(await client.setHedgeMode(true)).toMatchObject({ kind, error: { name } });
    expect(await client.openPositions()).toMatchObject({ kind: 'failed', error: { name } });
    expect((await client.reduceOnlyStop(STOP)).kind).toBe(kind);
  });
});

test('an order without room, told in words under a general code, is not a refusal without a reason', () => {
  const words = 'Open reduce-only orders cover the position already';
  const error = errorOf('stopLimit', 422, { code: 0, errors: [words] });
  expect([error.name, error.message, classifyRejection(error)]).toEqual(['reduceOnlyRefused', words, 'side']);
  // The message and the list may say the same.
  expect(errorOf('stopLimit', 422, { code: 0, message: words, errors: [words] }).message).toBe(words);
});

test('a cancel that found no order is a failure: there was nothing to cancel', async () => {
  const { client } = await clientOf(422, { code: 2, message: 'Unexecuted order was not found.' });
  expect(await client.cancelAll({ market: 'BTC_PERP' })).toMatchObject({ kind: 'accepted', value: null });
  expect(await client.reduceOnlyStop(STOP)).toMatchObject({ kind: 'rejected' });
});

test('passing trouble under HTTP 400 is not repeated', async () => {
  for (const message of ['Empty history', 'internal error']) {
    const { server, client } = await clientOf(400, { code: 30, message });
    expect(await client.spotOrders()).toMatchObject({ kind: 'failed', error: { name: 'internalError' } });
    expect(server.received).toHaveLength(2);
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({ kind: 'unknown' });
  }
});

test.each<[EndpointId, number, unknown, string]>([
  ['cancelAll', 422, { code: 10, message: 'Market not found or disabled' }, 'marketInvalid'],
  ['cancelAll', 401, { code: 10, message: 'Unauthorized request.' }, 'unauthenticated'],
  ['cancelAll', 422, { code: 10, message: 'Insufficient balance' }, 'insufficientBalance'],
  ['cancelAll', 422, { code: 2, message: '' }, 'unauthenticated'],
  [
    'stopLimit',
    422,
    { code: 32, message: '', errors: { amount: ['Not enough balance.'] } },
    'insufficientBalance',
  ],
  ['stopLimit', 400, { code: 250, message: 'Price should be less than or equal to 1.277' }, 'priceBand'],
  [
    'stopLimit',
    453,
    { code: 30, message: 'Validation failed', errors: { orderType: ['no'] } },
    'notAvailable',
  ],
  ['openPositions', 453, { message: 'not available in your region' }, 'notAvailable'],
  [
    'openPositions',
    422,
    { code: 4, message: "You don't have permission to use this endpoint." },
    'permissionDenied',
  ],
  [
    'stopLimit',
    422,
    { success: false, message: { client_order_id: ['client_order_id is already taken'] } },
    'duplicateClientOrderId',
  ],
  [
    'stopLimit',
    400,
    { success: false, code: 0, message: 'client_order_id is already taken' },
    'duplicateClientOrderId',
  ],
])('%s with HTTP %i and %j is %s, whatever its code means elsewhere', (endpoint, status, body, name) => {
  expect(errorOf(endpoint, status, body).name).toBe(name);
});

test.each([
  [250, 'price', 'Price should be less than or equal to 1.277', 'priceBand'],
  [33, 'activation_price', 'activation_price has been passed already', 'activationPassed'],
  [30, 'activationPrice', 'Activation price should not be equal to last price', 'activationPassed'],
  [30, '', 'Activation price should be less than the market price 60000.5', 'activationPassed'],
  [33, 'price', 'Price must be greater than the last price', 'priceBand'],
  [33, 'activation_price', 'Activation price must be at least 60100.5', 'priceBand'],
  [33, 'activation_price', 'activation_price must be a multiple of 0.5', 'priceStep'],
  [33, 'activation_price', 'is wrong', 'priceStep'],
  [30, 'activation_price', 'Invalid activation_price passed', 'priceStep'],
  [0, '', 'client_order_id is already taken', 'duplicateId'],
  [0, '', 'client_order_id may have letters and digits only', 'other'],
  [30, 'price', 'Price must be at least 60100.5', 'priceBand'],
  [33, 'price', 'Min price step = 0.000001', 'priceStep'],
  [30, 'activation_price', 'Should be a multiple of 0.5.', 'priceStep'],
  [30, 'amount', 'Should be a multiple of 100000.', 'amountStep'],
  [32, 'amount', 'Amount should be greater than or equal to 0.01', 'minAmount'],
  [32, 'amount', 'Not enough balance.', 'noRoom'],
  [30, 'total', 'Total is less than 5.05', 'minTotal'],
  [30, 'orderType', 'is not available', 'marketClosed'],
  [30, 'positionSide', 'is wrong', 'hedgeSide'],
  [114, '', '', 'hedgeSide'],
])('code %i for "%s" with the words "%s" means %s to a lane', (code, field, words, reason) => {
  const errors = field === '' ? [words] : { [field]: [words] };
  const error = errorOf('stopLimit', 400, { code, message: 'Validation failed', errors });
  expect(classifyRejection(error)).toBe(reason);
});
