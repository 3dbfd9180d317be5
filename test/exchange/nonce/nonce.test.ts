import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CallScope } from '../../../src/exchange/call/call-scope.ts';
import { createNonceSource } from '../../../src/exchange/nonce/nonce-modes.ts';
import { systemClock, systemTimers } from '../../../src/exchange/system-clock.ts';
import { createMemoryNonceStore } from '../../../src/state/nonce/nonce-memory.ts';
import { manualClock } from '../../state/support/manual-clock.ts';

const SYSTEM_TIME = { clock: systemClock, timers: systemTimers };

describe('nonces of a sequence', () => {
  test('are plain whole numbers, each larger than the one before, from any start', () => {
    const timeMs = fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 1.7e12, max: 1.9e12 }));
    return fc.assert(
      fc.asyncProperty(
        timeMs,
        fc.nat(49),
        fc.array(fc.nat(1_500), { maxLength: 30 }),
        async (startMs, ordinal, pauses) => {
          const clock = { ...manualClock(), nowMs: () => startMs + clock.monotonicMs() - 1_000 };
          const source = createNonceSource(
            { clock, timers: systemTimers },
            {
              mode: 'unique',
              store: createMemoryNonceStore(clock),
              key: 'key',
              owner: 'test',
              start: 0,
              ordinal,
              ordinals: 50,
              random: () => 0.5,
              storeTimeoutMs: 1_000,
              leaseMs: 3_000,
              onStoreChange: () => undefined,
            },
          );
          let last = -1;
          const scope = new CallScope(SYSTEM_TIME, {
            startedMs: systemClock.monotonicMs(),
            timeoutMs: 60_000,
          });
          for (const pauseMs of pauses) {
            clock.advance(pauseMs);
            const nonce = (await source.take({ kind: 'read', protective: false, scope }))?.nonce;
            expect(nonce).toBe(String(Number(nonce)));
            expect(Number(nonce) % 100).toBe(ordinal);
            expect(Number(nonce)).toBeGreaterThan(last);
            last = Number(nonce);
          }
          scope.end();
        },
      ),
    );
  });
});
