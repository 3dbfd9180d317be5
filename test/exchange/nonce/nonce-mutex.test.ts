import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { NonceStore } from '../../../src/core/ports/nonce-store.ts';
import { BoundedStore } from '../../../src/exchange/bounded-store.ts';
import { CallScope, type ScopeTime } from '../../../src/exchange/call/call-scope.ts';
import { NonceMutex, type NonceTicket } from '../../../src/exchange/nonce/nonce-mutex.ts';
import { createMemoryNonceStore } from '../../../src/state/nonce/nonce-memory.ts';
import { manualClock } from '../../state/support/manual-clock.ts';

/** Two processes that share a key; time passes only when a test says so. */

const KEY = 'key';
const LEASE_MS = 300;

/** Timers on a manual clock. */
function openTime() {
  const clock = manualClock();
  const due = new Set<{ readonly atMs: number; readonly call: () => void }>();
  const time: ScopeTime = {
    clock,
    timers: {
      after: (delayMs, call) => {
        const timer = { atMs: clock.monotonicMs() + delayMs, call };
        due.add(timer);
        return () => due.delete(timer);
      },
      afterTurn: (call) => {
        queueMicrotask(call);
        return () => undefined;
      },
    },
  };
  const pass = async (forMs: number): Promise<void> => {
    const endMs = clock.monotonicMs() + forMs;
    await setImmediate();
    for (;;) {
      const [next] = [...due].filter(({ atMs }) => atMs <= endMs).toSorted((a, b) => a.atMs - b.atMs);
      if (next === undefined) break;
      due.delete(next);
      clock.advance(Math.max(0, next.atMs - clock.monotonicMs()));
      next.call();
      await setImmediate();
    }
    clock.advance(endMs - clock.monotonicMs());
    await setImmediate();
  };
  return { time, pass };
}

interface Asked {
  readonly kind?: 'read' | 'command';
  readonly protective?: boolean;
  readonly signal?: AbortSignal;
}

function openWorld(changed: Partial<NonceStore> = {}) {
  const { time, pass } = openTime();
  const memory = createMemoryNonceStore(time.clock);
  const log: string[] = [];
  const tickets = new Map<string, NonceTicket>();
  const store: NonceStore = {
    reserve: (...args) => memory.reserve(...args),
    reserveWindow: (...args) => memory.reserveWindow(...args),
    enterMutex: (...args) => memory.enterMutex(...args),
    renewMutex: (...args) => memory.renewMutex(...args),
    leaveMutex: (...args) => memory.leaveMutex(...args),
    onMutexSignal: (listener) => memory.onMutexSignal(listener),
    ...changed,
  };
  const process = (owner: string) => {
    const bounded = new BoundedStore(store, { ...time, timeoutMs: 5_000, onChange: () => undefined });
    const mutex = new NonceMutex(time, bounded, {
      key: KEY,
      owner,
      leaseMs: LEASE_MS,
      floor: () => 1,
      nonceOf: (sequence) => String(sequence ?? 'local'),
      signals: store,
    });
    return {
      mutex,
      /** Asks for a nonce under this name; the log has the names in the order in which they got theirs. */
      ask: async (name: string, { kind = 'read', protective = false, signal }: Asked = {}) => {
        const scope = new CallScope(time, {
          startedMs: time.clock.monotonicMs(),
          timeoutMs: 100_000,
          signal,
        });
        const asked = mutex.take({ kind, protective, scope }).then((ticket) => {
          log.push(ticket === undefined ? `${name} gave up` : name);
          if (ticket === undefined) return;
          tickets.set(name, ticket);
          ticket.onPreempt(() => log.push(`${name} makes way`));
        });
        void asked;
        await setImmediate();
      },
    };
  };
  const end = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) {
      tickets.get(name)?.release();
      await pass(0);
    }
  };
  return { one: process('one'), two: process('two'), log, tickets, end, pass, memory };
}

describe('one request at a time', () => {
  test('in the order of asking, urgent ones first', async () => {
    const { one, log, end } = openWorld();
    await one.ask('first', { kind: 'command' });
    for (const [name, protective] of [
      ['a', false],
      ['u', true],
      ['b', false],
      ['v', true],
    ] as const) {
      await one.ask(name, { protective, kind: 'command' });
    }
    await end('first', 'u', 'v', 'a', 'b');
    expect(log).toEqual(['first', 'u', 'v', 'a', 'b']);
  });

  test('each has a larger nonce than the one before', async () => {
    const { one, two, tickets, end, pass } = openWorld();
    await one.ask('a');
    await end('a');
    await two.ask('b');
    await pass(15);
    await end('b');
    await one.ask('c');
    await pass(15);
    const nonces = ['a', 'b', 'c'].map((name) => Number(tickets.get(name)?.nonce));
    expect(nonces).toEqual([1, 2, 3]);
  });

  test('a call that gives up waiting leaves the queue, urgent or not', async () => {
    const { one, log, end } = openWorld();
    const [early, late] = [new AbortController(), new AbortController()];
    await one.ask('first', { kind: 'command' });
    await one.ask('u', { protective: true, signal: early.signal });
    await one.ask('a', { signal: late.signal });
    await one.ask('b');
    early.abort();
    late.abort();
    await one.ask('v', { protective: true });
    await one.ask('w', { protective: true });
    await end('first', 'v', 'w', 'b');
    expect(log).toEqual(['first', 'u gave up', 'a gave up', 'v', 'w', 'b']);
  });

  test('a call that is over gets no nonce', async () => {
    const { one, log } = openWorld();
    await one.ask('late', { signal: AbortSignal.abort() });
    expect(log).toEqual(['late gave up']);
  });
});

describe('a request in flight makes way for an urgent one', () => {
  test.each([
    ['a read', { kind: 'read' }, ['held makes way']],
    ['no command', { kind: 'command' }, []],
    ['no urgent read', { kind: 'read', protective: true }, []],
  ] as const)('%s', async (_what, held, made) => {
    for (const other of ['one', 'two'] as const) {
      const world = openWorld();
      await world.one.ask('held', held);
      await world[other].ask('u', { protective: true });
      await world[other].ask('v', { protective: true });
      await world.pass(0);
      expect(world.log).toEqual(['held', ...made]);
    }
  });

  test('is notified even if it starts listening afterwards', async () => {
    const { one, tickets, log } = openWorld();
    await one.ask('held');
    await one.ask('u', { protective: true });
    tickets.get('held')?.onPreempt(() => log.push('at once'));
    expect(log).toEqual(['held', 'held makes way', 'at once']);
  });

  test('is notified at the next renewal if the signal was lost', async () => {
    const world = openWorld({ onMutexSignal: () => () => undefined });
    await world.one.ask('held');
    await world.two.ask('u', { protective: true });
    await world.pass(LEASE_MS / 3 - 1);
    expect(world.log).toEqual(['held']);
    await world.pass(1);
    expect(world.log).toEqual(['held', 'held makes way']);
  });

  test('of another process: that one gets the mutex before normal requests here, and after urgent ones', async () => {
    for (const [protective, order] of [
      [false, ['u', 'a']],
      [true, ['a', 'u']],
    ] as const) {
      const { one, two, log, end, pass } = openWorld();
      await one.ask('held', { kind: 'command' });
      await two.ask('u', { protective: true });
      await one.ask('a', { protective });
      await end('held');
      await pass(15);
      await end(order[0]);
      await pass(15);
      expect(log).toEqual(['held', ...order]);
    }
  });
});

describe('processes take turns', () => {
  const names = Array.from({ length: 20 }, (_, index) => `a${index}`);

  test.each([
    ['after sixteen requests', 0, 16],
    ['after a tenth of a second', 26, 4],
    ['not before', 25, 5],
  ])('%s', async (_when, tookMs, served) => {
    const { one, two, log, end, pass } = openWorld();
    for (const name of names) await one.ask(name, { kind: 'command' });
    await two.ask('b');
    for (const name of names.slice(0, served)) {
      await pass(tookMs);
      await end(name);
    }
    await pass(0);
    expect(log).toEqual([...names.slice(0, served), 'b']);
  });

  test('a process goes on while nobody else waits', async () => {
    let left = 0;
    const { one, log, end, memory } = openWorld({
      leaveMutex: async (...args) => {
        left += 1;
        await memory.leaveMutex(...args);
      },
    });
    for (const name of names) await one.ask(name);
    await end(...names.slice(0, -1));
    expect(log).toEqual(names);
    expect(left).toBe(0);
    await end('a19');
    expect(left).toBe(1);
  });

  test('a free mutex is signalled to the other process, which else looks again after 15 ms', async () => {
    for (const [isHeard, waitsMs] of [
      [true, 0],
      [false, 15],
    ] as const) {
      const world = openWorld(isHeard ? {} : { onMutexSignal: () => () => undefined });
      await world.one.ask('a');
      await world.two.ask('b');
      await world.end('a');
      await world.pass(Math.max(0, waitsMs - 1));
      expect(world.log.includes('b')).toBe(isHeard);
      await world.pass(1);
      expect(world.log).toEqual(['a', 'b']);
    }
  });

  test('a signal of another key is ignored, and after close no signal arrives', async () => {
    const listeners = new Set<Parameters<NonceStore['onMutexSignal']>[0]>();
    const onMutexSignal: NonceStore['onMutexSignal'] = (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    };
    const { one, log } = openWorld({ onMutexSignal });
    await one.ask('held');
    await one.ask('a');
    expect(listeners.size).toBe(1);
    for (const listener of listeners) listener({ key: 'another', kind: 'urgent' });
    expect(log).toEqual(['held']);
    for (const listener of listeners) listener({ key: KEY, kind: 'urgent' });
    expect(log).toEqual(['held', 'held makes way']);
    one.mutex.close();
    expect(listeners.size).toBe(0);
  });
});

describe('a lease', () => {
  test('is renewed for as long as a request takes', async () => {
    const { one, two, log, tickets, pass } = openWorld();
    await one.ask('long', { kind: 'command' });
    await two.ask('b');
    await pass(4 * LEASE_MS + 50);
    expect(tickets.get('long')?.isCurrent()).toBe(true);
    expect(log).toEqual(['long']);
  });

  test.each(['lost', 'unknown'] as const)(
    'that is %s expires, and a request not sent by then is not sent',
    async (how) => {
      const renewMutex: NonceStore['renewMutex'] =
        how === 'lost' ? async () => 'lost' : () => Promise.reject(new Error('lost'));
      const { one, tickets, pass } = openWorld({ renewMutex });
      await one.ask('long', { kind: 'command' });
      await pass(LEASE_MS - 1);
      expect(tickets.get('long')?.isCurrent()).toBe(true);
      await pass(1);
      expect(tickets.get('long')?.isCurrent()).toBe(false);
    },
  );

  test('of a process that vanished passes to the next', async () => {
    const { one, two, log, memory, pass } = openWorld();
    await memory.enterMutex(KEY, { owner: 'vanished', floor: 1, leaseMs: 100, urgent: false });
    await one.ask('a');
    await two.ask('b');
    await pass(99);
    expect(log).toEqual([]);
    await pass(1);
    expect(log).toHaveLength(1);
  });

  test('is not needed without the store: each process goes on alone', async () => {
    const { one, two, tickets } = openWorld({ enterMutex: () => Promise.reject(new Error('lost')) });
    await one.ask('a');
    await two.ask('b');
    expect(['a', 'b'].map((name) => tickets.get(name)?.nonce)).toEqual(['local', 'local']);
  });
});
