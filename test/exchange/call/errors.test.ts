import { describe, expect, test } from 'vitest';
import { foreignWords } from '../../../src/core/redaction/foreign-words.ts';
import { CODES, entryForCode, FINDINGS } from '../../../src/exchange/call/error-catalogue.ts';
import { errorOfReply, SHOWN_OF_ERRORS } from '../../../src/exchange/call/errors.ts';
import { ENDPOINTS, type EndpointId } from '../../../src/exchange/endpoints.ts';
import { ERROR_CATALOGUE } from '../error-catalogue.ts';

const judge = (endpoint: EndpointId, status: number, body: unknown) =>
  errorOfReply({ endpoint, redact: foreignWords([], SHOWN_OF_ERRORS) }, status, body);

describe('error catalogue', () => {
  test('names are stable, each with one effect; only code 36 has two meanings on one endpoint', () => {
    const effects = new Map<string, string>();
    for (const { name, effect, meaning } of ERROR_CATALOGUE) {
      expect(name).toMatch(/^[a-z][A-Za-z]+$/);
      expect(meaning).not.toBe('');
      expect(effects.get(name) ?? effect).toBe(effect);
      effects.set(name, effect);
    }
    const meanings = CODES.flatMap(({ code, endpoints }) =>
      (endpoints === '*' ? ['*'] : endpoints).map((endpoint) => `${endpoint}:${code}`),
    );
    const repeated = meanings.filter((meaning, index) => meanings.indexOf(meaning) !== index);
    expect(repeated).toEqual(['stopLimit:36']);
    for (const [key, { name }] of Object.entries(FINDINGS)) expect(name).toBe(key);
  });

  test.each<[EndpointId, number, string]>([
    ['fiatDeposit', 10, 'depositLinkFailed'],
    ['stopLimit', 10, 'insufficientBalance'],
    ['fiatDeposit', 0, 'validationFailed'],
    ['stopLimit', 30, 'validationFailed'],
    ['spotOrders', 30, 'validationFailed'],
    ['cancelAll', 30, 'validationFailed'],
    ['hedgeMode', 30, 'validationFailed'],
    ['stopLimit', 31, 'marketInvalid'],
    ['stopLimit', 32, 'amountInvalid'],
    ['stopLimit', 33, 'priceInvalid'],
    ['stopLimit', 36, 'duplicateClientOrderId'],
    ['stopLimit', 111, 'positionLimit'],
    ['stopLimit', 112, 'pendingValueLimit'],
    ['stopLimit', 113, 'sideLocked'],
    ['hedgeMode', 113, 'hedgeModeLocked'],
    ['stopLimit', 114, 'hedgeSideMismatch'],
    ['stopLimit', 115, 'oppositeDirection'],
    ['stopLimit', 116, 'reduceOnlyRefused'],
  ])('%s code %i is %s, under 400 and under 422', (endpoint, code, name) => {
    expect(entryForCode(endpoint, code)?.name).toBe(name);
    for (const status of [400, 422]) {
      const errors = code === 0 ? { ticker: ['invalid'] } : {};
      const error = judge(endpoint, status, { code, message: 'Validation failed', errors });
      expect(error).toMatchObject({ name, code, httpStatus: status, effect: 'none', endpoint });
    }
  });

  test('an unknown code stays visible in the name', () => {
    expect(judge('stopLimit', 400, { code: 987, message: 'what' })).toMatchObject({
      name: 'unknown code 987',
      message: 'what',
      effect: 'none',
    });
  });
});

test('code 36 is a duplicate unless its message says that the id itself is invalid', () => {
  const name = (text: string | undefined) => {
    const errors = text === undefined ? {} : { client_order_id: [text] };
    return judge('stopLimit', 400, { code: 36, message: 'Validation failed', errors })?.name;
  };
  expect(name(undefined)).toBe('duplicateClientOrderId');
  expect(name('The id has already been taken.')).toBe('duplicateClientOrderId');
  expect(name('The id format is invalid.')).toBe('clientOrderIdInvalid');
});

describe('errors by status and message', () => {
  const denied = { success: false, code: 0, message: "You don't have permission to use this endpoint." };

  test.each([200, 400, 403])('a permission refusal under status %i', (status) => {
    for (const endpoint of Object.keys(ENDPOINTS) as EndpointId[]) {
      expect(judge(endpoint, status, denied)).toMatchObject({ name: 'permissionDenied', effect: 'none' });
    }
  });

  test('statuses', () => {
    const name = (status: number, body: unknown = {}) => judge('mainBalance', status, body)?.name;
    expect(name(401)).toBe('unauthenticated');
    expect(name(403)).toBe('permissionDenied');
    expect(name(404)).toBe('endpointNotFound');
    expect(judge('creditLines', 404, {})?.name).toBe('loansNotAvailable');
    expect(name(429)).toBe('rateLimited');
    expect(name(500)).toBe('internalError');
    expect(name(503)).toBe('temporarilyUnavailable');
    expect(name(400, 'not an object')).toBe('invalidRequest');
    for (const status of [301, 408, 500, 502, 503, 504]) {
      expect(judge('stopLimit', status, { code: 30, message: 'x' })?.effect).toBe('possible');
    }
    for (const status of [400, 401, 403, 404, 409, 422, 429]) {
      expect(judge('stopLimit', status, null)?.effect).toBe('none');
    }
  });

  test('the body of a success is no error', () => {
    for (const body of [[], {}, null, undefined, { hedgeMode: true }, 'ok', { success: true }]) {
      expect(judge('cancelAll', 200, body)).toBeUndefined();
    }
  });

  test('no active loan, a refused nonce and a used id are recognised by their messages', () => {
    const loan = { code: 0, message: 'No active loan at the moment' };
    expect(judge('creditLines', 400, loan)?.name).toBe('noActiveLoan');
    expect(judge('stopLimit', 400, { ...loan, success: false })?.name).not.toBe('noActiveLoan');
    const nonce = 'Your nonce is more than 5 seconds lesser than the current nonce';
    expect(judge('mainBalance', 401, { message: nonce })?.name).toBe('nonceRefused');
    expect(judge('mainBalance', 401, { message: 'Nonce not provided.' })?.name).toBe('unauthenticated');
    const errors = { client_order_id: ['The client order id has already been taken.'] };
    expect(judge('stopLimit', 400, { code: 30, message: 'Validation failed', errors })?.name).toBe(
      'duplicateClientOrderId',
    );
  });

  test('field messages are kept, bounded, in one line', () => {
    const errors = { amount: ['too\nlittle', 5, 'x '.repeat(1000)], provider: 'invalid' };
    const error = judge('fiatDeposit', 400, { code: 0, message: 'Validation failed', errors });
    expect(error?.fields).toEqual({ amount: ['too little', 'x '.repeat(150)], provider: ['invalid'] });
  });
});
