import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CallScope } from '../../../src/exchange/call/call-scope.ts';
import { Slots } from '../../../src/exchange/limits/slots.ts';
import { systemClock, systemTimers } from '../../../src/exchange/system-clock.ts';

const SYSTEM_TIME = { clock: systemClock, timers: systemTimers };

test('urgent calls come first, some slots are reserved for them, and an aborted call gets none', async () => {
  const slots = new Slots(2);
  const scope = () => new CallScope(SYSTEM_TIME, { startedMs: systemClock.monotonicMs(), timeoutMs: 60_000 });
  const taken = [slots.take(false, scope()), slots.take(false, scope()), slots.take(true, scope())];
  expect(await Promise.all(taken)).toEqual([true, true, true]);
  const order: string[] = [];
  const giveUp = new AbortController();
  const scopes = [
    new CallScope(SYSTEM_TIME, {
      startedMs: systemClock.monotonicMs(),
      timeoutMs: 60_000,
      signal: giveUp.signal,
    }),
    scope(),
    scope(),
  ];
  const [gone, normal, urgent] = scopes;
  if (gone === undefined || normal === undefined || urgent === undefined) throw new Error('three');
  const waits = [
    slots.take(false, gone).then((taken) => order.push(`gone ${taken}`)),
    slots.take(false, normal).then((taken) => order.push(`normal ${taken}`)),
    slots.take(true, urgent).then((taken) => order.push(`urgent ${taken}`)),
  ];
  giveUp.abort();
  // Three slots are taken: the first one given back goes to the urgent call, two more make room for a normal one.
  for (let release = 0; release < 3; release += 1) {
    slots.release();
    await delay(0);
  }
  await Promise.all(waits);
  expect(order).toEqual(['gone false', 'urgent true', 'normal true']);
  for (const each of scopes) each.end();
});
