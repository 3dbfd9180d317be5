import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { readRetryAfter } from '../../../src/exchange/call/errors.ts';
import type { ExchangeClientOptions } from '../../../src/exchange/client.ts';
import { openClient, PLACED_ORDER, POSITION, STOP } from '../fixtures.ts';
import { type Answer, always, startServer } from './raw-server.ts';

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function connect(answer: Answer, changes: Partial<ExchangeClientOptions> = {}) {
  const server = await startServer(answer);
  const client = openClient([server.baseUrl], changes);
  cleanups.push(
    () => server.close(),
    () => client.close(),
  );
  return { server, client };
}

const compressed =
  (encoding: string, body: Buffer, status = 200): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Encoding': encoding });
    response.end(body);
  };

describe('every request', () => {
  test('asks for an uncompressed reply, and has a User-Agent', async () => {
    const { server, client } = await connect(always(200, ['pong']), { version: '1.2.3' });
    await client.ping();
    await client.mainBalance();
    for (const { headers } of server.received) {
      expect(headers).toMatchObject({
        'accept-encoding': 'identity',
        'user-agent': 'breakwater/1.2.3',
        accept: 'application/json',
      });
    }
    expect(server.received).toHaveLength(2);
  });

  test.each(['unique', 'increasing', 'window'] as const)(
    'carries its nonce as a string (mode %s)',
    async (mode) => {
      const store = (await import('../fixtures.ts')).nonceSettings(mode);
      const { server, client } = await connect(always(200, {}), store);
      await client.mainBalance();
      expect(server.received[0]?.text).toMatch(/"nonce":"\d+"/);
    },
  );
});

describe('a reply that is compressed anyway', () => {
  const text = Buffer.from(JSON.stringify([POSITION]));

  test.each([
    ['gzip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['GZIP', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['identity', text],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
  ])('is read: %s', async (encoding, body) => {
    const { client } = await connect(compressed(encoding, body));
    expect(await client.openPositions()).toMatchObject({
      kind: 'ok',
      value: { complete: true, records: [{ positionId: '191823' }] },
    });
  });

  test('is an error of the exchange like any other', async () => {
    const body = gzipSync('{"code":116,"message":"no position","errors":{}}');
    const { client } = await connect(compressed('gzip', body, 400));
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({ error: { name: 'reduceOnlyRefused' } });
  });

  test('is given up early if it expands to an enormous size', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, '0'));
    expect(bomb.length).toBeLessThan(100_000);
    const { client } = await connect(compressed('gzip', bomb));
    expect(await client.openPositions()).toMatchObject({ kind: 'failed', error: { name: 'replyTooLarge' } });
  });

  test.each([
    ['gzip', Buffer.from('no gzip at all')],
    ['zstd', text],
  ])('leaves the outcome of a command unknown if it cannot be decoded: %s', async (encoding, body) => {
    const { client } = await connect(compressed(encoding, body));
    expect(await client.cancelAll({})).toMatchObject({
      kind: 'unknown',
      error: { name: 'replyUndecodable', effect: 'possible' },
    });
  });
});

describe('Retry-After', () => {
  const nowMs = Date.parse('Sun, 22 Nov 2026 11:00:00 GMT');

  test.each<[string, number | undefined]>([
    ['2', 2000],
    ['1.5', 1500],
    ['0.0004', 1],
    ['.5', 500],
    ['3.', 3000],
    [' 7 ', 7000],
    ['Sun, 22 Nov 2026 11:00:30 GMT', 30_000],
    ['Sun, 22 Nov 2026 10:00:00 GMT', 0],
    ['-1', undefined],
    ['1,5', undefined],
    ['', undefined],
    ['soon', undefined],
  ])('"%s" is %s ms', (header, delayMs) => {
    expect(readRetryAfter(header, nowMs)).toBe(delayMs);
  });

  test('as a date counts from the date of the reply, not from our clock', async () => {
    const headers = {
      Date: 'Thu, 01 Jan 2037 00:00:00 GMT',
      'Retry-After': 'Thu, 01 Jan 2037 00:00:04 GMT',
    };
    const { client } = await connect(always(429, { message: 'limit' }, headers));
    expect(await client.cancelAll({})).toMatchObject({ error: { retryAfterMs: 4000 } });
  });
});

test.each([
  ['', undefined],
  ['soon', undefined],
  ['Thu, 01 Jan 2037 00:00:00 GMT', Date.UTC(2037, 0, 1)],
])('the date of a reply is kept if it is a date: "%s"', async (header, serverDateMs) => {
  const { client } = await connect(always(200, [], { Date: header }));
  for (let reply = 0; reply < 2; reply += 1) {
    const outcome = await client.openPositions();
    expect(outcome.kind === 'ok' && outcome.timing.serverDateMs).toBe(serverDateMs);
  }
});

describe('the dialect', () => {
  const LINK = { ticker: 'UAH', provider: 'BANK', amount: STOP.amount, uniqueId: 'deposit-1' };

  test.each([
    ['spec', { unique_id: 'deposit-1' }, 'uniqueId'],
    ['camel', { uniqueId: 'deposit-1' }, 'unique_id'],
  ] as const)('%s decides how a deposit link spells its unique id', async (dialect, sent, other) => {
    const { server, client } = await connect(always(200, { url: 'https://pay.example/1' }), { dialect });
    expect(await client.fiatDepositLink(LINK)).toMatchObject({ kind: 'accepted' });
    expect(server.received[0]?.body).toMatchObject(sent);
    expect(server.received[0]?.body).not.toHaveProperty(other);
  });
});

describe('an order whose reply differs from the request', () => {
  test.each<[string, object, readonly string[]]>([
    ['the same', {}, []],
    ['nothing of it', { reduceOnly: undefined }, []],
    ['that it may open a position', { reduceOnly: false }, ['.reduceOnly: true, false']],
    ['no id', { client_order_id: '' }, ['.client_order_id: the id that was sent, another text']],
    [
      'another id, and that it may open a position',
      { client_order_id: 'x', reduceOnly: false },
      ['.client_order_id: the id that was sent, another text', '.reduceOnly: true, false'],
    ],
  ])('is reported as drift: %s', async (_what, changes, told) => {
    const drifts: string[] = [];
    const { client } = await connect(always(200, { ...PLACED_ORDER, ...changes }), {
      observer: {
        onDrift: ({ endpoint, kind, path, expected, got }) => {
          expect([endpoint, kind]).toEqual(['stopLimit', 'echo']);
          drifts.push(`${path}: ${expected}, ${got}`);
        },
      },
    });
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({ kind: 'accepted' });
    expect(drifts).toEqual(told);
  });
});

describe('an order with a cancelled status', () => {
  test.each([
    'CANCELED',
    'CANCELLED',
    'CANCELED_STP',
    'CANCELED_TAKER_BAND',
    'AUTO_CANCELED_USER_MARGIN',
    'AUTO_CANCELED_REDUCE_ONLY',
    'MARKET_CANCELLED',
    'auto_canceled',
  ])('%s is refused', async (status) => {
    const { client } = await connect(always(200, { ...PLACED_ORDER, status }));
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'rejected',
      error: { name: 'cancelledOnCreation', effect: 'none' },
    });
  });

  test('after a fill may have had an effect', async () => {
    const reply = { ...PLACED_ORDER, status: 'CANCELED_STP', deal_stock: '0.01', left: '0.04' };
    const { client } = await connect(always(200, reply));
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({
      kind: 'rejected',
      error: { name: 'cancelledPartlyFilled', effect: 'possible' },
    });
  });

  test.each(['NEW', 'FILLED', 'PARTIALLY_FILLED', 'ON_HOLD'])('%s is accepted', async (status) => {
    const { client } = await connect(always(200, { ...PLACED_ORDER, status }));
    expect(await client.reduceOnlyStop(STOP)).toMatchObject({ kind: 'accepted' });
  });
});
