import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { ChannelReport, Message, ReceiptStore } from '../../src/core/ports/delivery.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import type { Channel, DeliveryAttempt, Outgoing } from '../../src/notify/channel.ts';
import { openChannels } from '../../src/notify/channels.ts';
import { createDeliverer } from '../../src/notify/deliverer.ts';
import { createPace } from '../../src/notify/pace.ts';
import type { OpenChannel } from '../../src/notify/thread.ts';
import { createMemoryReceiptStore } from '../../src/state/receipts/receipts-memory.ts';
import { AT, message, type Receiver, startReceiver } from './receiver.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function receiver(): Promise<Receiver> {
  const started = await startReceiver();
  closers.push(() => started.close());
  return started;
}

interface Setup {
  readonly receivers?: Readonly<Record<string, Receiver>>;
  readonly receipts?: ReceiptStore;
  readonly timeoutMs?: number;
  readonly giveUpAfterMs?: number;
  /** Waits take their real time only up to this. */
  readonly hurryMs?: number;
  readonly instance?: string;
  readonly groupWaitMs?: number;
}

/** Webhooks by name, then the log; retries wait only shortly. */
function setUp({
  receivers = {},
  receipts,
  timeoutMs = 60_000,
  giveUpAfterMs = 60_000,
  hurryMs = 5,
  instance = 'i',
  groupWaitMs = 0,
}: Setup) {
  const logged: { text: string; insteadOf: readonly string[] }[] = [];
  const reports: ChannelReport[] = [];
  const waits: number[] = [];
  // Skipped time counts.
  let skippedMs = 0;
  const clock = {
    nowMs: () => AT,
    monotonicMs: () => systemClock.monotonicMs() + skippedMs,
    sleep: async (ms: number, signal?: AbortSignal) => {
      await systemClock.sleep(Math.min(ms, hurryMs), signal);
      skippedMs += Math.max(0, ms - hurryMs);
    },
  };
  const opened = openChannels(
    Object.entries(receivers).map(([name, { url }]) => ({
      name,
      type: 'webhook' as const,
      url,
      timeoutMs,
      giveUpAfterMs,
    })),
    { clock, links: [], log: (line) => logged.push(line) },
  );
  const deliverer = createDeliverer({
    opened,
    clock,
    random: () => 0.5,
    instance,
    groupWaitMs,
    receipts: receipts ?? createMemoryReceiptStore(clock),
    observer: {
      onDelivery: (_message, report) => {
        reports.push(report);
        throw new Error('an observer that fails changes nothing');
      },
      onRetry: (_message, _channel, _reason, inMs) => waits.push(inMs),
    },
  });
  closers.push(() => deliverer.close());
  return { deliverer, logged, reports, waits, clock };
}

function outcomes({ channels }: { readonly channels: readonly ChannelReport[] }): Record<string, string> {
  return Object.fromEntries(
    channels.map(({ channel, delivery }) => [
      channel,
      delivery.kind === 'failed' ? delivery.reason : delivery.kind,
    ]),
  );
}

const kinds = (one: Receiver): unknown[] => one.received.map(({ json }) => json['kind']);

describe('a notice', () => {
  test('without channels goes to all, one with channels to those', async () => {
    const [a, b] = [await receiver(), await receiver()];
    const { deliverer, logged, reports } = setUp({ receivers: { a, b } });
    const report = await deliverer.deliver(message());
    expect(outcomes(report)).toEqual({ a: 'delivered', b: 'delivered', log: 'delivered' });
    expect(report.reached).toBe(true);
    expect(reports).toHaveLength(3);
    await deliverer.deliver(message({ id: 'id-2', key: 'other', channels: ['b', 'b'] }));
    expect([a.received.length, b.received.length, logged.length]).toEqual([1, 2, 1]);
    expect(logged[0]?.text).toContain('CRITICAL firing: near-liquidation');
  });

  test('is delivered once: on repetition, at the same time, and after a restart', async () => {
    const a = await receiver();
    const receipts = createMemoryReceiptStore(systemClock);
    const one = setUp({ receivers: { a }, receipts, instance: 'one' });
    const two = setUp({ receivers: { a }, receipts, instance: 'two' });
    const both = await Promise.all(
      [one, two, one, two].map(({ deliverer }) => deliverer.deliver(message({ channels: ['a'] }))),
    );
    expect(both.map((report) => outcomes(report)['a'] ?? '').toSorted((x, y) => x.localeCompare(y))).toEqual([
      'delivered',
      'duplicate',
      'duplicate',
      'duplicate',
    ]);
    const restarted = setUp({ receivers: { a }, receipts, instance: 'three' });
    const again = await restarted.deliverer.deliver(message({ channels: ['a'] }));
    expect([outcomes(again), again.reached, a.received.length]).toEqual([{ a: 'duplicate' }, true, 1]);
  });

  test('is retried with growing, jittered waits until it is accepted', async () => {
    const a = await receiver();
    a.answer({ status: 503 }, 'reset', { status: 502 }, { status: 200 });
    const { deliverer, waits, reports } = setUp({ receivers: { a } });
    const report = await deliverer.deliver(message({ channels: ['a'] }));
    expect(report.channels[0]?.delivery).toMatchObject({ kind: 'delivered', attempts: 4 });
    expect(waits).toEqual([750, 1500, 3000]);
    expect(new Set(a.received.map(({ headers }) => headers['breakwater-delivery'])).size).toBe(1);
    expect(reports).toHaveLength(1);
  });

  test('is retried when the receiver does not answer', async () => {
    const a = await receiver();
    a.answer('silent', {});
    const { deliverer } = setUp({ receivers: { a }, timeoutMs: 300 });
    const { channels } = await deliverer.deliver(message({ channels: ['a'] }));
    const [attempt] = channels.map(({ delivery }) => delivery);
    expect(attempt).toMatchObject({ kind: 'delivered', attempts: expect.any(Number) });
    expect(attempt?.kind === 'delivered' && attempt.attempts).toBeGreaterThan(1);
  });

  test('that is refused for good is not retried, and goes to the next channel with the reason', async () => {
    const [a, b, c] = [await receiver(), await receiver(), await receiver()];
    b.answer({ status: 404 });
    const { deliverer, reports } = setUp({ receivers: { a, b, c } });
    const report = await deliverer.deliver(message({ channels: ['b'] }));
    expect(outcomes(report)).toEqual({ b: 'notFound', c: 'delivered' });
    expect([a.received.length, b.received.length, c.received.length]).toEqual([0, 1, 1]);
    expect(c.received[0]?.json).toMatchObject({ insteadOf: ['b'], kind: 'firing' });
    expect(c.received[0]?.json['text']).toContain('the channel b could not be reached (HTTP 404)');
    expect(reports.map(({ channel, insteadOf }) => [channel, insteadOf])).toEqual([
      ['b', []],
      ['c', ['b']],
    ]);
  });

  test('goes from one failing channel to the next, around, and ends in the log', async () => {
    const [a, b, c] = [await receiver(), await receiver(), await receiver()];
    for (const one of [a, b, c]) one.answer({ status: 401 });
    const { deliverer, logged } = setUp({ receivers: { a, b, c } });
    const report = await deliverer.deliver(message({ channels: ['b'] }));
    expect(outcomes(report)).toEqual({
      a: 'unauthorized',
      b: 'unauthorized',
      c: 'unauthorized',
      log: 'delivered',
    });
    expect(report.channels.map(({ channel }) => channel)).toEqual(['b', 'c', 'a', 'log']);
    expect([report.reached, logged[0]?.insteadOf]).toEqual([false, ['b', 'c', 'a']]);
  });

  test('for a channel that is no longer configured goes to one that is', async () => {
    const a = await receiver();
    const { deliverer } = setUp({ receivers: { a } });
    const report = await deliverer.deliver(message({ channels: ['gone'] }));
    expect(outcomes(report)).toEqual({ gone: 'noSuchChannel', a: 'delivered' });
    expect(a.received[0]?.json['insteadOf']).toEqual(['gone']);
  });

  test('is given up within its bound, and working channels do not wait for that', async () => {
    const [a, b] = [await receiver(), await receiver()];
    a.answer({ status: 503 });
    const { deliverer, clock } = setUp({ receivers: { a, b }, giveUpAfterMs: 10_000 });
    const started = clock.monotonicMs();
    const report = await deliverer.deliver(message({ channels: ['a'] }));
    expect(outcomes(report)).toEqual({ a: 'unavailable', b: 'delivered' });
    expect(clock.monotonicMs() - started).toBeLessThan(11_000);
    expect(a.received.length).toBeGreaterThan(2);
    const again = await deliverer.deliver(message({ channels: ['a'] }));
    expect(outcomes(again)).toEqual({ a: 'unavailable', b: 'duplicate' });
  });

  test('waits as long as the receiver asks, and so do others of the channel', async () => {
    const a = await receiver();
    a.answer({ status: 429, headers: { 'retry-after': '20' } }, {});
    const { deliverer, waits, clock } = setUp({ receivers: { a } });
    const started = clock.monotonicMs();
    const first = deliverer.deliver(message({ channels: ['a'] }));
    while (waits.length === 0) await delay(1);
    const second = deliverer.deliver(message({ id: 'id-2', key: 'other', channels: ['a'] }));
    const both = [first, second].map(async (delivering) => {
      expect(outcomes(await delivering)).toEqual({ a: 'delivered' });
      return clock.monotonicMs() - started;
    });
    for (const tookMs of await Promise.all(both)) expect(tookMs).toBeGreaterThanOrEqual(20_000);
    expect(waits).toEqual([20_000]);
    expect(a.received).toHaveLength(3);
  });

  test('does not wait for longer than its bound: others are told at once', async () => {
    const [a, b] = [await receiver(), await receiver()];
    a.answer({ status: 429, headers: { 'retry-after': '600' } });
    const { deliverer, waits } = setUp({ receivers: { a, b } });
    const report = await deliverer.deliver(message({ channels: ['a'] }));
    expect([outcomes(report), waits]).toEqual([{ a: 'rateLimited', b: 'delivered' }, []]);
  });
});

test('a receiver that asks for thirty years of patience silences nobody', async () => {
  const [a, b] = [await receiver(), await receiver()];
  a.answer({ status: 429, headers: { 'retry-after': '1000000000' } }, {});
  const { deliverer, clock } = setUp({ receivers: { a, b } });
  const tell = (id: string) => deliverer.deliver(message({ id, key: id, channels: ['a'] }));
  expect(outcomes(await tell('one'))).toEqual({ a: 'rateLimited', b: 'delivered' });
  // While the receiver wants to be left alone, its stand-in gets the notice at once.
  const startedMs = clock.monotonicMs();
  expect(outcomes(await tell('two'))).toEqual({ a: 'backlog', b: 'delivered' });
  expect(clock.monotonicMs() - startedMs).toBeLessThan(30_000);
  await clock.sleep(300_000);
  expect(outcomes(await tell('three'))).toEqual({ a: 'delivered' });
});

describe('the order within an episode', () => {
  const resolved = message({ id: 'id-9', kind: 'resolved', atMs: AT + 5000, channels: ['a'] });
  const firing = message({ channels: ['a'] });

  test('a firing notice is never delivered after its resolved one', async () => {
    const a = await receiver();
    const { deliverer } = setUp({ receivers: { a } });
    await deliverer.deliver(resolved);
    expect(outcomes(await deliverer.deliver(firing))).toEqual({ a: 'superseded' });
    expect(kinds(a)).toEqual(['resolved']);
    expect(a.received[0]?.json['text']).toContain('It began at 2026-01-31 12:29:40 UTC');
  });

  test('not even if the resolved one could not be delivered', async () => {
    const a = await receiver();
    a.answer({ status: 404 }, {});
    const { deliverer } = setUp({ receivers: { a } });
    expect(outcomes(await deliverer.deliver(resolved))).toEqual({ a: 'notFound', log: 'delivered' });
    expect(outcomes(await deliverer.deliver(firing))).toEqual({ a: 'superseded' });
    expect(kinds(a)).toEqual(['resolved']);
  });

  test('an older notice is superseded by a newer one, an alarm never is', async () => {
    const a = await receiver();
    const { deliverer } = setUp({ receivers: { a } });
    await deliverer.deliver(message({ id: 'late', kind: 'reminder', atMs: AT + 100, channels: ['a'] }));
    expect(outcomes(await deliverer.deliver(firing))).toEqual({ a: 'superseded' });
    await deliverer.deliver(resolved);
    await deliverer.deliver(message({ id: 'alarm', kind: 'alarm', channels: ['a'] }));
    expect(kinds(a)).toEqual(['reminder', 'resolved', 'alarm']);
  });

  test('the resolved notice goes to the stand-ins that got the firing one', async () => {
    const [a, b] = [await receiver(), await receiver()];
    a.answer({ status: 404 }, {});
    const { deliverer } = setUp({ receivers: { a, b } });
    await deliverer.deliver(firing);
    await deliverer.deliver(resolved);
    expect([kinds(a), kinds(b)]).toEqual([
      ['firing', 'resolved'],
      ['firing', 'resolved'],
    ]);
  });

  test('holds in any order of arrival, on any processes, with any failures on the way', async () => {
    const story: readonly Message[] = [
      firing,
      message({ id: 'r1', kind: 'reminder', atMs: AT + 1000, channels: ['a'] }),
      message({ id: 'r2', kind: 'reminder', atMs: AT + 2000, channels: ['a'] }),
      resolved,
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray([0, 1, 2, 3, 0, 1, 3], { minLength: 3 }),
        fc.array(fc.constantFrom(200, 200, 503, 429), { maxLength: 8 }),
        async (arrivals, statuses) => {
          const sent: { kind: string; atMs: number; id: string }[] = [];
          const channel = scripted('a', ({ message: { kind, atMs, id } }) => {
            const status = statuses.shift() ?? 200;
            if (status !== 200)
              return { kind: 'failed', reason: 'unavailable', words: String(status), permanent: false };
            sent.push({ kind, atMs, id });
            return { kind: 'delivered' };
          });
          const receipts = createMemoryReceiptStore(systemClock);
          const deliverers = ['one', 'two'].map((instance) =>
            createDeliverer({
              opened: [laneOf(channel)],
              clock: hurried,
              random: Math.random,
              receipts,
              instance,
              groupWaitMs: 0,
            }),
          );
          await Promise.all(
            arrivals.map(async (index, at) => {
              const [one, two] = deliverers;
              const by = at % 2 === 0 ? one : two;
              await by?.deliver(story[index] ?? firing);
            }),
          );
          expect(sent).toEqual(sent.toSorted((x, y) => x.atMs - y.atMs));
          expect(new Set(sent.map(({ id }) => id)).size).toBe(sent.length);
          if (arrivals.includes(3)) expect(sent.at(-1)?.kind).toBe('resolved');
        },
      ),
      { numRuns: 60 },
    );
  });
});

const hurried = {
  nowMs: () => AT,
  monotonicMs: () => systemClock.monotonicMs(),
  sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(1, signal),
};

function scripted(
  name: string,
  send: (outgoing: Outgoing) => DeliveryAttempt | Promise<DeliveryAttempt>,
): Channel {
  return {
    name,
    type: 'webhook',
    audience: 'machine',
    send: async (outgoing) => await send(outgoing),
    close: async () => undefined,
  };
}

function laneOf(channel: Channel): OpenChannel {
  const limits = { timeoutMs: 60_000, giveUpAfterMs: 60_000 };
  return { channel, limits, pace: createPace(hurried, 0) };
}

test('a reminder of an acknowledged episode goes only to receivers that end unrepeated alerts, and to no stand-in', async () => {
  const sent: string[] = [];
  const take = (name: string, attempt: DeliveryAttempt): OpenChannel =>
    laneOf(
      scripted(name, () => {
        sent.push(name);
        return attempt;
      }),
    );
  const [people, other] = [take('people', { kind: 'delivered' }), take('other', { kind: 'delivered' })];
  const refused = { kind: 'failed', reason: 'rejected', words: 'no', permanent: true } as const;
  for (const attempt of [{ kind: 'delivered' }, refused] as const) {
    const ending = take('ending', attempt);
    const opened = [
      people,
      { ...ending, channel: { ...ending.channel, endsBySilence: true as const } },
      other,
    ];
    const receipts = createMemoryReceiptStore(systemClock);
    const deliverer = createDeliverer({
      opened,
      clock: hurried,
      random: () => 0.5,
      instance: 'i',
      groupWaitMs: 0,
      receipts,
    });
    await deliverer.deliver(message({ channels: ['people', 'ending'] }));
    sent.length = 0;
    const reminder = message({ kind: 'reminder', id: 'id-2', channels: ['people', 'ending'], atMs: AT + 1 });
    await deliverer.deliver({ ...reminder, acknowledged: { author: 'ann', atMs: AT } });
    expect(sent).toEqual(['ending']);
    await deliverer.deliver(message({ kind: 'resolved', id: 'id-3', atMs: AT + 2 }));
    expect(sent).toContain('people');
    sent.length = 0;
  }
});

describe('when the store of receipts is lost', () => {
  test('after a delivery, the repetition in the same process does not send it again', async () => {
    const memory = createMemoryReceiptStore(systemClock);
    let lost = true;
    const receipts: ReceiptStore = {
      ...memory,
      settle: async (...args) => {
        if (lost) throw Object.assign(new Error('lost'), { code: 'STORE_LOST' });
        return await memory.settle(...args);
      },
    };
    const a = await receiver();
    const { deliverer } = setUp({ receivers: { a }, receipts });
    await expect(deliverer.deliver(message({ channels: ['a'] }))).rejects.toMatchObject({
      code: 'STORE_LOST',
    });
    lost = false;
    const owner = await memory.hold('x', 'y', 1);
    expect(owner.kind).toBe('held');
    await memory.settle(`${message().key}/a`, 'i/1', {});
    expect(outcomes(await deliverer.deliver(message({ channels: ['a'] })))).toEqual({ a: 'duplicate' });
    expect(a.received).toHaveLength(1);
  });

  test('an abort leaves the thread free for the next owner', async () => {
    const a = await receiver();
    a.answer('silent', {});
    const receipts = createMemoryReceiptStore(systemClock);
    const { deliverer } = setUp({ receivers: { a }, receipts });
    const controller = new AbortController();
    const sending = deliverer.deliver(message({ channels: ['a'] }), controller.signal);
    while (a.received.length === 0) await delay(1);
    controller.abort(new Error('stopping'));
    await expect(sending).rejects.toThrow('stopping');
    expect((await receipts.hold(`${message().key}/a`, 'next', 10)).kind).toBe('held');
    await receipts.settle(`${message().key}/a`, 'next', {});
    expect(outcomes(await deliverer.deliver(message({ channels: ['a'] })))).toEqual({ a: 'delivered' });
  });
});

describe('turns of a channel', () => {
  test('come one per interval, the most urgent first, and not to callers who have gone', async () => {
    let nowMs = 0;
    const pending: { atMs: number; resolve: () => void; reject: (error: unknown) => void }[] = [];
    const clock = {
      nowMs: () => nowMs,
      monotonicMs: () => nowMs,
      sleep: (ms: number, signal?: AbortSignal) =>
        new Promise<void>((resolve, reject) => {
          pending.push({ atMs: nowMs + ms, resolve, reject });
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        }),
    };
    const advance = async (toMs: number) => {
      for (; nowMs < toMs; nowMs += 100) {
        for (const one of pending.filter(({ atMs }) => atMs <= nowMs)) one.resolve();
        await delay(0);
      }
    };
    const pace = createPace(clock, 1000);
    const turns: [name: string, atMs: number][] = [];
    const gone = new AbortController();
    const take = (name: string, rank: number, deadlineMs: number, signal?: AbortSignal) =>
      pace.turn(rank, deadlineMs, signal).then(
        (came) => void turns.push([came ? name : `${name} too late`, nowMs]),
        () => void turns.push([`${name} gone`, nowMs]),
      );
    const all = [
      take('first', 2, 9000),
      take('info', 2, 9000),
      take('late', 2, 1500),
      take('gone', 0, 9000, gone.signal),
      take('critical', 0, 9000),
    ];
    await advance(500);
    gone.abort();
    await advance(3000);
    pace.block(5000);
    all.push(take('blocked', 0, 20_000));
    await advance(12_000);
    await Promise.all(all);
    expect(turns.map(([name]) => name)).toEqual([
      'first',
      'gone gone',
      'critical',
      'late too late',
      'info',
      'blocked',
    ]);
    const at = Object.fromEntries(turns);
    expect(at['critical']).toBeGreaterThanOrEqual(1000);
    expect(at['info']).toBeGreaterThanOrEqual((at['critical'] ?? 0) + 1000);
    expect(at['blocked']).toBeGreaterThanOrEqual(8000);
  });
});
