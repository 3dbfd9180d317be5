import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import type { CallEvent } from '../../../src/exchange/call/observer.ts';
import type { ExchangeClientOptions } from '../../../src/exchange/client.ts';
import { GatewayPause } from '../../../src/exchange/limits/gateway-pause.ts';
import { nonceSettings, openClient, PLACED_ORDER, POSITION, STOP } from '../fixtures.ts';
import { type Answer, always, type RawServer, send, startServer } from './raw-server.ts';

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serve(answer: Answer): Promise<RawServer> {
  const server = await startServer(answer);
  cleanups.push(() => server.close());
  return server;
}

function open(servers: readonly RawServer[], changes: Partial<ExchangeClientOptions> = {}) {
  const client = openClient(
    servers.map(({ baseUrl }) => baseUrl),
    changes,
  );
  cleanups.push(() => client.close());
  return client;
}

const HTML = '<html><body><h1>Attention required</h1></body></html>';
const protective = { priority: 'protective' } as const;
const nonceOf = ({ received }: RawServer, index: number) => Number(received[index]?.body['nonce']);

/** Gives the answers to the requests in turn, and the last one to all later requests. */
function inTurn(...answers: readonly Answer[]): Answer {
  let asked = 0;
  return (request, response) => {
    const answer = answers[Math.min(asked, answers.length - 1)];
    asked += 1;
    return answer?.(request, response);
  };
}

describe('a 429 of the exchange, in JSON', () => {
  test.each(['unique', 'increasing', 'window'] as const)(
    'is a stale nonce: the call is repeated at once with a later one (mode %s)',
    async (mode) => {
      const events: CallEvent[] = [];
      const server = await serve(
        inTurn(
          always(429, { code: 0, message: 'Too many requests.', errors: {} }),
          always(200, PLACED_ORDER),
        ),
      );
      const { nonce } = nonceSettings(mode);
      const client = open([server], { nonce, observer: { onCall: (event) => events.push(event) } });
      expect(await client.reduceOnlyStop(STOP, protective)).toMatchObject({ kind: 'accepted' });
      expect(nonceOf(server, 1)).toBeGreaterThan(nonceOf(server, 0));
      expect(events).toMatchObject([{ attempts: 2, noncesRefused: 1, limitsHit: 0, budgetWaitMs: 0 }]);
    },
  );

  test('is a limit if it has a Retry-After', async () => {
    const server = await serve(always(429, { message: 'Too many requests.' }, { 'Retry-After': '60' }));
    const outcome = await open([server]).reduceOnlyStop(STOP);
    expect(outcome).toMatchObject({ kind: 'rejected', error: { name: 'rateLimited', retryAfterMs: 60_000 } });
    expect(outcome).not.toHaveProperty('error.gateway');
    expect(server.received).toHaveLength(1);
  });
});

describe('a 429 of the gateway, not in JSON', () => {
  test('is a limit, never a nonce: the command is not repeated, and polls stop', async () => {
    const server = await serve(inTurn(always(429, HTML), always(200, [POSITION])));
    const events: CallEvent[] = [];
    const { nonce } = nonceSettings('window');
    const client = open([server], { nonce, observer: { onCall: (event) => events.push(event) } });
    expect(await client.cancelAll({}, protective)).toMatchObject({
      kind: 'rejected',
      error: { name: 'rateLimited', effect: 'none', gateway: true },
    });
    expect(server.received).toHaveLength(1);
    expect(events).toMatchObject([{ noncesRefused: 0, limitsHit: 1 }]);
    // The pause holds for another endpoint, too: the gateway counts them all.
    expect(await client.mainBalance({ timeoutMs: 300 })).toMatchObject({
      kind: 'failed',
      error: { name: 'rateBudgetSpent' },
    });
    expect(server.received).toHaveLength(1);
  });

  test('with Retry-After 60 holds polls, but not a reduction', async () => {
    const server = await serve(inTurn(always(429, '', { 'Retry-After': '60' }), always(200, PLACED_ORDER)));
    const client = open([server], { retry: { maxAttempts: 1 } });
    await client.openPositions();
    const outcome = await client.reduceOnlyStop(STOP, { ...protective, timeoutMs: 60_000 });
    expect(outcome).toMatchObject({ kind: 'accepted' });
    // Polls wait for the 60 s; protective calls do not, now that the gateway lets them through.
    expect(await client.cancelAll({}, { ...protective, timeoutMs: 30_000 })).toMatchObject({
      kind: 'accepted',
    });
    expect(await client.openPositions({}, { timeoutMs: 500 })).toMatchObject({ kind: 'failed' });
  });

  test('a protective read is repeated from one second on', async () => {
    const at: number[] = [];
    const server = await serve((_request, response) => {
      at.push(performance.now());
      return at.length < 3 ? send(response, 429, HTML, { 'Retry-After': '30' }) : send(response, 200, []);
    });
    expect(await open([server]).openPositions({}, protective)).toMatchObject({ kind: 'ok' });
    const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(990);
  });

  test('lets protective calls go one at a time, and less often after the third refusal', () => {
    const pause = new GatewayPause();
    const waits: number[] = [];
    let nowMs = 0;
    for (let refusal = 0; refusal < 8; refusal += 1) {
      pause.refused(10_000, nowMs, nowMs);
      const waitMs = pause.waitMs('protective', nowMs);
      waits.push(waitMs);
      nowMs += waitMs;
      expect(pause.waitMs('protective', nowMs)).toBe(0);
      pause.leaves('protective', nowMs);
      expect(pause.waitMs('protective', nowMs)).toBe(waitMs);
    }
    expect(waits).toEqual([1000, 1000, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    // Polls wait for the whole Retry-After, and longer as refusals go on.
    expect(pause.waitMs('normal', nowMs)).toBeGreaterThan(20_000);
    pause.passed(nowMs + 1);
    expect(pause.waitMs('protective', nowMs)).toBe(0);
    expect(pause.waitMs('normal', nowMs)).toBeGreaterThan(0);
  });

  test('with Retry-After 60 holds reads of an endangered account for a second, not for a minute', () => {
    const pause = new GatewayPause();
    pause.refused(60_000, 0, 0);
    expect(pause.waitMs('normal', 500)).toBe(59_500);
    expect(pause.waitMs('watching', 500)).toBe(500);
    pause.leaves('watching', 1_000);
    // They delay no protective call, and go on at their pace when a request got through.
    expect(pause.waitMs('protective', 1_000)).toBe(0);
    pause.passed(1_000);
    expect(pause.waitMs('watching', 1_000)).toBe(1_000);
    expect(pause.waitMs('normal', 1_000)).toBe(59_000);
    const waits: number[] = [];
    let nowMs = 2_000;
    for (let refusal = 0; refusal < 5; refusal += 1) {
      pause.refused(60_000, nowMs, nowMs);
      waits.push(pause.waitMs('watching', nowMs));
      nowMs += 60_000;
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
    expect(pause.waitMs('watching', nowMs + 60_000)).toBe(0);
  });

  test('after a request got through, polls wait at most a minute', () => {
    const pause = new GatewayPause();
    pause.refused(120_000, 0, 0);
    expect(pause.waitMs('normal', 500)).toBe(119_500);
    pause.passed(1_000);
    expect(pause.waitMs('normal', 1_000)).toBe(59_000);
  });

  test.each(['120', '999999', 'Thu, 31 Dec 2099 23:59:59 GMT'])(
    'a Retry-After of %s counts as two minutes',
    async (header) => {
      const server = await serve(always(429, HTML, { 'Retry-After': header }));
      expect(await open([server], { retry: { maxAttempts: 1 } }).openPositions()).toMatchObject({
        error: { name: 'rateLimited', retryAfterMs: 120_000 },
      });
    },
  );

  test('refusals of requests in flight together count once, and an older reply ends no pause', () => {
    const pause = new GatewayPause();
    expect(pause.refused(undefined, 0, 100)).toBe(1000);
    expect(pause.refused(undefined, 50, 110)).toBeUndefined();
    pause.passed(60);
    expect(pause.waitMs('protective', 110)).toBeGreaterThan(0);
    expect(pause.refused(undefined, 1200, 1300)).toBe(2000);
  });
});

describe('other replies of the gateway', () => {
  test.each([
    ['403 with HTML', 403, HTML],
    ['404 without a body', 404, ''],
  ])(
    '%s is no statement about permissions or loans; a read goes to the other address',
    async (_what, status, body) => {
      const [blocked, fine] = [await serve(always(status, body)), await serve(always(200, []))];
      const alone = open([blocked]);
      for (const outcome of [await alone.creditLines(), await alone.openPositions()]) {
        expect(outcome).toMatchObject({
          kind: 'failed',
          error: { name: 'gatewayRefused', httpStatus: status, gateway: true },
        });
      }
      expect(blocked.received).toHaveLength(2);
      const both = open([blocked, fine]);
      expect(await both.creditLines()).toMatchObject({ kind: 'ok', value: { records: [], complete: true } });
      expect(fine.received).toHaveLength(1);
    },
  );

  test('a refused command has had no effect, and the next one uses the other address', async () => {
    const [blocked, fine] = [await serve(always(403, HTML)), await serve(always(200, PLACED_ORDER))];
    const client = open([blocked, fine]);
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'rejected',
      error: { name: 'gatewayRefused', effect: 'none' },
    });
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({ kind: 'accepted' });
  });

  test.each([500, 502, 503, 520])('%i with HTML leaves the outcome of a command unknown', async (status) => {
    const server = await serve(always(status, HTML));
    expect(await open([server]).cancelAll({})).toMatchObject({
      kind: 'unknown',
      error: { name: 'gatewayFailed', effect: 'possible', gateway: true },
    });
  });

  test('the same statuses in JSON come from the exchange', async () => {
    const server = await serve(always(403, { code: 4, message: 'no access' }));
    const client = open([server]);
    expect(await client.openPositions()).toMatchObject({ error: { name: 'permissionDenied' } });
    server.answer = always(404, { message: 'not found' });
    expect(await client.creditLines()).toMatchObject({ error: { name: 'loansNotAvailable' } });
    expect(await client.mainBalance()).toMatchObject({ error: { name: 'endpointNotFound' } });
  });
});

describe('the address from which requests come', () => {
  test.each([
    [401, 'Your IP address is not in the whitelist of this key.'],
    [403, 'IP not allowed'],
    [422, 'Access from this IP is restricted.'],
    [403, 'This address is not allowed for the key'],
  ])(
    'is not allowed (%i "%s"): this is no refused key, and the other base address is tried',
    async (status, message) => {
      const [here, there] = [
        await serve(always(status, { code: 9, message, errors: {} })),
        await serve(always(200, [POSITION])),
      ];
      expect(await open([here]).openPositions()).toMatchObject({
        kind: 'failed',
        attempts: 1,
        error: { name: 'addressNotAllowed', effect: 'none' },
      });
      const failures: unknown[] = [];
      const observer = { onPathFailure: (failure: unknown) => failures.push(failure) };
      expect(await open([here, there], { observer }).openPositions()).toMatchObject({
        kind: 'ok',
        timing: { attempts: 2 },
      });
      expect(failures).toEqual([{ baseUrlIndex: 0, error: 'addressNotAllowed', message }]);
    },
  );

  test.each([
    [401, 'Unauthorized request.', 'unauthenticated'],
    [403, "You don't have permission to use this endpoint.", 'permissionDenied'],
  ])('is not blamed for %i "%s"', async (status, message, name) => {
    const [here, there] = [await serve(always(status, { code: 2, message })), await serve(always(200, []))];
    const failures: unknown[] = [];
    const observer = { onPathFailure: (failure: unknown) => failures.push(failure) };
    expect(await open([here, there], { observer }).openPositions()).toMatchObject({ error: { name } });
    expect(failures).toEqual([]);
    await delay(5);
    expect(there.received).toEqual([]);
  });
});
