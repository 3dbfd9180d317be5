import { createHash } from 'node:crypto';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foreignWords } from '../../../src/core/redaction/foreign-words.ts';
import { BaseUrls } from '../../../src/exchange/call/base-urls.ts';
import { CallScope } from '../../../src/exchange/call/call-scope.ts';
import { errorOfReply, readRetryAfter, SHOWN_OF_ERRORS } from '../../../src/exchange/call/errors.ts';
import { excessOf, REPLY_BOUNDS } from '../../../src/exchange/call/reply-bounds.ts';
import { ENDPOINTS, type EndpointId } from '../../../src/exchange/endpoints.ts';
import { EventQueue } from '../../../src/world/event-queue.ts';
import { Machine, MachineProcess } from '../../../src/world/machine.ts';
import { Dice } from '../../support/dice.ts';
import { ERROR_CATALOGUE } from '../error-catalogue.ts';

/** `npm test -- test/exchange/call/verdicts.test.ts --update` rewrites the transcript kept for review. */

const redact = foreignWords(['planted-secret'], SHOWN_OF_ERRORS);
const STATUSES = [200, 299, 300, 400, 401, 403, 404, 409, 422, 429, 499, 500, 503, 599];
const CODES = [
  undefined,
  0,
  1,
  2,
  10,
  30,
  31,
  32,
  33,
  36,
  37,
  111,
  112,
  113,
  114,
  115,
  116,
  117,
  999,
  1.5,
  'x',
];
const MESSAGES = [
  undefined,
  '',
  'Validation failed',
  'Nonce must be greater',
  'nonce not provided',
  'IP address is not in the whitelist',
  'No active loan',
  'You have no permission for this',
  'API access is not enabled',
  'planted-secret was wrong',
];
const REST: readonly object[] = [
  {},
  { success: false },
  { success: true },
  { errors: { clientOrderId: ['must be unique'] } },
  { errors: { client_order_id: 'is too long' } },
  { errors: { amount: ['wrong', 5, 'planted-secret'] }, params: ['a', 1] },
  { errors: [] },
];

const verdict = (endpoint: EndpointId, status: number, body: unknown, retryAfterMs?: number): string =>
  JSON.stringify(errorOfReply({ endpoint, redact }, status, body, retryAfterMs) ?? 'none');

test.each(Object.keys(ENDPOINTS) as EndpointId[])('what replies mean on %s', (endpoint) => {
  const rows = STATUSES.map((status) => {
    const hash = createHash('sha256');
    const names = new Map<string, number>();
    const bodies: unknown[] = [undefined, null, [], 'x', 7];
    for (const message of MESSAGES) {
      for (const code of CODES) bodies.push({ code, message });
      for (const code of [undefined, 0, 36]) for (const rest of REST) bodies.push({ code, message, ...rest });
    }
    for (const body of bodies) {
      const error = errorOfReply({ endpoint, redact }, status, body);
      hash.update(`${JSON.stringify(error)}\n`);
      const name = error === undefined ? 'none' : `${error.name}/${error.effect}`;
      names.set(name, (names.get(name) ?? 0) + 1);
    }
    const counts = [...names].map(([name, count]) => `${name} ${count}`).toSorted();
    return `${status} ${hash.digest('hex').slice(0, 12)}: ${counts.join(', ')}`;
  });
  expect(rows).toMatchSnapshot();
});

test('the whole catalogue of errors', async () => {
  const lines = ERROR_CATALOGUE.map((entry) => JSON.stringify(entry));
  const file = path.join(import.meta.dirname, 'transcripts', 'errors.txt');
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});

test('of what an error says, so much is kept', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`);
  const errors = Object.fromEntries(many(51).map((name) => [name, many(11)]));
  const error = errorOfReply(
    { endpoint: 'ping', redact },
    400,
    { errors, params: many(51), message: 'm'.repeat(400) },
    7,
  );
  expect(Object.keys(error?.fields ?? {})).toHaveLength(50);
  expect(error?.fields?.['word0']).toHaveLength(10);
  expect(error?.params).toHaveLength(50);
  expect(error?.retryAfterMs).toBe(7);
  for (const length of [38, 39, 40]) {
    const id = `a1${'b2'.repeat(30)}`.slice(0, length);
    expect(verdict('ping', 400, { message: `id ${id}` }).includes(id)).toBe(length < 40);
  }
});

test.each([
  [undefined, undefined],
  ['', undefined],
  ['0', 0],
  ['1', 1_000],
  [' 1.5 ', 1_500],
  ['.0001', 1],
  ['1.', 1_000],
  ['120', 120_000],
  ['121', 120_000],
  ['999999', 120_000],
  ['9999999', undefined],
  ['-5', undefined],
  ['1,5', undefined],
  ['soon', undefined],
  ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
  ['Thu, 01 Jan 2026 00:10:00 GMT', 120_000],
  ['Wed, 31 Dec 2025 23:59:30 GMT', 0],
])('Retry-After %j is %s ms', (header, ms) => {
  expect(readRetryAfter(header, Date.UTC(2026, 0, 1))).toBe(ms);
});

describe('bounds of replies', () => {
  test('of every endpoint', () => expect(REPLY_BOUNDS).toMatchSnapshot());

  /** Long enough for a timeout to be seen. */
  const padded = (text: string): string => text.padEnd(4_097);

  test.each([
    ['short', '['.repeat(40), undefined],
    ['flat', padded(`[${Array.from({ length: 10 }, () => 1).join(',')}]`), undefined],
    [
      'one too many',
      padded(`[${Array.from({ length: 11 }, () => 1).join(',')}]`),
      'more than 10 members in one list',
    ],
    [
      'fields',
      padded(`{${Array.from({ length: 11 }, (_, at) => `"${at}":1`).join(',')}}`),
      'more than 10 members in one list',
    ],
    ['commas in texts', padded(`["${','.repeat(50)}","\\",${','.repeat(50)}"]`), undefined],
    [
      'lists beside each other',
      padded(`[${Array.from({ length: 4 }, () => '[1,2,3,4,5]').join(',')}]`),
      undefined,
    ],
    [
      'too many in all',
      padded(`[${Array.from({ length: 6 }, () => '[1,2,3,4,5]').join(',')}]`),
      'more than 32 values',
    ],
    ['deep', padded(`${'['.repeat(32)}${']'.repeat(32)}`), undefined],
    ['too deep', padded(`${'['.repeat(33)}${']'.repeat(33)}`), 'nested deeper than 32'],
    ['closed too often', padded(`${']'.repeat(40)}[1,2]`), undefined],
    ['a text without an end', padded('["abc\\'), undefined],
  ])('%s', (_what, text, excess) => {
    expect(excessOf(text, { members: 10, values: 32 })).toBe(excess);
  });

  test('count as many as JSON has', () => {
    const value = fc.jsonValue({ maxDepth: 5 });
    const count = (one: unknown): number =>
      typeof one !== 'object' || one === null
        ? 0
        : 1 +
          Math.max(0, Object.keys(one).length - 1) +
          Object.values(one).reduce((sum: number, each) => sum + count(each), 0);
    fc.assert(
      fc.property(value, fc.integer({ min: 1, max: 40 }), (one, values) => {
        const excess = excessOf(padded(JSON.stringify(one)), { members: 1e6, values });
        expect(excess).toBe(count(one) > values ? `more than ${values} values` : undefined);
      }),
    );
  });
});

function openTime() {
  const queue = new EventQueue();
  return { queue, time: new MachineProcess(queue, new Machine(queue, 0)) };
}

test('which address is tried: histories by their hash, and what holds of all', async () => {
  const hash = createHash('sha256');
  for (let seed = 0; seed < 30; seed += 1) {
    const dice = new Dice(seed);
    const { queue, time } = openTime();
    const count = dice.of(1, 2, 3);
    const urls = new BaseUrls(count, time.clock, () => dice.of(0, 0.5, 1));
    const failures = Array.from({ length: count }, () => 0);
    for (let step = 0; step < 60; step += 1) {
      await queue.run(queue.nowMs + dice.of(0, 0, 250, 500, 1_000, 30_000), () => false);
      const kind = dice.of('read', 'command');
      const index = urls.pick(kind);
      hash.update(`${index} ${[0, 1, 2].map((one) => urls.hasOther(one)).join()} `);
      expect(index).toBeLessThan(count);
      const healthy = failures.indexOf(0);
      if (failures[0] === 0) expect(index).toBe(0);
      if (kind === 'command' && healthy !== -1) expect(index).toBe(healthy);
      const about = dice.of(index, Math.floor(dice.next() * count));
      if (dice.hits(0.5)) {
        urls.failed(about);
        failures[about] = 1;
      } else if (dice.hits(0.4)) {
        urls.succeeded(about);
        failures[about] = 0;
      }
    }
  }
  expect(hash.digest('hex').slice(0, 16)).toMatchSnapshot();
});

test.each([
  [1, 500],
  [2, 1_000],
  [3, 2_000],
  [6, 16_000],
  [7, 30_000],
  [40, 30_000],
])('after %i failures an address is left alone for up to %i ms', async (times, longestMs) => {
  for (const [random, waitsMs] of [
    [0, longestMs / 2],
    [1, longestMs],
  ] as const) {
    const { queue, time } = openTime();
    const urls = new BaseUrls(2, time.clock, () => random);
    for (let index = 0; index < times; index += 1) {
      if (index > 0) await queue.run(queue.nowMs + 30_000, () => false);
      urls.failed(0);
      // Failures of requests in flight together are not counted separately.
      urls.failed(0);
    }
    await queue.run(queue.nowMs + waitsMs - 1, () => false);
    expect([urls.pick('read'), urls.hasOther(1)]).toEqual([1, false]);
    await queue.run(queue.nowMs + 1, () => false);
    expect([urls.pick('command'), urls.hasOther(1), urls.pick('read')]).toEqual([1, true, 0]);
  }
});

describe('the life of a call', () => {
  test.each(['time', 'signal'] as const)(
    'ends by %s: whatever it waits for is interrupted, once',
    async (by) => {
      const { queue, time } = openTime();
      const abort = new AbortController();
      const scope = new CallScope(time, {
        startedMs: time.clock.monotonicMs(),
        timeoutMs: 100,
        signal: abort.signal,
      });
      const log: string[] = [];
      const waits = scope
        .within(new Promise(() => undefined))
        .then((value) => log.push(`within ${String(value)}`));
      await queue.run(queue.nowMs + 40, () => false);
      expect([scope.isOver(), scope.remainingMs(), log]).toEqual([false, 60, []]);
      if (by === 'signal') abort.abort();
      await queue.run(queue.nowMs + 60, () => false);
      await waits;
      expect([scope.isOver(), scope.cancelled, log]).toEqual([
        true,
        by === 'signal' ? 'aborted' : 'timeout',
        ['within undefined'],
      ]);
      abort.abort();
      expect(scope.cancelled).toBe(by === 'signal' ? 'aborted' : 'timeout');
      const atMs = queue.nowMs;
      await scope.sleep(1_000);
      expect(queue.nowMs).toBe(atMs);
      scope.end();
    },
  );

  test('sleeps as long as asked, and no longer than it lasts or until it is aborted', async () => {
    const { queue, time } = openTime();
    const abort = new AbortController();
    const scope = new CallScope(time, {
      startedMs: time.clock.monotonicMs(),
      timeoutMs: 100,
      signal: abort.signal,
    });
    const woke: number[] = [];
    const sleep = (forMs: number) => void scope.sleep(forMs).then(() => woke.push(queue.nowMs));
    sleep(30);
    await queue.run(50, () => false);
    sleep(500);
    await queue.run(200, () => false);
    expect(woke).toEqual([30, 100]);
    const other = new CallScope(time, {
      startedMs: time.clock.monotonicMs(),
      timeoutMs: 100,
      signal: abort.signal,
    });
    void other.sleep(50).then(() => woke.push(queue.nowMs));
    await queue.run(210, () => false);
    abort.abort();
    await queue.run(220, () => false);
    expect(woke).toEqual([30, 100, 210]);
  });

  test('is over at once for a signal that was aborted, and hears nothing after its end', () => {
    const { time } = openTime();
    const bounds = { startedMs: time.clock.monotonicMs(), timeoutMs: 100 };
    const over = new CallScope(time, { ...bounds, signal: AbortSignal.abort() });
    expect([over.isOver(), over.cancelled]).toEqual([true, 'aborted']);
    const abort = new AbortController();
    const ended = new CallScope(time, { ...bounds, signal: abort.signal });
    let interrupted = 0;
    ended.onAbort(() => {
      interrupted += 1;
    });
    ended.end();
    abort.abort();
    expect([interrupted, ended.cancelled]).toEqual([0, undefined]);
  });

  test('a result that comes ends the waiting, and nothing is interrupted later', async () => {
    const { queue, time } = openTime();
    const scope = new CallScope(time, { startedMs: time.clock.monotonicMs(), timeoutMs: 100 });
    expect(await scope.within(Promise.resolve(7))).toBe(7);
    await expect(scope.within(Promise.reject(new Error('no')))).rejects.toThrow('no');
    await queue.run(200, () => false);
    expect(scope.cancelled).toBe('timeout');
  });
});
