import process from 'node:process';
import { describe, expect, test } from 'vitest';
import {
  type Parsed,
  readCreditLines,
  readMainBalance,
  readPlacedOrder,
  readPositions,
  readReply,
  readSpotOrderPage,
  readTransferPage,
} from '../../src/exchange/schemas/replies.ts';
import { FULL, sliceOf } from '../support/slice.ts';
import { play } from './classroom.ts';
import { CROSSING, FIELDS, LIES, lieBehind, titleOf } from './crossing.ts';
import { MUTATIONS } from './mutations.ts';
import { SAMPLES } from './samples.ts';
import { inRecords } from './teach.ts';

const READERS = {
  positions: [readPositions, ['positionId', 'market', 'amount']],
  stopLimit: [readPlacedOrder, ['order_id', 'market', 'side', 'amount']],
  creditLine: [readCreditLines, ['asset', 'amount', 'createdAt']],
  mainBalance: [readMainBalance, ['main_balance', 'USDT']],
  transfers: [
    readTransferPage,
    ['createdAt', 'ticker', 'method', 'amount', 'status', 'records', 'limit', 'offset', 'total'],
  ],
  spotOrders: [
    readSpotOrderPage,
    ['id', 'client_order_id', 'side', 'type', 'status', 'amount', 'ctime', 'BTC_USDT'],
  ],
} as const;

/** What was read, as text without the field. */
function without(parsed: Parsed<unknown>, field: string): unknown {
  if (!parsed.ok) return parsed;
  const camel = field.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const names = new Set([field, camel]);
  return JSON.parse(JSON.stringify(parsed.value), (name, value: unknown) =>
    names.has(name) ? undefined : value,
  );
}

describe('a field that nothing depends on may be written in any way: the rest of the record is read', () => {
  const cases = (Object.keys(READERS) as (keyof typeof READERS)[]).flatMap((path) =>
    FIELDS[path].map((field) => [path, field] as const),
  );
  test.each(cases)('%s: %s', (path, field) => {
    const [read, needed] = READERS[path];
    const sample: unknown = SAMPLES[path];
    const of = (value: unknown): Parsed<unknown> => {
      const text = JSON.stringify(value);
      return readReply<unknown>(text, JSON.parse(text), read);
    };
    const expected = of(sample);
    expect(expected.ok).toBe(true);
    for (const mutation of MUTATIONS) {
      const parsed = of(inRecords(sample, field, mutation));
      if ((needed as readonly string[]).includes(field)) continue;
      expect([mutation.how, without(parsed, field)]).toEqual([mutation.how, without(expected, field)]);
    }
  });
});

/** `FOREIGN=1000` plays that many, `FULL=1` or `npm run foreign` all. */
const SHARE = Math.ceil(CROSSING.length / Number(process.env['FOREIGN'] ?? 100));

describe('replies of another server, through the acting daemon', () => {
  test('close no more than the target and one order, and keep no order from what needs no such field', async () => {
    const faulty: string[] = [];
    const told = new Map(LIES.map((lie) => [lie, 0]));
    for (const one of sliceOf(CROSSING, SHARE, 'foreign replies')) {
      const { faults } = await play(one);
      const found = faults.filter((fault) => {
        const lie = lieBehind(one, fault);
        if (lie !== undefined) told.set(lie, (told.get(lie) ?? 0) + 1);
        return lie === undefined;
      });
      if (found.length > 0) faulty.push(`${titleOf(one)}: ${found.join('; ')}`);
    }
    expect(faulty).toEqual([]);
    for (const [{ cases, count }, counted] of told) {
      expect([cases, counted]).toEqual([cases, FULL ? count : Math.min(counted, count)]);
    }
  }, 3_600_000);

  test.each([
    ['stopLimit / 422 30 Validation failed {"market":["Market field is required."]} / halve', 1],
    ['stopLimit / 422 116 Reduce-only order would not reduce [] / live', 1],
    // The lane holds back after some attempts, which is another thing to say.
    ['stopLimit / 403 <html><body><h1>Error</h1></body></html> / halve', 2],
    ['stopLimit / 502 <html><body><h1>Error</h1></body></html> / halve', 3],
    ['cancelAll / 302 , applied / cancels', 2],
    ['cancelAll / 502 <html><body><h1>Error</h1></body></html>, applied / cancels', 2],
  ])('reach people once for each cause, not with each attempt: %s', async (title, most) => {
    const one = CROSSING.find((other) => titleOf(other) === `${title} / always`);
    if (one === undefined) return expect.fail();
    const { notices, left, replies } = await play(one);
    expect(left).toBe(0.5);
    expect(replies).toBeGreaterThan(most);
    expect(notices).toBeGreaterThan(0);
    expect(notices).toBeLessThanOrEqual(most);
  });

  test('that lie about nothing are no fault, and a planted one is found', async () => {
    const first = CROSSING.find(({ path, name }) => path === 'positions' && name === 'openDate: null');
    if (first === undefined) return expect.fail();
    expect((await play(first)).faults).toEqual([]);
    const empty = { kind: 'whole', change: () => '[]' } as const;
    expect((await play({ ...first, foreign: empty })).faults).not.toEqual([]);
  });
});
