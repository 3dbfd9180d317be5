import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NonceStore } from '../../../src/core/ports/nonce-store.ts';
import { CallScope } from '../../../src/exchange/call/call-scope.ts';
import { createNonceSource } from '../../../src/exchange/nonce/nonce-modes.ts';
import { EventQueue } from '../../../src/world/event-queue.ts';
import { Machine, MachineProcess } from '../../../src/world/machine.ts';

const START_MS = 1_767_225_600_000;
/** The exchange accepts unused milliseconds this far on either side of its time. */
const WINDOW_MS = 5_000;
const ORDINALS = 10;

const lost = (): Promise<never> => Promise.reject(new Error('lost'));
const LOST: NonceStore = {
  reserve: lost,
  reserveWindow: lost,
  enterMutex: lost,
  renewMutex: lost,
  leaveMutex: lost,
  onMutexSignal: () => () => undefined,
};

interface Life {
  readonly requests: number;
  /** Time between two requests. */
  readonly everyMs: number;
  /** One way. */
  readonly latencyMs: number;
  /** Time until the next process runs. */
  readonly restartMs: number;
  /** Step of the host's wall clock before the next process runs. */
  readonly stepMs?: number;
}

interface Sent {
  readonly life: number;
  readonly nonce: number;
  /** By the exchange's clock. */
  readonly arrivedMs: number;
  /** How long the process waited for the nonce. */
  readonly waitedMs: number;
  readonly dated: boolean;
}

/** Processes of one ordinal on one host, one after another, none of which reaches the store. */
async function live(hostSkewMs: number, lives: readonly Life[], ordinal = 1): Promise<readonly Sent[]> {
  const queue = new EventQueue();
  const host = new Machine(queue, START_MS, { skewMs: hostSkewMs });
  const time = new MachineProcess(queue, host);
  const sent: Sent[] = [];
  for (const [life, { requests, everyMs, latencyMs, restartMs, stepMs = 0 }] of lives.entries()) {
    const source = createNonceSource(time, {
      mode: 'window',
      store: LOST,
      key: 'key',
      owner: `life-${life}`,
      start: 0,
      ordinal,
      ordinals: ORDINALS,
      random: () => 0.5,
      storeTimeoutMs: 250,
      leaseMs: 3_000,
      onStoreChange: () => undefined,
    });
    let [open, dated] = [requests, false];
    const request = async (): Promise<void> => {
      const askedMs = queue.nowMs;
      const scope = new CallScope(time, { startedMs: host.monotonicMs(), timeoutMs: 15_000 });
      const ticket = await source.take({ kind: 'read', protective: false, scope });
      scope.end();
      if (ticket === undefined) throw new Error('no nonce within the time of a call');
      const sentMs = host.monotonicMs();
      const arrivedMs = START_MS + queue.nowMs + latencyMs;
      sent.push({
        life,
        nonce: Number(ticket.nonce),
        arrivedMs,
        waitedMs: queue.nowMs - askedMs,
        dated,
      });
      queue.after(2 * latencyMs, () => {
        open -= 1;
        dated = true;
        source.observeDate(Math.floor(arrivedMs / 1_000) * 1_000, sentMs, host.monotonicMs());
      });
    };
    for (let index = 0; index < requests; index++) queue.after(index * everyMs, () => void request());
    // The process is killed as soon as its last reply has come.
    await queue.run(queue.nowMs + 120_000, () => open === 0);
    host.stepWall(stepMs);
    await queue.run(queue.nowMs + restartMs, () => false);
  }
  return sent;
}

function expectOnce(sent: readonly Sent[]): void {
  const nonces = sent.map(({ nonce }) => nonce);
  expect(nonces).toEqual([...new Set(nonces)]);
}

const BUSY: Life = { requests: 60, everyMs: 20, latencyMs: 20, restartMs: 300 };

test('a process restarted without the store uses no nonce of the killed one', async () => {
  expectOnce(await live(0, [BUSY, BUSY, BUSY]));
});

test.each([-3_000, 3_000])(
  'a process restarted without the store uses no nonce of the killed one, on a host %d ms off',
  async (skewMs) => {
    expectOnce(await live(skewMs, [BUSY, BUSY, BUSY]));
  },
);

test.each([-60_000, -3_000, -500, 500])(
  'a process restarted without the store uses no nonce of the killed one, with the clock set by %d ms',
  async (stepMs) => {
    expectOnce(await live(0, [{ ...BUSY, stepMs }, BUSY]));
  },
);

test('the exchange accepts the nonces of restarted processes, which wait for them less than 5 s', () => {
  const life = fc.record({
    requests: fc.integer({ min: 1, max: 30 }),
    everyMs: fc.integer({ min: 20, max: 1_000 }),
    latencyMs: fc.integer({ min: 5, max: 900 }),
    restartMs: fc.integer({ min: 200, max: 5_000 }),
  });
  return fc.assert(
    fc.asyncProperty(
      fc.integer({ min: -3_000, max: 3_000 }),
      fc.array(life, { minLength: 1, maxLength: 4 }),
      fc.nat(ORDINALS - 1),
      async (skewMs, lives, ordinal) => {
        const sent = await live(skewMs, lives, ordinal);
        expectOnce(sent);
        for (const { nonce, arrivedMs, waitedMs, dated } of sent) {
          if (dated) expect(Math.abs(nonce - arrivedMs)).toBeLessThanOrEqual(WINDOW_MS);
          expect(waitedMs).toBeLessThan(5_000);
        }
      },
    ),
    { numRuns: 60 },
  );
});
