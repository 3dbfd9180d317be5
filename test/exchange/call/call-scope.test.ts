import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { CallScope, type ScopeTime } from '../../../src/exchange/call/call-scope.ts';
import { EventQueue } from '../../../src/world/event-queue.ts';
import { Machine, MachineProcess } from '../../../src/world/machine.ts';

/** A scope of one second in virtual time, with its running timers and a log. */
function opened(timeoutMs = 1_000, given = new AbortController()) {
  const queue = new EventQueue();
  const process = new MachineProcess(queue, new Machine(queue, 0));
  const running = new Set<() => void>();
  const time: ScopeTime = {
    clock: process.clock,
    timers: {
      ...process.timers,
      after: (delayMs, call) => {
        const stop = process.timers.after(delayMs, () => {
          running.delete(callOff);
          call();
        });
        const callOff = (): void => {
          running.delete(callOff);
          stop();
        };
        running.add(callOff);
        return callOff;
      },
    },
  };
  const { signal } = given;
  const scope = new CallScope(time, { startedMs: process.clock.monotonicMs(), timeoutMs, signal });
  const log: string[] = [];
  const say = (words: string): void => void log.push(`${queue.nowMs} ${words}`);
  const told = (promise: Promise<unknown>): void =>
    void promise.then(
      (value) => say(`came to ${String(value)}`),
      (error: Error) => say(`failed: ${error.message}`),
    );
  const pass = (ms: number): Promise<boolean> => queue.run(queue.nowMs + ms, () => false);
  const listeners = (): number => getEventListeners(signal, 'abort').length;
  return { queue, scope, log, say, told, pass, listeners, running, abort: () => given.abort() };
}

describe('the time of a call', () => {
  test('runs out once and is never negative; the first cause of its end counts', async () => {
    const { scope, pass, abort } = opened();
    await pass(999);
    expect([scope.remainingMs(), scope.isOver(), scope.cancelled]).toEqual([1, false, undefined]);
    await pass(2);
    expect([scope.remainingMs(), scope.isOver()]).toEqual([0, true]);
    abort();
    expect(scope.cancelled).toBe('timeout');
    const given = opened();
    given.abort();
    await given.pass(2_000);
    expect([given.scope.isOver(), given.scope.cancelled]).toEqual([true, 'aborted']);
  });

  test('is over from the start if the signal was aborted before', () => {
    const given = new AbortController();
    given.abort();
    const { scope, listeners } = opened(1_000, given);
    expect([scope.isOver(), scope.cancelled, listeners()]).toEqual([true, 'aborted', 0]);
  });
});

describe('a pause', () => {
  test('ends in its time or with the call, and leaves no timer behind', async () => {
    const { scope, told, pass, log, running } = opened();
    told(scope.sleep(300));
    await pass(300);
    told(scope.sleep(5_000));
    await pass(5_000);
    expect(log).toEqual(['300 came to undefined', '1000 came to undefined']);
    expect(running.size).toBe(0);
  });

  test('ends at once when the call is given up; a later pause ends at once, too', async () => {
    const { queue, scope, told, pass, log, running, abort } = opened();
    queue.after(100, abort);
    told(scope.sleep(300));
    await pass(100);
    expect(running.size).toBe(0);
    told(scope.sleep(300));
    expect(running.size).toBe(0);
    await pass(0);
    expect(log).toEqual(['100 came to undefined', '100 came to undefined']);
  });
});

describe('a promise waited for within a call', () => {
  test('resolves, rejects, or resolves to undefined when the time is over or the call is given up', async () => {
    const cases = [opened(), opened(), opened(), opened()] as const;
    const [comes, fails, late, given] = cases;
    const after = <T>({ queue }: (typeof cases)[number], ms: number, value: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        queue.after(ms, () => {
          try {
            resolve(value());
          } catch (error) {
            reject(error);
          }
        });
      });
    const fail = (): never => {
      throw new Error('lost');
    };
    comes.told(comes.scope.within(after(comes, 40, () => 7)));
    fails.told(fails.scope.within(after(fails, 40, fail)));
    late.told(late.scope.within(after(late, 4_000, () => 7)));
    given.told(given.scope.within(after(given, 400, () => 7)));
    given.queue.after(20, given.abort);
    for (const { pass } of cases) await pass(5_000);
    expect(cases.map(({ log }) => log)).toEqual([
      ['40 came to 7'],
      ['40 failed: lost'],
      ['1000 came to undefined'],
      ['20 came to undefined'],
    ]);
    expect(late.scope.cancelled).toBe('timeout');
  });

  test('notifies only the last listener, once, and not one that has been removed', async () => {
    const { queue, scope, pass, log, say, abort } = opened();
    scope.onCancel(() => say('first'));
    scope.onCancel(() => say('second'));
    queue.after(10, abort);
    await pass(5_000);
    expect(log).toEqual(['10 second']);
    const other = opened();
    other.scope.onAbort(() => other.say('first'));
    other.scope.onAbort(undefined);
    other.abort();
    const third = opened();
    third.scope.onAbort(() => third.say('gives up'));
    await third.pass(5_000);
    expect([other.log, third.log]).toEqual([[], []]);
  });
});

test('an ended call keeps no timer and no listener, and notifies nobody afterwards', async () => {
  const { scope, pass, log, say, listeners, running, abort } = opened();
  expect(listeners()).toBe(1);
  scope.onCancel(undefined);
  expect(running.size).toBe(0);
  scope.onCancel(() => say('too late'));
  expect(running.size).toBe(1);
  scope.end();
  expect([running.size, listeners()]).toEqual([0, 0]);
  abort();
  await pass(5_000);
  expect(log).toEqual([]);
  const unbound = opened();
  const without = new CallScope({ clock: { monotonicMs: () => 0 } } as ScopeTime, {
    startedMs: 0,
    timeoutMs: 5,
  });
  without.end();
  expect([without.isOver(), unbound.scope.isOver()]).toEqual([false, false]);
});
