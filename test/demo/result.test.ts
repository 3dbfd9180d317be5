import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decimal, formatDecimal } from '../../src/core/quantities/decimal.ts';
import { CHARACTERS, twinOf } from '../../src/demo/accounts.ts';
import {
  type CureAlert,
  creditLineWarningsOf,
  type Evidence,
  failuresOf,
  hindsightOf,
  resultOf,
} from '../../src/demo/result.ts';
import type { LedgerEntry, LedgerKind } from '../../src/simulator/model/ledger-entry.ts';

/** What may have become of one account and its twin. */
interface Fate {
  readonly liquidated?: boolean;
  /** Of 10 that it began with. */
  readonly closed?: number;
  readonly twinCalled?: boolean;
  readonly twinLiquidated?: boolean;
  /** Something was asked of the exchange on behalf of the twin. */
  readonly twinTouched?: boolean;
  /** Of the way to the twin's liquidation; by default as far as its fate says. */
  readonly way?: number;
}

type Fates = Readonly<Record<string, Fate>>;

type Written = Partial<Pick<LedgerEntry, 'atMs' | 'details'>> & { readonly amount?: string };

/** A ledger in order; times are ten times the sequence numbers. */
class Book {
  readonly entries: LedgerEntry[] = [];

  add(kind: LedgerKind, accountId: string, { amount, ...more }: Written = {}): this {
    const seq = this.entries.length + 1;
    const amounts = amount === undefined ? {} : { amount: formatDecimal(decimal(amount)) };
    this.entries.push({ seq, atMs: 10 * seq, kind, accountId, postings: [], ...amounts, ...more });
    return this;
  }
}

function bookOf(fates: Fates): Book {
  const book = new Book();
  for (const [id, fate] of Object.entries(fates)) {
    const twin = twinOf(id);
    book.add('position_seeded', id, { amount: '10' }).add('position_seeded', twin, { amount: '10' });
    if (fate.twinCalled === true) book.add('margin_call', twin);
    if (fate.twinLiquidated === true) book.add('liquidation_started', twin).add('liquidation', twin);
    if (fate.closed !== undefined && fate.closed > 0) book.add('fill', id, { amount: String(fate.closed) });
    if (fate.liquidated === true) {
      book.add('liquidation_started', id).add('liquidation', id, { amount: '1' });
    }
    if (fate.twinTouched === true) book.add('request', twin, { details: { status: 201 } });
  }
  return book;
}

function evidenceOf(book: Book, fates: Fates = {}, more: Partial<Evidence> = {}): Evidence {
  return {
    ledger: book.entries,
    breaches: [],
    speed: 1,
    alerts: 0,
    cureAlerts: [],
    wayToLiquidation: (id) => fates[id]?.way ?? (fates[id]?.twinLiquidated === true ? 1 : 0),
    isReal: false,
    ...more,
  };
}

const failures = (fates: Fates): readonly string[] => failuresOf(evidenceOf(bookOf(fates), fates));

const LOST = /was liquidated although it was protected/;
const NEEDLESS = /was closed in part although its twin never came near a margin call/;
const TOUCHED = /is only observed, and was acted on/;
const UNPROVEN = /the prices sufficed to liquidate a twin, and none was/;

describe('the verdict', () => {
  test.each<[string, Fates, readonly RegExp[]]>([
    ['nothing happened', {}, []],
    ['saved where its twin was not', { 'long-10x': { closed: 5, twinLiquidated: true } }, []],
    ['untouched where its twin was liquidated', { 'long-10x': { twinLiquidated: true } }, []],
    ['lost', { 'long-10x': { liquidated: true, twinLiquidated: true } }, [LOST]],
    ['lost although closed', { 'short-10x': { liquidated: true, closed: 5, twinLiquidated: true } }, [LOST]],
    ['lost where its twin was not', { hedged: { liquidated: true, closed: 5 } }, [LOST, NEEDLESS]],
    ['closed for a twin that was called', { 'short-10x': { closed: 5, twinCalled: true } }, []],
    ['closed for nothing', { 'short-10x': { closed: 0.001 } }, [NEEDLESS]],
    ['closed for nothing, nearly', { 'short-10x': { closed: 5, way: 0.99 } }, [NEEDLESS]],
    ['a leg of a hedge closed for nothing', { hedged: { closed: 5 } }, [NEEDLESS]],
    ['its stop fired where it stands', { 'long-3x': { closed: 10, way: 0.8 } }, []],
    ['its stop fired a hair before', { 'long-3x': { closed: 10, way: 0.77 } }, []],
    ['its stop fired far from where it stands', { 'long-3x': { closed: 10, way: 0.7 } }, [NEEDLESS]],
    ['its stop fired in a rally', { 'long-3x': { closed: 10, way: 0 } }, [NEEDLESS]],
    ['only a standing stop may go by the way', { 'long-10x': { closed: 5, way: 0.9 } }, [NEEDLESS]],
    ['a twin that should have gone did not', { 'long-10x': { way: 1 } }, [UNPROVEN]],
    ['one of several twins suffices', { 'long-10x': { way: 1 }, 'short-10x': { twinLiquidated: true } }, []],
    ['also that of the one for show', { 'long-10x': { way: 1 }, 'long-20x': { twinLiquidated: true } }, []],
    [
      'the one for show may be lost',
      { 'long-20x': { liquidated: true, closed: 1, twinLiquidated: true } },
      [],
    ],
    ['or closed for nothing', { 'long-20x': { closed: 9 } }, []],
    ['but its twin is still a twin', { 'long-20x': { way: 1 } }, [UNPROVEN]],
    ['and must not be touched', { 'long-20x': { twinTouched: true } }, [TOUCHED]],
    ['a twin was touched', { 'long-3x': { twinTouched: true } }, [TOUCHED]],
  ])('%s', (_name, fates, expected) => {
    const found = failures(fates);
    expect(found).toHaveLength(expected.length);
    for (const pattern of expected) expect(found).toContainEqual(expect.stringMatching(pattern));
  });

  describe('with real prices', () => {
    const real = (fates: Fates) => evidenceOf(bookOf(fates), fates, { isReal: true });
    const AGAINST = /was closed in part while the prices moved away from its liquidation/;

    test.each<[string, Fates, readonly RegExp[], readonly string[]]>([
      ['reduced, and needed', { 'long-10x': { closed: 5, twinLiquidated: true } }, [], []],
      ['reduced, and not needed as is known now', { 'long-10x': { closed: 5, way: 0.6 } }, [], ['long-10x']],
      ['reduced in a move away from its end', { 'short-10x': { closed: 5, way: -0.4 } }, [AGAINST], []],
      ['reduced where nothing moved', { 'short-10x': { closed: 5, way: 0.09 } }, [AGAINST], []],
      ['lost', { 'long-10x': { liquidated: true, way: 1, twinLiquidated: true } }, [LOST], []],
      ['the one for show is named as well', { 'long-20x': { closed: 9, way: 0.5 } }, [], ['long-20x']],
    ])('%s', (_name, fates, failing, hindsight) => {
      const found = failuresOf(real(fates));
      expect(found).toHaveLength(failing.length);
      for (const pattern of failing) expect(found).toContainEqual(expect.stringMatching(pattern));
      expect(hindsightOf(real(fates))).toEqual(hindsight);
    });
  });

  const flag = fc.boolean();
  const fate: fc.Arbitrary<Fate> = fc.record({
    liquidated: flag,
    closed: fc.constantFrom(0, 0.5, 10),
    twinCalled: flag,
    twinLiquidated: flag,
    twinTouched: flag,
    way: fc.constantFrom(0, 0.5, 0.9, 1, 1.5),
  });
  const positions = CHARACTERS.filter(({ kind }) => kind !== 'borrower').map(({ id }) => id);
  const fates = fc
    .tuple(...positions.map(() => fate))
    .map((all) => Object.fromEntries(positions.map((id, index) => [id, all[index] as Fate])));

  test('an account fails for what became of itself, whatever became of the others', () => {
    const about = (id: string, found: readonly string[]) =>
      found.filter((text) => text.startsWith(`${id} `) || text.startsWith(`${twinOf(id)} `));
    fc.assert(
      fc.property(fates, (all) => {
        const together = failures(all);
        for (const id of positions) {
          expect(about(id, together)).toEqual(about(id, failures({ [id]: all[id] ?? {} })));
        }
      }),
    );
  });

  test('whoever is required and lost fails the demo, in any company', () => {
    fc.assert(
      fc.property(fates, (all) => {
        const lost = CHARACTERS.filter(({ id, required }) => required && all[id]?.liquidated === true);
        expect(failures(all).filter((text) => LOST.test(text))).toHaveLength(lost.length);
      }),
    );
  });

  test('it fails when a twin had to go and none did, and only then', () => {
    fc.assert(
      fc.property(fates, (all) => {
        const had = Object.values(all).some(({ way = 0 }) => way >= 1);
        const went = Object.values(all).some(({ twinLiquidated }) => twinLiquidated === true);
        expect(failures(all).some((text) => UNPROVEN.test(text))).toBe(had && !went);
      }),
    );
  });
});

describe('the counted result', () => {
  test('has the documented keys, in their order, and nothing else', () => {
    const result = resultOf(evidenceOf(bookOf({})));
    expect(Object.keys(result)).toEqual([
      'liquidations',
      'closedFraction',
      'accounts',
      'actions',
      'breachToOrderMs',
      'alerts',
    ]);
    expect(Object.keys(result.liquidations)).toEqual(['protected', 'unprotected']);
    expect(Object.keys(result.breachToOrderMs)).toEqual(['p50', 'p99']);
    expect(result.accounts.map(({ id }) => id)).toEqual(CHARACTERS.map(({ id }) => id));
    for (const account of result.accounts) {
      expect(Object.keys(account)).toEqual(['id', 'liquidated', 'twinLiquidated', 'closedFraction']);
    }
  });

  test('an account that was liquidated in many parts counts once, the one for show too', () => {
    const book = bookOf({ 'long-20x': { liquidated: true, twinLiquidated: true } })
      .add('liquidation', 'long-20x')
      .add('liquidation', twinOf('long-20x'))
      .add('liquidation_started', twinOf('short-10x'));
    expect(resultOf(evidenceOf(book)).liquidations).toEqual({ protected: 1, unprotected: 2 });
  });

  test('what the exchange liquidates or the twin does is not closed by orders', () => {
    const book = bookOf({ 'long-10x': { liquidated: true, closed: 4 } })
      .add('fill', twinOf('long-10x'), { amount: '3' })
      .add('fill', 'long-10x', { amount: '1' });
    const { accounts, closedFraction } = resultOf(evidenceOf(book));
    expect(accounts.find(({ id }) => id === 'long-10x')).toEqual({
      id: 'long-10x',
      liquidated: true,
      twinLiquidated: false,
      closedFraction: 0.5,
    });
    // Half of one of the five that have positions.
    expect(closedFraction).toBe(0.1);
  });

  test('both legs of a hedge are its size', () => {
    const book = new Book()
      .add('position_seeded', 'hedged', { amount: '5' })
      .add('position_seeded', 'hedged', { amount: '5' })
      .add('fill', 'hedged', { amount: '2.5' });
    const hedged = resultOf(evidenceOf(book)).accounts.find(({ id }) => id === 'hedged');
    expect(hedged?.closedFraction).toBe(0.25);
  });

  test('a credit line is neither saved nor lost', () => {
    const book = new Book()
      .add('loan_margin_call', 'borrower')
      .add('loan_liquidation', 'borrower')
      .add('loan_liquidation', twinOf('borrower'))
      .add('liquidation', 'borrower')
      .add('liquidation', twinOf('borrower'));
    const { accounts, liquidations } = resultOf(evidenceOf(book));
    expect(accounts.at(-1)).toEqual({
      id: 'borrower',
      liquidated: null,
      twinLiquidated: null,
      closedFraction: null,
    });
    expect(liquidations).toEqual({ protected: 0, unprotected: 0 });
  });

  test('actions are requests of protected accounts that were carried out', () => {
    const book = new Book()
      .add('request', 'long-10x', { details: { status: 200 } })
      .add('request', 'short-10x', { details: { status: 201 } })
      .add('request', 'short-10x', { details: { status: 300 } })
      .add('request', 'short-10x', { details: { status: 422 } })
      .add('request', 'short-10x')
      .add('request', twinOf('long-10x'), { details: { status: 200 } })
      .add('order_placed', 'long-10x', { details: { status: 200 } });
    expect(resultOf(evidenceOf(book)).actions).toBe(2);
  });
});

describe('from breach to order', () => {
  /** Orders and breaches of one account at times of their own. */
  function times(
    orders: readonly number[],
    breaches: readonly number[],
    { speed = 1, accountId = 'long-10x' } = {},
  ) {
    const book = new Book();
    for (const atMs of orders) book.add('order_placed', 'long-10x', { atMs });
    const seen = breaches.map((atMs) => ({ accountId, atMs }));
    return resultOf(evidenceOf(book, {}, { breaches: seen, speed })).breachToOrderMs;
  }

  test.each([
    ['the next order counts', [50, 130, 170], [100], { p50: 30, p99: 30 }],
    ['one at the same moment too', [100], [100], { p50: 0, p99: 0 }],
    ['one before does not', [99], [100], { p50: null, p99: null }],
    ['a breach that was over before the order does not count', [300], [100, 200], { p50: 100, p99: 100 }],
    ['without breaches there is nothing to say', [100], [], { p50: null, p99: null }],
  ])('%s', (_name, orders, breaches, expected) => {
    expect(times(orders, breaches)).toEqual(expected);
  });

  test('an order of somebody else does not count', () => {
    expect(times([130], [100], { accountId: 'short-10x' }).p50).toBeNull();
  });

  test('it is told in real time', () => {
    expect(times([150], [100], { speed: 20 })).toEqual({ p50: 2.5, p99: 2.5 });
  });

  test('of two hundred, p50 is the hundredth and p99 the hundred and ninety-eighth', () => {
    const delays = Array.from({ length: 200 }, (_, index) => ((index * 77) % 200) + 1);
    const breaches = delays.map((_, index) => index * 1_000);
    const orders = delays.map((delayMs, index) => index * 1_000 + delayMs);
    expect(times(orders, breaches)).toEqual({ p50: 100, p99: 198 });
  });

  test('percentiles are times that were seen: at least so large a share is not longer', () => {
    const delays = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 250 });
    fc.assert(
      fc.property(delays, (list) => {
        const breaches = list.map((_, index) => index * 10_000);
        const orders = list.map((delayMs, index) => index * 10_000 + delayMs);
        const { p50, p99 } = times(orders, breaches);
        for (const [value, share] of [
          [p50, 0.5],
          [p99, 0.99],
        ] as const) {
          expect(list).toContain(value);
          const within = list.filter((delayMs) => delayMs <= (value ?? 0)).length / list.length;
          const below = list.filter((delayMs) => delayMs < (value ?? 0)).length / list.length;
          expect(within).toBeGreaterThanOrEqual(share);
          expect(below).toBeLessThan(share);
        }
      }),
    );
  });
});

describe("the borrower's warning", () => {
  const alertAfter = (afterSeq: number, accountId = 'borrower'): CureAlert => ({
    accountId,
    atMs: 10 * afterSeq + 5,
    afterSeq,
  });
  /** The margin call is entry 3, the liquidation entry 5. */
  const called = new Book()
    .add('loan_opened', 'borrower')
    .add('loan_margin_call', twinOf('borrower'))
    .add('loan_margin_call', 'borrower')
    .add('loan_margin_call_cleared', 'borrower')
    .add('loan_liquidation', 'borrower');
  const neverCalled = new Book().add('loan_opened', 'borrower');
  const soldAtOnce = new Book().add('loan_opened', 'borrower').add('loan_liquidation', 'borrower');
  const UNTOLD = /had the margin call of its credit line before it was told what would cure it/;

  test.each<[string, Book, readonly CureAlert[], boolean]>([
    ['told before', called, [alertAfter(2)], true],
    ['told at the last moment', called, [alertAfter(2), alertAfter(4)], true],
    ['told after', called, [alertAfter(3)], false],
    ['told when all is over', called, [alertAfter(5)], false],
    ['never told', called, [], false],
    ['somebody else was told', called, [alertAfter(0, twinOf('borrower'))], false],
    ['sold without a call, told before', soldAtOnce, [alertAfter(1)], true],
    ['sold without a call, never told', soldAtOnce, [], false],
    ['never called, told', neverCalled, [alertAfter(1)], true],
    ['never called, never told', neverCalled, [], true],
  ])('%s', (_name, book, cureAlerts, inTime) => {
    const evidence = evidenceOf(book, {}, { cureAlerts });
    expect(creditLineWarningsOf(evidence)).toMatchObject([{ id: 'borrower', inTime }]);
    expect(failuresOf(evidence)).toEqual(inTime ? [] : [expect.stringMatching(UNTOLD)]);
  });

  test('says when it came, and when the call', () => {
    expect(creditLineWarningsOf(evidenceOf(called, {}, { cureAlerts: [alertAfter(1)] }))).toEqual([
      { id: 'borrower', calledAtMs: 30, toldAtMs: 15, inTime: true },
    ]);
    expect(creditLineWarningsOf(evidenceOf(neverCalled))).toEqual([
      { id: 'borrower', calledAtMs: null, toldAtMs: null, inTime: true },
    ]);
  });
});
