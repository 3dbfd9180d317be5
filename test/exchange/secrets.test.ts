import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { sign, signingKey } from '../../src/exchange/call/signer.ts';
import { createExchangeClient, ExchangeOptionsError } from '../../src/exchange/client.ts';
import { fiatDeposit, guard } from '../../src/exchange/guarded-exchange.ts';
import { type Answer, send, startServer } from './call/raw-server.ts';
import { API_KEY, API_SECRET, decimalText, openClient, STOP } from './fixtures.ts';

const CUSTOMER = {
  firstName: 'Plantedfirst',
  lastName: 'Plantedlast',
  email: 'planted@mail.example',
  birthDate: '1990-02-03',
  address: { line1: 'Plantedstreet 7', city: 'Plantedville', zipCode: 'PZ-12345', countryCode: 'XQ' },
};
const PERSONAL = [
  'Plantedfirst',
  'Plantedlast',
  'planted@mail',
  '1990-02-03',
  'Plantedstreet',
  'PZ-12345',
  'XQ',
];
const DEPOSIT = {
  ticker: 'USD',
  provider: 'CARD',
  amount: decimalText('100'),
  uniqueId: 'deposit-1',
  customer: CUSTOMER,
};

/** Everything that inspection and serialisation can reach. */
const shown = (value: unknown): string =>
  inspect(value, { depth: null, showHidden: true, getters: true }) + JSON.stringify(value);

/** Returns to the client all that it sent, in every place an error has. */
const echo: Answer = (request, response) => {
  const said = `${request.text} ${JSON.stringify(request.headers)}`;
  send(response, 400, { code: 30, message: said, errors: { [said.slice(0, 200)]: [said, API_SECRET] } });
};

describe('secrets and personal data', () => {
  test('are in nothing that the client is, returns or reports', async () => {
    const server = await startServer(echo);
    const reports: unknown[] = [];
    const report = (event: unknown) => void reports.push(event);
    const client = openClient([server.baseUrl], {
      observer: { onCall: report, onDrift: report, onStore: report },
      cardProviders: ['CARD'],
      retry: { maxAttempts: 1 },
    });
    const results: unknown[] = [
      client,
      guard(client),
      fiatDeposit(client),
      await client.openPositions(),
      await client.spotOrders(),
      await client.cancelAll({}),
      await client.reduceOnlyStop(STOP),
      await client.fiatDepositLink(DEPOSIT),
      await fiatDeposit(client).link({ ...DEPOSIT, amount: decimalText('0') }),
      reports,
    ];
    const text = results.map(shown).join('\n');
    expect(reports.length).toBeGreaterThanOrEqual(5);
    const signatures = server.received.flatMap(({ text }) =>
      Object.values(sign(text, signingKey(API_SECRET))),
    );
    for (const secret of [API_KEY, API_SECRET, ...signatures, ...PERSONAL]) {
      expect(text.includes(secret), `found ${secret}`).toBe(false);
    }
    await client.close();
    await server.close();
  });

  test('are in no error about options', () => {
    const base = { store: undefined as never };
    const credentials = { apiKey: `${API_KEY} \n`, apiSecret: API_SECRET };
    const open = (baseUrls: string[], proxy?: string) =>
      createExchangeClient({
        baseUrls,
        credentials,
        nonce: { mode: 'unique', ...base },
        limiter: { ...base, fallback: base.store },
        ...(proxy === undefined ? {} : { proxy }),
      });
    for (const urls of [
      [],
      ['ftp://x'],
      ['http://user:planted-password@host'],
      ['http://host?k=planted-password'],
      ['http://ok'],
    ]) {
      let caught: unknown;
      try {
        open(urls);
      } catch (error) {
        caught = error;
      }
      expect(caught).toBeInstanceOf(ExchangeOptionsError);
      expect(shown(caught)).not.toMatch(/planted/);
    }
  });
});

describe('the guarded exchange', () => {
  const TOOLS = [
    'cancelAll',
    'creditLines',
    'mainBalance',
    'openPositions',
    'ping',
    'reduceOnlyStop',
    'spotOrders',
    'transfers',
  ];

  test('has the reads, cancelAll and reduceOnlyStop, and nothing else, at runtime too', async () => {
    const client = openClient(['http://127.0.0.1:9']);
    const guarded = guard(client);
    expect(Object.getOwnPropertyNames(guarded).toSorted((a, b) => a.localeCompare(b))).toEqual(TOOLS);
    expect(Object.getOwnPropertySymbols(guarded)).toEqual([]);
    expect(Object.getPrototypeOf(guarded)).toBeNull();
    expect(Object.isFrozen(guarded)).toBe(true);
    for (const method of Object.values(guarded)) {
      expect(Object.isFrozen(method)).toBe(true);
      expect(new Set(Reflect.ownKeys(method))).toEqual(new Set(['length', 'name']));
    }
    expect(inspect(guarded, { depth: null, showHidden: true })).not.toMatch(
      /stopLimit|fiatDeposit|hedge|close/i,
    );
    expect(() => Object.assign(guarded, { stopLimit: () => undefined })).toThrow(TypeError);
    await client.close();
  });

  test('cannot be made to send an order that is not reduce-only', async () => {
    const server = await startServer((_request, response) => send(response, 400, { code: 116, message: '' }));
    const client = openClient([server.baseUrl]);
    const forged = { ...STOP, reduceOnly: false, stopLoss: '1', takeProfit: '2' };
    await guard(client).reduceOnlyStop(forged);
    expect(server.received[0]?.body).toMatchObject({ reduceOnly: true });
    expect(server.received[0]?.body).not.toHaveProperty('stopLoss');
    expect(server.received[0]?.body).not.toHaveProperty('takeProfit');
    await client.close();
    await server.close();
  });
});

describe('the deposit link', () => {
  test('is returned unchanged; a request that the specification forbids is not sent', async () => {
    const server = await startServer((_request, response) =>
      send(response, 200, { url: 'https://pay.example/a?b=c' }),
    );
    const client = openClient([server.baseUrl], { cardProviders: ['CARD'] });
    const deposits = fiatDeposit(client);
    expect(await deposits.link(DEPOSIT)).toMatchObject({
      kind: 'accepted',
      value: { url: 'https://pay.example/a?b=c' },
    });
    expect(server.received[0]?.body).toMatchObject({
      unique_id: 'deposit-1',
      customer: CUSTOMER,
      ticker: 'USD',
    });
    const { customer: _, ...anonymous } = DEPOSIT;
    expect(await deposits.link(anonymous)).toMatchObject({
      kind: 'rejected',
      error: { name: 'requestRejected' },
    });
    const insecure = { ...DEPOSIT, successLink: 'http://shop.example' };
    expect(await deposits.link(insecure)).toMatchObject({ kind: 'rejected' });
    expect(server.received).toHaveLength(1);
    server.answer = (_request, response) =>
      send(response, 400, { code: 10, message: 'Failed to generate deposit url' });
    expect(await deposits.link(DEPOSIT)).toMatchObject({ error: { name: 'depositLinkFailed', code: 10 } });
    server.answer = (_request, response) => send(response, 503, {});
    expect(await deposits.link(DEPOSIT)).toMatchObject({
      kind: 'unknown',
      error: { name: 'temporarilyUnavailable' },
    });
    await client.close();
    await server.close();
  });
});
