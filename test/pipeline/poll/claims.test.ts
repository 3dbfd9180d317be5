import { expect, test } from 'vitest';
import { HeldClaims } from '../../../src/pipeline/poll/poll-account.ts';

type Context = ConstructorParameters<typeof HeldClaims>[0];

/** Timers that fire when the test says so. */
function open(holdClaims?: () => Promise<void>) {
  const timers = new Map<number, { readonly delayMs: number; readonly call: () => void }>();
  const held: (readonly string[])[] = [];
  let next = 0;
  const context = {
    settings: { claimMs: 1_500 },
    timers: {
      after(delayMs: number, call: () => void) {
        const id = next++;
        timers.set(id, { delayMs, call });
        return () => void timers.delete(id);
      },
    },
    store: {
      async holdClaims(_bucket: number, accountIds: readonly string[]) {
        held.push(accountIds);
        await holdClaims?.();
      },
    },
  } as unknown as Context;
  const goOff = () => {
    const due = Array.from(timers.values());
    timers.clear();
    for (const { call } of due) call();
  };
  return { claims: new HeldClaims(context, 7), held, timers, goOff };
}

test('claims of accounts still being read are renewed well before they end', async () => {
  const { claims, held, timers, goOff } = open();
  const slow = Promise.withResolvers<string>();
  const quick = Promise.withResolvers<string>();
  const both = Promise.all([
    claims.during('slow', () => slow.promise),
    claims.during('quick', () => quick.promise),
  ]);
  expect([...timers.values()].map(({ delayMs }) => delayMs)).toEqual([500]);
  goOff();
  expect(held).toEqual([['slow', 'quick']]);
  quick.resolve('b');
  await Promise.resolve().then(() => undefined);
  await new Promise(setImmediate);
  goOff();
  expect(held.at(-1)).toEqual(['slow']);
  slow.resolve('a');
  expect(await both).toEqual(['a', 'b']);
  expect(timers.size).toBe(0);
});

test('a quick read renews nothing, and a failed one ends its renewals', async () => {
  const { claims, held, timers } = open();
  await claims.during('one', async () => undefined);
  await expect(claims.during('one', () => Promise.reject(new Error('on purpose')))).rejects.toThrow(
    'on purpose',
  );
  expect(held).toEqual([]);
  expect(timers.size).toBe(0);
});

test('a lost store ends neither the read nor the renewals', async () => {
  const { claims, held, goOff } = open(() => Promise.reject(new Error('lost')));
  const work = Promise.withResolvers<number>();
  const done = claims.during('one', () => work.promise);
  goOff();
  goOff();
  expect(held).toHaveLength(2);
  work.resolve(1);
  expect(await done).toBe(1);
});
