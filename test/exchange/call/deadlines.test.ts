import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Deadline, Deadlines } from '../../../src/exchange/call/deadlines.ts';

describe('deadlines of requests in flight', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('each expires once, in time and in order, unless it was removed', () => {
    const step = fc.record({
      inMs: fc.integer({ min: 1, max: 60 }),
      removes: fc.option(fc.nat(40), { nil: undefined }),
      passMs: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const deadlines = new Deadlines(() => Date.now());
        const expired: { entry: number; atMs: number }[] = [];
        const entries: { deadline: Deadline; dueAtMs: number; isRemoved: boolean }[] = [];
        for (const { inMs, removes, passMs } of steps) {
          const index = entries.length;
          const deadline = new Deadline(() => expired.push({ entry: index, atMs: Date.now() }));
          entries.push({ deadline, dueAtMs: Date.now() + inMs, isRemoved: false });
          deadlines.add(deadline, inMs);
          const taken = removes === undefined ? undefined : entries[removes];
          if (taken !== undefined) {
            taken.isRemoved ||= taken.dueAtMs > Date.now();
            deadlines.remove(taken.deadline);
          }
          vi.advanceTimersByTime(passMs);
        }
        vi.advanceTimersByTime(100);
        const due = entries.flatMap(({ dueAtMs, isRemoved }, entry) =>
          isRemoved ? [] : [{ entry, atMs: dueAtMs }],
        );
        expect(expired).toEqual(due.toSorted((a, b) => a.atMs - b.atMs || a.entry - b.entry));
        expect(vi.getTimerCount()).toBe(0);
      }),
    );
  });

  test('a deadline that throws does not keep others from expiring', () => {
    const deadlines = new Deadlines(() => Date.now());
    const rung: string[] = [];
    const broken = new Deadline(() => {
      throw new Error('a defect');
    });
    deadlines.add(broken, 10);
    deadlines.add(new Deadline(() => rung.push('at the same time')), 10);
    deadlines.add(new Deadline(() => rung.push('later')), 20);
    expect(() => vi.advanceTimersByTime(10)).toThrow('a defect');
    vi.advanceTimersByTime(20);
    expect(rung).toEqual(['at the same time', 'later']);
  });

  test('a time that is no number is refused and blocks no other', () => {
    const deadlines = new Deadlines(() => Date.now());
    let rung = 0;
    expect(() => deadlines.add(new Deadline(() => (rung += 1)), Number.NaN)).toThrow(RangeError);
    deadlines.add(new Deadline(() => (rung += 1)), 10);
    vi.advanceTimersByTime(10);
    expect(rung).toBe(1);
  });

  test('without deadlines no timer keeps the process alive', () => {
    vi.useRealTimers();
    const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const deadlines = new Deadlines();
    const count = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length - before;
    const [first, second] = [new Deadline(() => undefined), new Deadline(() => undefined)];
    deadlines.add(first, 60_000);
    expect(count()).toBe(1);
    deadlines.remove(first);
    expect(count()).toBe(0);
    deadlines.add(second, 60_000);
    expect(count()).toBe(1);
    deadlines.remove(second);
    deadlines.remove(second);
    expect(count()).toBe(0);
  });
});
