import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Heap } from '../../../src/simulator/model/heap.ts';
import { BOOKS, Ledger, transfer } from '../../../src/simulator/model/ledger.ts';
import { d, text } from './helpers.ts';

describe('ledger', () => {
  it('refuses an entry whose legs do not sum to zero in every asset, and keeps no part of it', () => {
    const ledger = new Ledger();
    const legs = [
      ...transfer('a', 'b', 'USDT', d('1')),
      { book: 'a', asset: 'BTC', amount: d('0.00000001') },
    ];
    expect(() => ledger.append(0, 'fill', { accountId: null }, legs)).toThrow(
      /BTC is off balance by 0.00000001/,
    );
    expect(ledger.entries()).toEqual([]);
    expect(text(ledger.balance('b', 'USDT'))).toBe('0');
  });

  it('keeps the newest entries in bounded memory, reports dropped ones, and forgets no balance', () => {
    const ledger = new Ledger(10);
    for (let index = 1; index <= 95; index += 1)
      ledger.append(index, 'deposit', { accountId: 'a' }, transfer(BOOKS.outside, 'main:a', 'USDT', d('1')));
    const seqs = ledger.entries().map(({ seq }) => seq);
    expect(seqs.length).toBeGreaterThanOrEqual(10);
    expect(seqs.length).toBeLessThan(20);
    expect(seqs).toEqual(Array.from(seqs, (_, index) => 96 - seqs.length + index));
    expect(ledger.totals).toEqual({ total: 95, dropped: 95 - seqs.length });
    expect(ledger.entries({ afterSeq: 93 }).map(({ seq }) => seq)).toEqual([94, 95]);
    expect(ledger.entries({ afterSeq: 3, limit: 1 }).map(({ seq }) => seq)).toEqual([seqs[0]]);
    expect(ledger.balance('main:a', 'USDT').toFixed()).toBe('95');
  });

  it('sums the legs of one book, drops those that cancel out, and numbers entries without a gap', () => {
    const ledger = new Ledger();
    ledger.append(5, 'deposit', { accountId: 'a' }, transfer('outside', 'main:a', 'USDT', d('2.50')));
    const legs = [...transfer('main:a', 'x', 'USDT', d('1')), ...transfer('x', 'main:a', 'USDT', d('1'))];
    expect(ledger.append(6, 'internal_transfer', { accountId: 'b' }, legs).postings).toEqual([]);
    expect(text(ledger.balance('main:a', 'USDT'))).toBe('2.5');
    expect(ledger.entries().map((entry) => entry.seq)).toEqual([1, 2]);
    expect(ledger.entries({ afterSeq: 1 }).map((entry) => entry.seq)).toEqual([2]);
    expect(ledger.entries({ accountId: 'a' }).map((entry) => entry.seq)).toEqual([1]);
    expect(ledger.entries({ kinds: ['fill'] })).toEqual([]);
    expect(ledger.entries({ limit: 1 })).toHaveLength(1);
  });
});

describe('heap', () => {
  it('returns its items in order, also after some were dropped', () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 5 }), (numbers, divisor) => {
        const heap = new Heap<number>((a, b) => a < b);
        for (const number of numbers) heap.push(number);
        heap.retain((number) => number % divisor === 0);
        const drained: number[] = [];
        for (let top = heap.pop(); top !== undefined; top = heap.pop()) drained.push(top);
        expect(drained).toEqual(numbers.filter((n) => n % divisor === 0).sort((a, b) => a - b));
      }),
      { seed: 4 },
    );
  });
});
