import process from 'node:process';
import { gzipSync } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { afterAll, describe, expect, test } from 'vitest';
import { REPLY_BOUNDS } from '../../../src/exchange/call/reply-bounds.ts';
import { Connections } from '../../../src/exchange/call/transport.ts';
import type { ExchangeClient } from '../../../src/exchange/client.ts';
import type { EndpointId } from '../../../src/exchange/endpoints.ts';
import { systemTimers } from '../../../src/exchange/system-clock.ts';
import { slowness } from '../../support/machine-speed.ts';
import { CREDIT_LINE, decimalText, openClient, POSITION, SPOT_ORDER, STOP, TRANSFER } from '../fixtures.ts';

/** Longest turn of the event loop for one reply on a usual core: from its last byte until the client has judged it. */
const MOST_HELD_MS = 50;
/** One try within the bound is enough, as collecting garbage falls into some. The time is that of the loop's own thread. */
const TRIES = 10;

let flight: Dispatcher.DispatchHandler | undefined;
let onFlight: () => void = () => undefined;
const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
const wire = {
  dispatch(_request: unknown, handler: Dispatcher.DispatchHandler) {
    flight = handler;
    handler.onRequestStart?.(controller, undefined);
    onFlight();
    return true;
  },
  close: async () => undefined,
};
const client = openClient(['http://127.0.0.1:1'], {
  sharedConnections: new Connections({ open: () => wire, timers: systemTimers }),
  retry: { maxAttempts: 1 },
});
afterAll(() => client.close());

interface Reply {
  readonly body: Buffer;
  readonly status?: number;
  readonly encoding?: string;
}

function answer({ body, status = 200, encoding }: Reply): void {
  const headers = encoding === undefined ? {} : { 'content-encoding': encoding };
  flight?.onResponseStart?.(controller, status, headers);
  flight?.onResponseData?.(controller, body);
  flight?.onResponseEnd?.(controller, {});
}

/** Returns how long one reply holds the loop (milliseconds of processor time), and its outcome. */
async function heldBy(call: Call, reply: Reply): Promise<[number, string]> {
  const sent = new Promise<void>((resolve) => {
    onFlight = resolve;
  });
  const outcome = call(client);
  await sent;
  // The next page of a history is empty.
  onFlight = () => answer({ body: Buffer.from('[]') });
  const before = process.threadCpuUsage();
  answer(reply);
  const ended = await outcome;
  const { user, system } = process.threadCpuUsage(before);
  return [(user + system) / 1000, 'error' in ended ? ended.error.name : ended.kind];
}

/** The time of the best try, as on a usual core: each is measured against the core's speed right before and after it. */
async function leastHeld(call: Call, reply: Reply): Promise<[number, string]> {
  let best = Infinity;
  let became = '';
  let slowBefore = slowness();
  for (let round = 0; round < TRIES && best > MOST_HELD_MS; round += 1) {
    const [heldMs, name] = await heldBy(call, reply);
    const slowAfter = slowness();
    best = Math.min(best, heldMs / Math.max(slowBefore, slowAfter));
    slowBefore = slowAfter;
    became = name;
  }
  return [best, became];
}

type Call = (client: ExchangeClient) => Promise<{ readonly kind: string } | { error: { name: string } }>;

const DEPOSIT = { ticker: 'USD', provider: 'OTHER', amount: decimalText('10'), uniqueId: 'u' };
const CALLS: readonly (readonly [EndpointId, object, Call])[] = [
  ['ping', [], (to) => to.ping()],
  ['openPositions', POSITION, (to) => to.openPositions()],
  ['creditLines', CREDIT_LINE, (to) => to.creditLines()],
  ['mainBalance', { main_balance: '1' }, (to) => to.mainBalance()],
  ['transfers', TRANSFER, (to) => to.transfers()],
  ['spotOrders', SPOT_ORDER, (to) => to.spotOrders()],
  ['stopLimit', { orderId: 1 }, (to) => to.reduceOnlyStop(STOP)],
  ['cancelAll', { orderId: 1 }, (to) => to.cancelAll({})],
  ['fiatDeposit', { url: 'https://x.example' }, (to) => to.fiatDepositLink(DEPOSIT)],
  ['hedgeMode', { hedgeMode: true }, (to) => to.setHedgeMode(true)],
];

/** As many lists of units as the bounds let pass; `valuesEach`: values in one unit. */
function units(unit: string, valuesEach: number, { bytes, members, values }: Bounds): string[] {
  const most = Math.floor(
    Math.min((bytes - 3 * members) / (unit.length + 1), (values - members) / valuesEach),
  );
  const inner = Math.min(members, Math.max(1, most));
  const outer = Math.max(1, Math.floor(most / inner));
  return Array.from({ length: outer }, () => `[${Array.from({ length: inner }, () => unit).join(',')}]`);
}

type Bounds = (typeof REPLY_BOUNDS)[EndpointId];

/** Good records with a wrong field each, as long as the bytes allow. */
function badRecords(record: object, { bytes, members, values }: Bounds): string {
  const each = Object.keys(record).length + 6;
  const count = Math.min(members, Math.floor(values / each));
  const room = Math.max(1, Math.floor(bytes / count) - JSON.stringify(record).length - 90);
  const bad = { ...record, amount: 'x'.repeat(room), positionId: 1.5, createdAt: 'x', method: 9.5 };
  return Array.from({ length: count }, () => JSON.stringify(bad)).join(',');
}

/** As many equal good records without an id as the bounds allow. */
function equalRecords(record: object, { bytes, members, values }: Bounds): string {
  const each = Object.keys(record).length + 4;
  const count = Math.min(members, Math.floor(values / each));
  const bare = { ...record, transaction_id: null, description: '' };
  const room = Math.max(0, Math.floor((bytes - 100) / count) - JSON.stringify(bare).length - 1);
  const text = JSON.stringify({ ...bare, description: 'x'.repeat(room) });
  return Array.from({ length: count }, () => text).join(',');
}

/** The most costly replies that an endpoint lets through, by name. */
function worstOf(
  record: object,
  bounds: Bounds,
): Readonly<Record<string, { text: string; status?: number }>> {
  const { bytes, members, values } = bounds;
  const nested = (unit: string, valuesEach: number) => ({
    text: `[${units(unit, valuesEach, bounds).join(',')}]`,
  });
  const records = badRecords(record, bounds);
  const count = Math.min(members, Math.floor(values / 2)) - 1;
  const named = (value: string) =>
    `{${Array.from({ length: count }, (_, index) => `"m${index}":${value}`).join(',')}}`.slice(0, bytes);
  const said = 'ab cd '.repeat(Math.floor(bytes / 3600));
  return {
    'lists of zeros': nested('0', 1),
    // More values than may pass: refused before it is parsed.
    'lists of zeros, as long as the bytes allow': {
      text: `[${units('0', 1, { ...bounds, values: Infinity }).join(',')}]`,
    },
    'lists of empty lists': nested('[]', 2),
    'lists of empty objects': nested('{}', 2),
    'lists of objects of a number': nested('{"a":0}', 2),
    'lists as deep as they may be': nested(`${'['.repeat(28)}${']'.repeat(28)}`, 30),
    'bad records': { text: `[${records}]`.slice(0, bytes) },
    'bad records of a page': { text: `{"records":[${records}],"limit":1,"offset":0,"total":1}` },
    'bad records of a market': { text: `{"A_B":[${records}]}` },
    // Equal records are numbered, as comparing each with all others takes 600 ms.
    'a page of equal records without an id': {
      text: `{"records":[${equalRecords(record, bounds)}],"limit":1,"offset":0,"total":1}`,
    },
    'empty objects by name': { text: named('{}') },
    'balances as numbers': { text: named('{"main_balance":1.5}') },
    'one text of escapes': { text: `["${'\\n'.repeat(bytes / 2 - 4)}"]` },
    'one number': { text: `[1${'0'.repeat(bytes - 5)}]` },
    'an error of many texts': {
      status: 400,
      text: JSON.stringify({
        code: 1,
        message: said,
        errors: Object.fromEntries(
          Array.from({ length: 50 }, (_, index) => [`f${index}`, Array.from({ length: 10 }, () => said)]),
        ),
      }),
    },
  };
}

describe.each(CALLS)('%s', (id, record, call) => {
  const bounds = REPLY_BOUNDS[id];

  test('the worst that passes its bounds holds the loop for 50 ms at most, as it is and compressed', async () => {
    let mostMs = MOST_HELD_MS * slowness();
    const found: { heldMs: number; what: string; became: string; reply: Reply }[] = [];
    const measure = async (what: string, reply: Reply) => {
      const [heldMs, became] = await leastHeld(call, reply);
      found.push({ heldMs, what, became, reply });
    };
    for (const [what, { text, status = 200 }] of Object.entries(worstOf(record, bounds))) {
      await measure(what, { body: Buffer.from(text).subarray(0, bounds.bytes), status });
    }
    for (const { what, reply } of found.toSorted((a, b) => b.heldMs - a.heldMs).slice(0, 2)) {
      const body = gzipSync(reply.body, { level: 1 });
      await measure(`${what}, compressed`, { ...reply, body, encoding: 'gzip' });
    }
    // Another program may have begun to slow the core after the first measure of it.
    mostMs = Math.max(mostMs, MOST_HELD_MS * slowness());
    const tooLong = found.filter(({ heldMs }) => heldMs > MOST_HELD_MS);
    expect(tooLong.map(({ what, heldMs, became }) => [what, heldMs, became])).toEqual([]);
    // Most are not refused for their size: the work after that is measured.
    expect(found.filter(({ became }) => became !== 'replyTooLarge').length).toBeGreaterThan(7);
  });
});

test('a reply compressed many times over is not decompressed', async () => {
  let body = Buffer.alloc(REPLY_BOUNDS.transfers.bytes - 4096, 'x');
  for (let step = 0; step < 8; step += 1) body = gzipSync(body, { level: 0 });
  const encoding = Array.from({ length: 8 }, () => 'gzip').join(', ');
  const [, became] = await heldBy((to) => to.transfers(), { body, encoding });
  expect(became).toBe('replyUndecodable');
});
