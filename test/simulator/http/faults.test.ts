import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decimal } from '../../../src/core/quantities/decimal.ts';
import {
  breakOneRecord,
  changeTypes,
  dropField,
  malformJson,
  truncateJson,
} from '../../../src/simulator/http/damage.ts';
import { FaultBook, type FaultEffect } from '../../../src/simulator/http/faults.ts';
import type { RunningSimulator } from '../../../src/simulator/start-simulated-exchange.ts';
import {
  type Answer,
  accountNamed,
  call,
  failureOf,
  LONG,
  PATHS,
  SHORT,
  STOP,
  send,
  simulator,
} from './support.ts';

async function exchange(readings: Record<string, unknown> = {}) {
  const running = await simulator({ accounts: [LONG, SHORT], readings });
  const as =
    (id: string) =>
    (path: string, params: Record<string, unknown> = {}, options = {}): Promise<Answer> =>
      call(running.baseUrl, accountNamed(running, id), path, params, options);
  return { running, as, long: as('long') };
}

/** Waits for an event shortly afterwards in real time. */
async function eventually(condition: () => boolean): Promise<void> {
  const end = performance.now() + 240_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error('it never happened');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const placed = (running: RunningSimulator) => running.ledger({ kinds: ['order_placed'] }).length;

describe('faults of the connection', () => {
  test('reset: the connection is reset before the order is seen', async () => {
    const { running, long } = await exchange();
    running.injectFault({ effect: { kind: 'reset' }, count: 1 });
    expect(await failureOf(long(PATHS.stopLimit, STOP))).toBe('ECONNRESET');
    expect(placed(running)).toBe(0);
    expect(running.requestLog()).toMatchObject([
      { endpoint: 'stopLimit', outcome: 'unseen', faults: ['reset'], delivered: false },
    ]);
  });

  test('reset of a request directly behind another one on the same connection', async () => {
    const { running } = await exchange();
    running.injectFault({ effect: { kind: 'latency', delayMs: 60_000 }, count: 1 });
    running.injectFault({ effect: { kind: 'reset' }, skip: 1 });
    const { port, hostname } = new URL(running.baseUrl);
    const socket = connect(Number(port), hostname);
    const failure = new Promise((resolve) => socket.on('error', resolve));
    socket.write('GET /api/v4/public/ping HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2));
    expect(await failure).toMatchObject({ code: 'ECONNRESET' });
  });

  test('hang: no reply, and no effect', async () => {
    const { running, long } = await exchange();
    running.injectFault({ effect: { kind: 'hang' }, count: 1 });
    expect(await failureOf(long(PATHS.stopLimit, STOP, { timeoutMs: 100 }))).toBe('ETIMEDOUT');
    expect(placed(running)).toBe(0);
  });

  test.each(['reset', 'hang'] as const)(
    'lostReply (%s): the order stands, once, without a reply',
    async (connection) => {
      const { running, long } = await exchange();
      running.injectFault({ effect: { kind: 'lostReply', connection }, count: 1 });
      const failure = await failureOf(
        long(PATHS.stopLimit, { ...STOP, client_order_id: 'lost' }, { timeoutMs: 2_000 }),
      );
      await eventually(() => running.requestLog()[0]?.outcome === 'served');
      expect(failure).toBe(connection === 'reset' ? 'ECONNRESET' : 'ETIMEDOUT');
      expect(running.ledger({ kinds: ['order_placed'] })).toMatchObject([{ clientOrderId: 'lost' }]);
      expect(running.requestLog()).toMatchObject([
        { outcome: 'served', status: 200, clientOrderId: 'lost', delivered: false },
      ]);
    },
  );

  test('appliedLate without a delay: the order arrives when it is released', async () => {
    const { running, long } = await exchange();
    running.injectFault({ effect: { kind: 'appliedLate' }, count: 1 });
    expect(await failureOf(long(PATHS.stopLimit, STOP))).toBe('ECONNRESET');
    expect(placed(running)).toBe(0);
    expect(running.requestLog()).toMatchObject([{ outcome: 'pending', handledAtMs: null }]);
    running.advance(4_000);
    expect(running.releaseHeld()).toBe(1);
    expect(placed(running)).toBe(1);
    const [record] = running.requestLog();
    expect(record).toMatchObject({ outcome: 'served', status: 200, delivered: false });
    expect((record?.handledAtMs ?? 0) - (record?.atMs ?? 0)).toBe(4_000);
  });

  test('appliedLate with a delay arrives by itself; the client may get no reply', async () => {
    const { running, long } = await exchange();
    running.injectFault({ effect: { kind: 'appliedLate', delayMs: 30, connection: 'hang' }, count: 1 });
    expect(await failureOf(long(PATHS.stopLimit, STOP, { timeoutMs: 2_000 }))).toBe('ETIMEDOUT');
    await eventually(() => placed(running) === 1);
  });

  test('a late request meets the nonce rule on arrival: an accepted cancel with a larger nonce fences it', async () => {
    const { running, long } = await exchange({ nonceRule: 'increasing' });
    running.injectFault({ effect: { kind: 'appliedLate' }, target: { endpoint: 'stopLimit' }, count: 1 });
    await failureOf(long(PATHS.stopLimit, STOP));
    expect((await long(PATHS.cancelAll)).status).toBe(200);
    running.releaseHeld();
    expect(placed(running)).toBe(0);
    expect(running.requestLog({ endpoint: 'stopLimit' })).toMatchObject([
      { outcome: 'refused', status: 429 },
    ]);
  });

  test('reading lateArrivalMs: a lost reply means that the order comes later', async () => {
    const { running, long } = await exchange({ lateArrivalMs: 50 });
    running.injectFault({ effect: { kind: 'lostReply' }, count: 1 });
    expect(await failureOf(long(PATHS.stopLimit, STOP))).toBe('ECONNRESET');
    expect(running.requestLog()).toMatchObject([{ outcome: 'pending' }]);
    await eventually(() => placed(running) === 1);
  });

  test('requests still waiting are dropped when the exchange closes', async () => {
    const { running, long } = await exchange();
    running.injectFault({ effect: { kind: 'appliedLate', delayMs: 60_000 }, count: 1 });
    running.injectFault({ effect: { kind: 'latency', delayMs: 60_000 }, skip: 1, count: 1 });
    await failureOf(long(PATHS.stopLimit, STOP));
    const waiting = failureOf(long(PATHS.positions));
    await eventually(() => running.exchange.faults.list().length === 0);
    await running.close();
    expect(await waiting).toBe('ECONNRESET');
    expect(placed(running)).toBe(0);
  });

  test('latency delays the request or the reply', async () => {
    const { running, long } = await exchange();
    for (const at of ['request', 'reply'] as const) {
      running.injectFault({ effect: { kind: 'latency', delayMs: 60, jitterMs: 5, at }, count: 1 });
      const start = performance.now();
      expect((await long(PATHS.positions)).status).toBe(200);
      expect(performance.now() - start).toBeGreaterThanOrEqual(55);
    }
  });
});

describe('faults of the reply', () => {
  test.each([429, 500, 503])('status %i instead of the effect, or after it', async (status) => {
    const { running, long } = await exchange();
    running.injectFault({ effect: { kind: 'status', status }, count: 1 });
    const before = await long(PATHS.stopLimit, STOP);
    expect([before.status, before.json.code]).toEqual([status, 0]);
    expect(placed(running)).toBe(0);
    running.injectFault({ effect: { kind: 'status', status, applied: true }, count: 1 });
    expect((await long(PATHS.stopLimit, STOP)).status).toBe(status);
    expect(placed(running)).toBe(1);
  });

  test('status can have any code, message and fields: every documented error is possible', async () => {
    const { running, long } = await exchange();
    const effect: FaultEffect = {
      kind: 'status',
      status: 400,
      code: 111,
      message: 'limit',
      errors: { amount: ['x'] },
    };
    running.injectFault({ effect, count: 1 });
    expect((await long(PATHS.stopLimit, STOP)).json).toEqual({
      code: 111,
      message: 'limit',
      errors: { amount: ['x'] },
    });
    running.injectFault({ effect: { kind: 'status', status: 503 }, target: { endpoint: 'ping' } });
    const ping = await send(`${running.baseUrl}/api/v4/public/ping`);
    expect([ping.status, ping.json]).toEqual([
      503,
      { success: false, message: 'Service is temporarily unavailable', params: [] },
    ]);
  });

  test('truncated and malformed JSON arrive complete and cannot be parsed', async () => {
    const { running, long } = await exchange();
    for (const kind of ['truncatedJson', 'malformedJson'] as const) {
      running.injectFault({ effect: { kind }, count: 1 });
      const answer = await long(PATHS.positions);
      expect([answer.status, answer.json]).toEqual([200, undefined]);
    }
    running.injectFault({ effect: { kind: 'malformedJson', body: '<html>' }, count: 1 });
    expect((await long(PATHS.positions)).text).toBe('<html>');
  });

  test('cutBody breaks the connection within the body', async () => {
    const { running, long } = await exchange();
    running.injectFault({ effect: { kind: 'cutBody' }, count: 1 });
    expect(await failureOf(long(PATHS.positions))).toBe('ECONNRESET');
    expect(running.requestLog()).toMatchObject([{ outcome: 'served', delivered: false }]);
  });

  test('wrongTypes, missingField and badRecord change the content', async () => {
    const { running, long } = await exchange();
    const [whole] = (await long(PATHS.positions)).json;
    running.injectFault({ effect: { kind: 'missingField', field: 'amount' }, count: 1 });
    expect((await long(PATHS.positions)).json[0]).not.toHaveProperty('amount');
    running.injectFault({ effect: { kind: 'wrongTypes' }, count: 1 });
    const [mistyped] = (await long(PATHS.positions)).json;
    const changed = Object.keys(whole).filter(
      (key) =>
        typeof mistyped[key] !== typeof whole[key] || (whole[key] === null) !== (mistyped[key] === null),
    );
    expect(changed).toHaveLength(1);
    running.injectFault({ effect: { kind: 'badRecord' }, count: 1 });
    expect((await long(PATHS.positions)).json[0]).not.toEqual(whole);
  });

  test('stale: reads show the past since the injection; commands do not', async () => {
    const { running, long } = await exchange();
    const pnl = async () => (await long(PATHS.positions)).json[0].unrealizedPnl;
    const id = running.injectFault({ effect: { kind: 'stale', ageMs: 10_000 } });
    running.advance(1_000);
    running.setPrice('BTC_PERP', '60100');
    expect(await pnl()).toBe('0');
    running.advance(5_000);
    running.setPrice('BTC_PERP', '60200');
    expect(await pnl()).toBe('0');
    running.advance(5_000);
    expect(await pnl()).toBe('50');
    running.advance(5_000);
    expect(await pnl()).toBe('100');
    running.setPrice('BTC_PERP', '60000');
    expect(await pnl()).toBe('100');
    running.clearFaults(id);
    expect(await pnl()).toBe('0');
  });

  test('reading readLagMs: every read lags by that much, also within one leap of the clock', async () => {
    const { running, long } = await exchange({ readLagMs: 800 });
    const read = async () => [
      (await long(PATHS.positions)).json[0].unrealizedPnl,
      (await long(PATHS.balance)).json.USDT.main_balance,
      (await long(PATHS.transfers)).json.total,
    ];
    expect(await read()).toEqual(['0', '5000', 0]);
    // A longer lag elsewhere makes the exchange remember more, and changes nothing here.
    running.injectFault({ effect: { kind: 'stale', ageMs: 5_000 }, target: { account: 'short' } });
    running.setPrice('BTC_PERP', '60100');
    running.exchange.change((model) => model.deposit('long', { ticker: 'USDT', amount: decimal('7') }));
    running.advance(799);
    expect(await read()).toEqual(['0', '5000', 0]);
    running.advance(1);
    expect(await read()).toEqual(['50', '5007', 1]);
    running.exchange.setPriceSource('BTC_PERP', onePointAt(running.model.nowMs() + 100_000));
    running.advance(100_500);
    expect((await read())[0]).toBe('50');
    running.advance(299);
    expect((await read())[0]).toBe('50');
    running.advance(1);
    expect((await read())[0]).toBe('500');
    running.setReadings({ readLagMs: 0 });
    running.setPrice('BTC_PERP', '60000');
    expect((await read())[0]).toBe('0');
  });
});

function onePointAt(atMs: number) {
  let next: number | undefined = atMs;
  return {
    nextMs: () => next,
    take: () => {
      next = undefined;
      return decimal('61000');
    },
  };
}

describe('targets of a fault', () => {
  test('endpoint, account and region limit it; other requests are unaffected', async () => {
    const { running, as } = await exchange();
    running.injectFault({
      effect: { kind: 'status', status: 500 },
      target: { endpoint: 'openPositions', account: 'long' },
    });
    running.injectFault({ effect: { kind: 'status', status: 503 }, target: { region: 1 } });
    expect((await as('long')(PATHS.positions)).status).toBe(500);
    expect((await as('long')(PATHS.balance)).status).toBe(200);
    expect((await as('short')(PATHS.positions)).status).toBe(200);
    const [, second = ''] = running.baseUrls;
    expect((await send(`${second}/api/v4/public/ping`)).status).toBe(503);
    expect((await send(`${running.baseUrl}/api/v4/public/ping`)).status).toBe(200);
  });

  test('count, skip and removal', async () => {
    const { running } = await exchange();
    const statuses = async (times: number) => {
      const found: number[] = [];
      for (let index = 0; index < times; index += 1) {
        found.push((await send(`${running.baseUrl}/api/v4/public/ping`)).status);
      }
      return found;
    };
    running.injectFault({ effect: { kind: 'status', status: 500 }, skip: 1, count: 2 });
    expect(await statuses(4)).toEqual([200, 500, 500, 200]);
    const id = running.injectFault({ effect: { kind: 'status', status: 500 } });
    expect(await statuses(1)).toEqual([500]);
    expect(running.clearFaults(id)).toBe(1);
    expect(await statuses(1)).toEqual([200]);
  });

  test('probability follows the seed: reproducible, and about as frequent as configured', () => {
    const draws = (seed: number) => {
      let state = seed;
      const book = new FaultBook(() => {
        state = (state * 16_807) % 2_147_483_647;
        return state / 2_147_483_647;
      });
      book.inject({ effect: { kind: 'reset' }, probability: 0.3 }, 0);
      return Array.from(
        { length: 1_000 },
        () =>
          book.draw({ endpoint: 'x', account: undefined, region: 0, atMs: 0, isReduceOnly: () => true })
            .length,
      );
    };
    expect(draws(42)).toEqual(draws(42));
    const hits = draws(42).reduce((sum, hit) => sum + hit, 0);
    expect(hits).toBeGreaterThan(230);
    expect(hits).toBeLessThan(370);
  });
});

describe('base addresses', () => {
  test.each([
    ['down', { mode: 'down' }, 'ECONNRESET', 60_000],
    ['hang', { mode: 'hang' }, 'ETIMEDOUT', 150],
    ['unavailable', { mode: 'unavailable' }, 'answered 503', 60_000],
  ] as const)('%s: the other one works', async (_name, state, failure, timeoutMs) => {
    const { running } = await exchange();
    const [first = '', second = ''] = running.baseUrls;
    running.setRegion(0, state);
    expect(await failureOf(send(`${first}/api/v4/public/ping`, { timeoutMs }))).toBe(failure);
    expect((await send(`${second}/api/v4/public/ping`)).status).toBe(200);
    running.setRegion(0, { mode: 'up' });
    expect((await send(`${first}/api/v4/public/ping`)).status).toBe(200);
  });

  test('slow: every request waits', async () => {
    const { running } = await exchange();
    running.setRegion(1, { mode: 'slow', delayMs: 60 });
    const start = performance.now();
    expect((await send(`${running.baseUrls[1] ?? ''}/api/v4/public/ping`)).status).toBe(200);
    expect(performance.now() - start).toBeGreaterThanOrEqual(55);
  });
});

describe('damage', () => {
  const random = fc.infiniteStream(fc.double({ min: 0, max: 0.999_999, noNaN: true })).map((stream) => () => {
    const next = stream.next();
    return next.done === true ? 0 : next.value;
  });
  const record = fc.dictionary(
    fc.string({ minLength: 1 }),
    fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
    {
      minKeys: 1,
      noNullPrototype: true,
    },
  );
  const reply = fc.oneof(
    record,
    fc.array(record, { minLength: 1 }),
    fc.dictionary(fc.string(), fc.array(record, { minLength: 1 }), { minKeys: 1, noNullPrototype: true }),
  );
  const unparsable = (text: string) => {
    try {
      JSON.parse(text);
      return false;
    } catch {
      return true;
    }
  };

  test('truncated and malformed texts are never JSON', () => {
    fc.assert(
      fc.property(reply, random, (value, draw) => {
        const text = JSON.stringify(value);
        expect(unparsable(truncateJson(text, draw))).toBe(true);
        expect(unparsable(malformJson(text, draw))).toBe(true);
      }),
    );
  });

  test('changed types and dropped fields always differ from the original', () => {
    fc.assert(
      fc.property(reply, random, (value, draw) => {
        const text = JSON.stringify(value);
        expect(changeTypes(text, draw)).not.toBe(text);
        expect(dropField(text, draw)).not.toBe(text);
      }),
    );
  });

  test('badRecord breaks one record and leaves the others as they were', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1 }), random, (records, draw) => {
        const text = JSON.stringify(records);
        const after: unknown[] = JSON.parse(breakOneRecord(text, draw));
        const same = (JSON.parse(text) as unknown[]).filter(
          (each, index) => JSON.stringify(each) === JSON.stringify(after[index]),
        );
        expect(same).toHaveLength(records.length - 1);
      }),
    );
  });
});
