import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type {
  ReadOutcome,
  RecordList,
  ReplyTiming,
  SpotOrderRecord,
} from '../../../src/core/ports/exchange.ts';
import type { Caller } from '../../../src/exchange/call/caller.ts';
import { type HistoryPlan, readHistory } from '../../../src/exchange/schemas/read-history.ts';
import { readDatedOrders } from '../../../src/exchange/schemas/read-order-history.ts';
import type { Page } from '../../../src/exchange/schemas/replies.ts';
import { Dice } from '../../support/dice.ts';

/** Histories read page by page from a simulated exchange whose records come, go and repeat during the read. */

const NOW_S = 1_767_225_600;
const DAY_S = 86_400;

interface Played {
  readonly id: string | undefined;
  readonly atS: number;
  readonly market: string;
}

interface Asked {
  readonly limit: number;
  readonly offset: number;
  readonly startDate?: number;
  readonly endDate?: number;
  readonly timeoutMs: number;
}

interface How {
  /** Whether the limit applies to each market. */
  readonly perMarket: boolean;
  readonly saysTotal: boolean;
  /** Replies with more records than this exceed the byte limit and are refused. */
  readonly mostRecords: number;
  /** Called between two pages. */
  readonly change: (records: Played[], page: number) => void;
  readonly setsAside: boolean;
  readonly fails: (page: number) => boolean;
}

/** An exchange that shows its records newest first, and records its requests. */
class PlayedExchange {
  readonly asked: Asked[] = [];
  readonly records: Played[];
  readonly #how: How;
  #nowMs = 1_000;

  constructor(records: readonly Played[], how: How) {
    this.records = [...records];
    this.#how = how;
  }

  readonly caller = {
    clock: { monotonicMs: () => this.#nowMs, nowMs: () => NOW_S * 1_000 + 999 },
    callTimeoutMs: 15_000,
    read: ({ params, options }: { params: Asked; options: { timeoutMs: number } }) =>
      this.#read(params, options),
  } as unknown as Caller;

  async #read(params: Asked, { timeoutMs }: { timeoutMs: number }): Promise<ReadOutcome<Page<Played>>> {
    const page = this.asked.length;
    this.asked.push({ ...params, timeoutMs });
    const timing = {
      sentAtMs: this.#nowMs,
      receivedAtMs: this.#nowMs + 50,
      attempts: 1,
    } as unknown as ReplyTiming;
    this.#nowMs += 50;
    if (this.#how.fails(page)) return failed('serverError');
    const shown = this.#shown(params);
    if (shown.length > this.#how.mostRecords) return failed('replyTooLarge');
    const total = this.#within(params).length;
    this.#how.change(this.records, page);
    const setAside =
      this.#how.setsAside && shown.length > 2 ? [{ path: '[0]', expected: 'x', got: 'y' }] : [];
    const byMarket = Map.groupBy(shown, ({ market }) => market);
    const longest = this.#how.perMarket
      ? Math.max(0, ...[...byMarket.values()].map(({ length }) => length))
      : shown.length;
    return {
      kind: 'ok',
      value: {
        records: shown.slice(setAside.length),
        setAside,
        complete: setAside.length === 0,
        received: shown.length,
        longest,
        ...(this.#how.saysTotal ? { total } : {}),
      },
      timing,
    };
  }

  #within({ startDate = -Infinity, endDate = Infinity }: Asked): Played[] {
    const dated = this.records.filter(({ atS }) => atS >= startDate && atS <= endDate);
    return dated.toSorted((a, b) => b.atS - a.atS);
  }

  #shown(params: Asked): readonly Played[] {
    const { offset, limit } = params;
    const records = this.#within(params);
    if (!this.#how.perMarket) return records.slice(offset, offset + limit);
    return [...Map.groupBy(records, ({ market }) => market).values()].flatMap((own) =>
      own.slice(offset, offset + limit),
    );
  }
}

const failed = (name: string): ReadOutcome<never> =>
  ({ kind: 'failed', error: { name }, attempts: 2 }) as unknown as ReadOutcome<never>;

const CALM: How = {
  perMarket: false,
  saysTotal: true,
  mostRecords: Infinity,
  change: () => undefined,
  setsAside: false,
  fails: () => false,
};

const recordsOf = (count: number, { spreadS = 10, markets = 1, named = true } = {}): readonly Played[] =>
  Array.from({ length: count }, (_, index) => ({
    id: named ? `r${index}` : undefined,
    atS: NOW_S - index * spreadS,
    market: `M${index % markets}`,
  }));

const planOf = (
  query: HistoryPlan<Played>['query'],
  changes: Partial<HistoryPlan<Played>> = {},
): HistoryPlan<Played> => ({
  endpoint: { id: 'transfers' } as unknown as HistoryPlan<Played>['endpoint'],
  params: {},
  options: undefined,
  query,
  pageSize: 10,
  maxReach: 10_000,
  readPage: () => ({ ok: false, problems: [] }),
  idOf: ({ id }) => id,
  timeOf: ({ atS }) => atS,
  groupOf: ({ market }) => market,
  ...changes,
});

function listOf(outcome: ReadOutcome<RecordList<Played>>): RecordList<Played> {
  if (outcome.kind !== 'ok') throw new Error('it failed');
  return outcome.value;
}

const ids = ({ records }: RecordList<Played>): readonly (string | undefined)[] => records.map(({ id }) => id);

function historyOf(dice: Dice) {
  const records = recordsOf(dice.of(0, 1, 9, 10, 11, 17, 30, 60), {
    markets: dice.of(1, 1, 3),
    spreadS: dice.of(10, 10, 10, 0),
    named: dice.hits(0.9),
  });
  const query = {
    ...(dice.hits(0.4) ? { since: NOW_S - dice.of(0, 95, 100, 250, 10_000) } : {}),
    ...(dice.hits(0.4) ? { maxRecords: dice.of(1, 10, 15, 60) } : {}),
  };
  const how: How = {
    ...CALM,
    perMarket: dice.hits(0.3),
    saysTotal: dice.hits(0.5),
    mostRecords: dice.of(Infinity, Infinity, 5, 7),
    setsAside: dice.hits(0.1),
  };
  const plan = planOf(query, { pageSize: dice.of(4, 10, 20), maxReach: dice.of(10_000, 10_000, 25) });
  return { records, how, plan };
}

describe('a history that does not change', () => {
  test('is read as far as asked for, each record once; it says when there is more', async () => {
    const dice = new Dice(31);
    for (let run = 0; run < 200; run += 1) {
      const { records, how, plan } = historyOf(dice);
      const exchange = new PlayedExchange(records, { ...how, setsAside: false, mostRecords: Infinity });
      const list = listOf(await readHistory(exchange.caller, plan));
      const { since = -Infinity, maxRecords = Infinity } = plan.query;
      const wanted = records.filter(({ atS }) => atS >= since);
      const most = Math.min(maxRecords, plan.maxReach);
      expect(list.records.length).toBeLessThanOrEqual(most);
      expect(new Set(list.records).size).toBe(list.records.length);
      for (const one of list.records) expect(wanted).toContain(one);
      if (list.complete) {
        expect(list.records.length).toBe(wanted.length);
        expect(list).not.toHaveProperty('cut');
      } else if (!how.perMarket && plan.maxReach > 60) {
        expect(list.cut).toBe('limit');
        expect(ids(list)).toEqual(wanted.slice(0, most).map(({ id }) => id));
      }
      for (const { offset, limit } of exchange.asked) {
        expect(offset + limit).toBeLessThanOrEqual(plan.maxReach);
        expect(limit).toBeGreaterThan(0);
      }
    }
  });
});

describe('a history that changes while it is read', () => {
  test('is complete only if all records that were there from first to last are in it', async () => {
    const dice = new Dice(47);
    let complete = 0;
    for (let run = 0; run < 400; run += 1) {
      const { records, plan } = historyOf(dice);
      const named = records.map(({ atS, market }, index) => ({ id: `r${index}`, atS, market }));
      let come = 0;
      const gone = new Set<string | undefined>();
      const change: How['change'] = (all) => {
        for (let arrives = dice.of(0, 0, 1, 3, 12); arrives > 0; arrives -= 1) {
          come += 1;
          all.push({ id: `new${come}`, atS: NOW_S + come, market: 'M0' });
        }
        for (let goes = dice.of(0, 0, 1, 3, 4, 12); goes > 0; goes -= 1) {
          const [one] = all.splice(Math.floor(dice.next() * all.length), 1);
          gone.add(one?.id);
        }
      };
      const exchange = new PlayedExchange(named, { ...CALM, saysTotal: dice.hits(0.5), change });
      const list = listOf(await readHistory(exchange.caller, plan));
      if (!list.complete) continue;
      complete += 1;
      const { since = -Infinity } = plan.query;
      const stayed = named.filter(({ id, atS }) => !gone.has(id) && atS >= since).map(({ id }) => id);
      expect(ids(list)).toEqual(expect.arrayContaining(stayed));
    }
    expect(complete).toBeGreaterThan(30);
  });

  test('pages that repeat records end, and the list is not complete', async () => {
    const repeating = new PlayedExchange(recordsOf(10), { ...CALM, saysTotal: false });
    const caller = {
      clock: repeating.caller.clock,
      callTimeoutMs: repeating.caller.callTimeoutMs,
      read: async (call: { params: Asked; options: { timeoutMs: number } }) =>
        await (repeating.caller.read as unknown as (one: unknown) => Promise<unknown>)({
          ...call,
          params: { ...call.params, offset: 0 },
        }),
    } as unknown as Caller;
    const list = listOf(await readHistory(caller, planOf({})));
    expect([list.records.length, list.complete, list.cut]).toEqual([10, false, undefined]);
    expect(repeating.asked).toHaveLength(2);
  });
});

describe('replies', () => {
  test('that are too large are asked for in halves, down to five records', async () => {
    const exchange = new PlayedExchange(recordsOf(12), { ...CALM, mostRecords: 5 });
    const list = listOf(await readHistory(exchange.caller, planOf({}, { pageSize: 40 })));
    expect(list.complete).toBe(true);
    expect(exchange.asked.map(({ limit, offset }) => [limit, offset])).toEqual([
      [40, 0],
      [20, 0],
      [10, 0],
      [5, 0],
      [5, 2],
      [5, 4],
      [5, 6],
      [5, 8],
    ]);
    const hopeless = new PlayedExchange(recordsOf(12), { ...CALM, mostRecords: 4 });
    expect(await readHistory(hopeless.caller, planOf({}, { pageSize: 40 }))).toMatchObject({
      kind: 'failed',
      error: { name: 'replyTooLarge' },
      attempts: 2,
    });
  });

  test('one that fails ends it, with the attempts of all before', async () => {
    const exchange = new PlayedExchange(recordsOf(30), { ...CALM, fails: (page) => page === 2 });
    expect(await readHistory(exchange.caller, planOf({}))).toMatchObject({ kind: 'failed', attempts: 4 });
  });

  test('share the time of the call, and are timed together', async () => {
    const exchange = new PlayedExchange(recordsOf(30), CALM);
    const outcome = await readHistory(exchange.caller, planOf({}, { options: { timeoutMs: 120 } }));
    expect(exchange.asked.map(({ timeoutMs }) => timeoutMs)).toEqual([120, 70, 20, 1]);
    expect(outcome).toMatchObject({ timing: { sentAtMs: 1_000, receivedAtMs: 1_200, attempts: 4 } });
    const usual = new PlayedExchange([], CALM);
    await readHistory(usual.caller, planOf({}));
    expect(usual.asked.map(({ timeoutMs }) => timeoutMs)).toEqual([15_000]);
  });

  test('are not asked for beyond the last offset that the exchange takes', async () => {
    const offsets: number[] = [];
    const read = async ({ params }: { readonly params: Asked }): Promise<ReadOutcome<Page<Played>>> => {
      offsets.push(params.offset);
      // Two records stand for each page; the pages overlap.
      const records = ['seen before', `at ${params.offset}`].map((id) => ({ id, atS: NOW_S, market: 'M' }));
      const counts = { received: params.limit, longest: params.limit };
      const value = { records, setAside: [], complete: true, ...counts };
      return {
        kind: 'ok',
        value,
        timing: { sentAtMs: 0, receivedAtMs: 1, attempts: 1 } as unknown as ReplyTiming,
      };
    };
    const caller = { clock: { monotonicMs: () => 0 }, callTimeoutMs: 1, read } as unknown as Caller;
    const list = listOf(await readHistory(caller, planOf({}, { pageSize: 50_003, maxReach: 1e9 })));
    expect(offsets).toEqual([0, 50_000, 100_000]);
    expect(list).toMatchObject({ complete: false, cut: 'limit' });
  });
});

async function lineOf(
  { records, how, plan }: ReturnType<typeof historyOf>,
  isDated: boolean,
): Promise<string> {
  const exchange = new PlayedExchange(
    isDated ? records.map((one) => ({ ...one, atS: NOW_S - (NOW_S - one.atS) * 50_000 })) : records,
    how,
  );
  const outcome = isDated
    ? await readDatedOrders(exchange.caller, plan as unknown as HistoryPlan<SpotOrderRecord>)
    : await readHistory(exchange.caller, plan);
  return JSON.stringify([exchange.asked, outcome]);
}

test.for([1, 2, 3, 4])('two hundred histories by their hash, %i', async (seed) => {
  const dice = new Dice(seed * 1_000);
  const hash = createHash('sha256');
  for (let index = 0; index < 200; index += 1) hash.update(await lineOf(historyOf(dice), index % 2 === 0));
  expect(hash.digest('hex').slice(0, 16)).toMatchSnapshot();
});

describe('orders by their dates', () => {
  const daily = (days: number): readonly Played[] => recordsOf(days, { spreadS: DAY_S });
  const dated = async (exchange: PlayedExchange, query: HistoryPlan<Played>['query']) =>
    listOf(
      (await readDatedOrders(
        exchange.caller,
        planOf(query) as unknown as HistoryPlan<SpotOrderRecord>,
      )) as unknown as ReadOutcome<RecordList<Played>>,
    );

  test('are read a month at a time, back to what is asked for', async () => {
    const exchange = new PlayedExchange(daily(170), CALM);
    const list = await dated(exchange, { since: NOW_S - 100 * DAY_S });
    expect(list).toMatchObject({ complete: true });
    expect(list.records).toHaveLength(101);
    const windows = exchange.asked.map(({ startDate = 0, endDate }) =>
      [startDate, endDate].map((one) => (one === undefined ? undefined : (NOW_S - one) / DAY_S)),
    );
    expect([...new Set(windows.map(String))]).toEqual(['30,', '60,30', '90,60', '100,90']);
  });

  test.each([
    [180, true, undefined],
    [181, false, 'period'],
  ])('%i days back: complete is %s, as the exchange shows half a year', async (days, complete, cut) => {
    const exchange = new PlayedExchange(daily(30), CALM);
    const list = await dated(exchange, { since: NOW_S - days * DAY_S });
    expect([list.complete, list.cut]).toEqual([complete, cut]);
  });

  test('without a time are those of a month, which is not said to be all', async () => {
    const list = await dated(new PlayedExchange(daily(10), CALM), {});
    expect([list.records.length, list.complete, list.cut]).toEqual([10, false, 'period']);
    const cut = await dated(new PlayedExchange(daily(30), CALM), { maxRecords: 5 });
    expect([cut.records.length, cut.complete, cut.cut]).toEqual([5, false, 'limit']);
  });

  test('end with as many as are wanted: there may be more in months that were not read', async () => {
    const exchange = new PlayedExchange(daily(30), CALM);
    const list = await dated(exchange, { since: NOW_S - 100 * DAY_S, maxRecords: 30 });
    expect([list.records.length, list.complete, list.cut]).toEqual([30, false, 'limit']);
    const all = await dated(new PlayedExchange(daily(30), CALM), {
      since: NOW_S - 29 * DAY_S,
      maxRecords: 30,
    });
    expect([all.records.length, all.complete, all.cut]).toEqual([30, true, undefined]);
  });

  test('one month that fails ends it, with the attempts of all before', async () => {
    const exchange = new PlayedExchange(daily(5), { ...CALM, fails: (page) => page === 1 });
    const plan = planOf({ since: NOW_S - 50 * DAY_S }) as unknown as HistoryPlan<SpotOrderRecord>;
    expect(await readDatedOrders(exchange.caller, plan)).toMatchObject({ kind: 'failed', attempts: 3 });
  });
});
