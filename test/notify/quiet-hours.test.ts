import { afterEach, describe, expect, test } from 'vitest';
import { heldNotices } from '../../src/app/held-notices.ts';
import type { ChannelReport, HeldNotices, Message, ReceiptStore } from '../../src/core/ports/delivery.ts';
import { compileActiveWindow } from '../../src/core/rules/active-window.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { type ChannelOptions, openChannels } from '../../src/notify/channels.ts';
import { createDeliverer } from '../../src/notify/deliverer.ts';
import { createQuietHours } from '../../src/notify/quiet-hours.ts';
import { createOperatorTrust } from '../../src/state/controls/operator-seal.ts';
import { createMemoryHeldStore, type HeldStore, MOST_HELD } from '../../src/state/held/held-store.ts';
import { createMemoryReceiptStore } from '../../src/state/receipts/receipts-memory.ts';
import { message, type Received, type Receiver, startReceiver } from './receiver.ts';

/** What receivers get, and when, with quiet hours from 22:00 to 07:00 in London in winter. */

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const NIGHT = Date.UTC(2026, 0, 31, 2, 10);
const MORNING = Date.UTC(2026, 0, 31, 7, 0);
const WINDOW = {
  days: [0, 1, 2, 3, 4, 5, 6],
  fromMinute: 22 * 60,
  toMinute: 7 * 60,
  timeZone: 'Europe/London',
};

const KEY = 'k'.repeat(32);
const operators = createOperatorTrust({ key: () => KEY, isGuarded: false });
const held = (store: HeldStore = createMemoryHeldStore(), unproven: string[] = []): HeldNotices =>
  heldNotices({
    store,
    operators,
    telemetry: { emit: (event) => event.kind === 'noticeUnproven' && unproven.push(event.words) },
  });

async function receiver(): Promise<Receiver> {
  const started = await startReceiver();
  closers.push(() => started.close());
  return started;
}

const CHAT = { channels: [] as readonly string[], window: WINDOW as typeof WINDOW | undefined };

interface Setup {
  readonly channels: readonly ChannelOptions[];
  readonly quiet?: typeof CHAT;
  readonly notices?: HeldNotices;
  readonly receipts?: ReceiptStore;
}

const limits = { timeoutMs: 60_000, giveUpAfterMs: 60_000 };
const slack = (name: string, { url }: Receiver): ChannelOptions => ({ type: 'slack', name, url, ...limits });

/** A deliverer with a wall clock that the test sets. */
function setUp({ channels, quiet = CHAT, notices = held(), receipts }: Setup) {
  let nowMs = NIGHT;
  const reports: ChannelReport[] = [];
  const clock = { ...systemClock, nowMs: () => nowMs };
  const deliverer = createDeliverer({
    opened: openChannels(channels, { clock, links: [], log: () => undefined }),
    clock,
    random: Math.random,
    instance: 'i',
    groupWaitMs: 0,
    receipts: receipts ?? createMemoryReceiptStore(systemClock),
    quiet: createQuietHours({
      isInside: quiet.window && compileActiveWindow(quiet.window),
      channels: quiet.channels,
      held: notices,
      nowMs: () => nowMs,
    }),
    observer: { onDelivery: (_message, report) => reports.push(report) },
  });
  closers.push(() => deliverer.close());
  return {
    deliverer,
    reports,
    at: (unixMs: number) => {
      nowMs = unixMs;
    },
  };
}

const warning = (changes: Partial<Message> = {}): Message =>
  message({
    severity: 'warning',
    ruleId: 'near',
    words: 'distance is 9 %, below 10 %',
    sinceMs: NIGHT,
    atMs: NIGHT,
    channels: ['chat'],
    ...changes,
  });

const textOf = (received: Received | undefined): string => {
  const { json } = received ?? expect.fail('nothing was received');
  const { text, attachments } = json as { text: string; attachments: readonly { text: string }[] };
  return `${text}\n${attachments[0]?.text ?? ''}`;
};

test('at night only critical notices are sent, in the morning one message with all others', async () => {
  const chat = await receiver();
  const { deliverer, at, reports } = setUp({ channels: [slack('chat', chat)] });
  await deliverer.deliver(warning());
  await deliverer.deliver(
    warning({ id: 'r', kind: 'reminder', atMs: NIGHT + 60_000, words: 'distance is 8 %, below 10 %' }),
  );
  await deliverer.deliver(warning({ id: 'i', key: 'info', ruleId: 'curious', severity: 'info' }));
  await deliverer.releaseHeld();
  expect(chat.received).toEqual([]);
  expect(reports.map(({ delivery }) => delivery.kind)).toEqual(['held', 'held', 'held']);
  const critical = message({ id: 'c', key: 'c', ruleId: 'last', channels: ['chat'] });
  await deliverer.deliver(critical);
  await deliverer.deliver({ ...critical, id: 'c2', kind: 'resolved', words: 'resolved', atMs: NIGHT + 5 });
  expect(chat.received.map(textOf)).toEqual([
    expect.stringContaining('CRITICAL firing: last'),
    expect.stringContaining('Resolved: last'),
  ]);
  at(MORNING - 1);
  await deliverer.releaseHeld();
  expect(chat.received).toHaveLength(2);
  at(MORNING);
  await deliverer.releaseHeld();
  expect(chat.received).toHaveLength(3);
  const text = textOf(chat.received[2]);
  expect(text).toMatch(/^Held back in quiet hours: 2 notices\n/);
  expect(text).toContain(
    'WARNING still firing: near, desk-1, BTC_PERP position 42, since 2026-01-31 02:10:00 UTC. Distance is 8 %',
  );
  expect(text).toContain('INFO firing: curious');
  await deliverer.releaseHeld();
  await deliverer.deliver(warning({ id: 'day', kind: 'reminder', atMs: MORNING + 1 }));
  expect(chat.received).toHaveLength(4);
});

test('an episode that ended meanwhile is reported as ended', async () => {
  const chat = await receiver();
  const { deliverer, at } = setUp({ channels: [slack('chat', chat)] });
  const over = warning({
    id: 'e',
    kind: 'resolved',
    words: 'resolved',
    atMs: NIGHT + 60_000,
  });
  await deliverer.deliver(over);
  // In any order of arrival.
  await deliverer.deliver(warning());
  at(MORNING);
  await deliverer.releaseHeld();
  expect(chat.received.map(textOf)).toEqual([
    [
      'Held back in quiet hours: 1 notice, all over by now',
      'Resolved: near, desk-1, BTC_PERP position 42. It began at 2026-01-31 02:10:00 UTC and ended at 2026-01-31 02:11:00 UTC.',
    ].join('\n'),
  ]);
});

describe('never held back:', () => {
  test.each<[string, Partial<Message>]>([
    ['what is critical', { severity: 'critical' }],
    ['a later stage of a rule', { stage: 1 }],
    [
      'what escalates because nobody acknowledged it',
      { severity: 'critical', words: 'Nobody has acknowledged it for 15 min.' },
    ],
    [
      'a question of approval',
      {
        kind: 'approval',
        approval: { reference: 'a-1', untilMs: NIGHT + 60_000, withoutAnswer: 'act', orders: [] },
      },
    ],
    ['what became of a question', { kind: 'approval' }],
    ['a test by hand', { kind: 'test' }],
    ['a digest', { kind: 'digest' }],
    ["what may be somebody else's, or a critical one of another version", { isUnproven: true }],
  ])('%s', async (_what, changes) => {
    const chat = await receiver();
    const { deliverer, reports } = setUp({ channels: [slack('chat', chat)] });
    await deliverer.deliver(warning(changes));
    expect(chat.received).toHaveLength(1);
    expect(reports.map(({ delivery }) => delivery.kind)).toEqual(['delivered']);
  });

  test('notices to machines and pagers, which have their own schedules', async () => {
    const [hook, pager, manager] = [await receiver(), await receiver(), await receiver()];
    pager.answer({ body: '{"status":"success"}' });
    const { deliverer } = setUp({
      channels: [
        { type: 'webhook', name: 'hook', url: hook.url, ...limits },
        { type: 'pagerduty', name: 'pager', apiUrl: pager.url, routingKey: 'r'.repeat(32), ...limits },
        { type: 'alertmanager', name: 'am', urls: [manager.url], expireAfterMs: 90_000, ...limits },
      ],
    });
    await deliverer.deliver(warning({ channels: ['hook', 'pager', 'am'] }));
    expect([hook, pager, manager].map(({ received }) => received.length)).toEqual([1, 1, 1]);
  });

  test('notices to channels that quiet hours do not name', async () => {
    const [chat, other] = [await receiver(), await receiver()];
    const { deliverer } = setUp({
      channels: [slack('chat', chat), slack('other', other)],
      quiet: { ...CHAT, channels: ['chat'] },
    });
    await deliverer.deliver(warning({ channels: ['chat', 'other'] }));
    expect([chat.received.length, other.received.length]).toEqual([0, 1]);
  });

  test('more notices than can be held', async () => {
    const chat = await receiver();
    const store = createMemoryHeldStore();
    for (let count = 0; count < MOST_HELD; count += 1) await store.put(`n${count}`, 1, 'x');
    const { deliverer } = setUp({ channels: [slack('chat', chat)], notices: held(store) });
    await deliverer.deliver(warning());
    expect(chat.received).toHaveLength(1);
  });

  test('notices that a failing store cannot hold', async () => {
    const chat = await receiver();
    const lost = async (): Promise<never> => {
      throw new Error('WRONGTYPE');
    };
    const { deliverer } = setUp({
      channels: [slack('chat', chat)],
      notices: held({ put: lost, all: lost, names: lost, drop: lost }),
    });
    await deliverer.deliver(warning());
    expect(chat.received).toHaveLength(1);
  });
});

describe('at the end of the window', () => {
  test('a channel that cannot be reached is replaced by a stand-in, but not by a pager or an Alertmanager', async () => {
    const [chat, pager, manager, spare] = [
      await receiver(),
      await receiver(),
      await receiver(),
      await receiver(),
    ];
    chat.answer({ status: 403, body: 'invalid_token' });
    const { deliverer, at } = setUp({
      channels: [
        slack('chat', chat),
        { type: 'pagerduty', name: 'pager', apiUrl: pager.url, routingKey: 'r'.repeat(32), ...limits },
        { type: 'alertmanager', name: 'am', urls: [manager.url], expireAfterMs: 90_000, ...limits },
        slack('spare', spare),
      ],
    });
    await deliverer.deliver(warning());
    at(MORNING);
    await deliverer.releaseHeld();
    expect([chat, pager, manager, spare].map(({ received }) => received.length)).toEqual([1, 0, 0, 1]);
    expect(textOf(spare.received[0])).toContain('Told here because the channel chat could not be reached');
    await deliverer.releaseHeld();
    expect(spare.received).toHaveLength(1);
  });

  test('two processes send one message, even if a third one died while sending it', async () => {
    const chat = await receiver();
    const store = createMemoryHeldStore();
    const receipts = createMemoryReceiptStore(systemClock);
    const parts = { channels: [slack('chat', chat)], receipts };
    const keep: HeldStore = { ...store, drop: async () => Promise.reject(new Error('killed')) };
    const dying = setUp({ ...parts, notices: held(keep) });
    for (let count = 0; count < 5; count += 1)
      await dying.deliverer.deliver(warning({ id: `m${count}`, key: `k${count}` }));
    dying.at(MORNING);
    await expect(dying.deliverer.releaseHeld()).rejects.toThrow('killed');
    expect(await store.all()).toHaveLength(5);
    const others = [0, 1].map(() => setUp({ ...parts, notices: held(store) }));
    for (const other of others) other.at(MORNING);
    await Promise.all(others.map(({ deliverer }) => deliverer.releaseHeld()));
    expect(chat.received.map(textOf)).toEqual([expect.stringContaining('5 notices')]);
    expect(await store.all()).toEqual([]);
  });

  test('two processes that look at the same time send it once', async () => {
    const chat = await receiver();
    const [store, receipts] = [createMemoryHeldStore(), createMemoryReceiptStore(systemClock)];
    const [one, two] = [0, 1].map(() =>
      setUp({ channels: [slack('chat', chat)], receipts, notices: held(store) }),
    ) as [ReturnType<typeof setUp>, ReturnType<typeof setUp>];
    for (let count = 0; count < 5; count += 1)
      await one.deliverer.deliver(warning({ id: `m${count}`, key: `k${count}` }));
    for (const { at } of [one, two]) at(MORNING);
    await Promise.all([one, two].map(({ deliverer }) => deliverer.releaseHeld()));
    expect(chat.received).toHaveLength(1);
    expect(await store.all()).toEqual([]);
  });

  test('more notices than fit in one message are sent in several, and none is left out', async () => {
    const chat = await receiver();
    const { deliverer, at } = setUp({ channels: [slack('chat', chat)] });
    const names = Array.from({ length: 20 }, (_, index) => `rule-${index}-of-20`);
    for (const ruleId of names) await deliverer.deliver(warning({ id: ruleId, key: ruleId, ruleId }));
    at(MORNING);
    await deliverer.releaseHeld();
    expect(chat.received.length).toBeGreaterThan(1);
    expect(chat.received.length).toBeLessThan(5);
    const all = chat.received.map(textOf).join('\n');
    for (const name of names) expect(all).toContain(`${name}, desk-1`);
    expect(all).not.toContain('…');
  });

  test('a channel removed from the config is replaced by a stand-in', async () => {
    const [chat, other] = [await receiver(), await receiver()];
    const notices = held();
    const before = setUp({ channels: [slack('chat', chat)], notices });
    await before.deliverer.deliver(warning());
    const after = setUp({
      channels: [slack('other', other)],
      notices,
      quiet: { ...CHAT, window: undefined },
    });
    await after.deliverer.releaseHeld();
    expect(textOf(other.received[0])).toContain('the channel chat could not be reached');
  });

  test('an episode notified before the night is resolved after it, for those who were notified', async () => {
    const chat = await receiver();
    const { deliverer, at } = setUp({ channels: [slack('chat', chat)] });
    at(NIGHT - 6 * 3_600_000);
    await deliverer.deliver(warning({ atMs: NIGHT - 6 * 3_600_000 }));
    at(NIGHT);
    await deliverer.deliver(warning({ id: 'e', kind: 'resolved', words: 'resolved', atMs: NIGHT }));
    at(MORNING);
    await deliverer.releaseHeld();
    expect(chat.received.map(textOf)).toEqual([
      expect.stringContaining('WARNING firing'),
      expect.stringContaining('all over by now'),
    ]);
  });
});

test('a notice that somebody wrote into the store is sent as not proven, and anything else is not sent', async () => {
  const chat = await receiver();
  const store = createMemoryHeldStore();
  const unproven: string[] = [];
  const { deliverer, at } = setUp({ channels: [slack('chat', chat)], notices: held(store, unproven) });
  await deliverer.deliver(warning());
  const [mine] = await store.all();
  const text = mine?.text ?? expect.fail();
  const name = JSON.stringify(['chat', 'forged']);
  await store.put(name, NIGHT, text.replaceAll(/"key":"(?:[^"\\]|\\.)*"/g, '"key":"forged"'));
  await store.put('under another name', NIGHT, text);
  await store.put('nonsense', 1, '{"held":');
  // A time that no calendar has must not keep others from being sent.
  const never = text
    .replaceAll(/"sinceMs":\d+/g, '"sinceMs":1e300')
    .replaceAll(/"key":"(?:[^"\\]|\\.)*"/g, '"key":"never"');
  await store.put(JSON.stringify(['chat', 'never']), NIGHT, never);
  at(MORNING);
  await deliverer.releaseHeld();
  const [received, ...more] = chat.received.map(textOf);
  expect(more).toEqual([]);
  expect(received).toMatch(/^Held back in quiet hours: 2 notices/);
  expect(received?.match(/Not proven to be from Breakwater/g)).toHaveLength(1);
  expect(unproven).toHaveLength(1);
  expect(await store.all()).toHaveLength(3);
});

test('a notice that waits on two channels counts once, and a text that is no notice does not count', async () => {
  const store = createMemoryHeldStore();
  const notices = held(store);
  for (const channel of ['chat', 'other'])
    for (const key of ['a', 'b']) {
      const { kind: _kind, ...notice } = warning({ id: key, key });
      expect(await notices.keep({ channel, notice: { ...notice, kind: 'firing' }, insteadOf: [] })).toBe(
        true,
      );
    }
  await store.put('nonsense', 1, 'x');
  expect(await notices.count()).toBe(2);
});

describe('clock changes in London', () => {
  const judge = (fromMinute: number, toMinute: number) =>
    compileActiveWindow({ ...WINDOW, fromMinute, toMinute });
  // On 2026-03-29 the hour from 01:00 to 02:00 is skipped, on 2026-10-25 it is repeated.
  const spring = (hour: number, minute: number) => Date.UTC(2026, 2, 29, hour, minute);
  const autumn = (hour: number, minute: number) => Date.UTC(2026, 9, 25, hour, minute);

  test('a window that begins or ends in the skipped hour does so after it', () => {
    const ends = judge(22 * 60, 90);
    expect([spring(0, 59), spring(1, 0)].map(ends)).toEqual([true, false]);
    const begins = judge(90, 7 * 60);
    expect([spring(0, 59), spring(1, 0), spring(5, 59), spring(6, 0)].map(begins)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  test('the repeated hour is quiet by the wall clock, both times', () => {
    const ends = judge(22 * 60, 90);
    expect([autumn(0, 29), autumn(0, 30), autumn(1, 0), autumn(1, 29), autumn(1, 30)].map(ends)).toEqual([
      true,
      false,
      true,
      true,
      false,
    ]);
    const begins = judge(90, 7 * 60);
    expect(
      [autumn(0, 29), autumn(0, 30), autumn(1, 0), autumn(1, 30), autumn(6, 59), autumn(7, 0)].map(begins),
    ).toEqual([false, true, false, true, true, false]);
  });

  test('notices of the repeated hour are sent when quiet ends, each once', async () => {
    const chat = await receiver();
    const { deliverer, at } = setUp({
      channels: [slack('chat', chat)],
      quiet: { ...CHAT, window: { ...WINDOW, toMinute: 90 } },
    });
    at(autumn(0, 10));
    await deliverer.deliver(warning({ id: 'a', key: 'a', atMs: autumn(0, 10) }));
    at(autumn(0, 30));
    await deliverer.releaseHeld();
    at(autumn(1, 10));
    await deliverer.deliver(warning({ id: 'b', key: 'b', atMs: autumn(1, 10) }));
    await deliverer.releaseHeld();
    expect(chat.received).toHaveLength(1);
    at(autumn(1, 30));
    await deliverer.releaseHeld();
    expect(chat.received.map(textOf)).toEqual([
      expect.stringContaining('1 notice'),
      expect.stringContaining('1 notice'),
    ]);
  });
});
