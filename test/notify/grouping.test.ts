import { afterEach, describe, expect, test } from 'vitest';
import type { DeliveryReport, Message } from '../../src/core/ports/delivery.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { openChannels } from '../../src/notify/channels.ts';
import { createDeliverer } from '../../src/notify/deliverer.ts';
import { createMemoryReceiptStore } from '../../src/state/receipts/receipts-memory.ts';
import { message, type Receiver, startReceiver } from './receiver.ts';

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const GROUP_WAIT_MS = 150;
const ACCOUNTS = Array.from({ length: 20 }, (_, number) => `desk-${String(number + 1).padStart(2, '0')}`);

interface Scene {
  readonly chat: Receiver;
  readonly spare: Receiver;
  readonly hook: Receiver;
  readonly deliver: (messages: readonly Message[]) => Promise<readonly DeliveryReport[]>;
}

/** A chat for people, its stand-in, and a webhook. */
async function open(groupWaitMs = GROUP_WAIT_MS): Promise<Scene> {
  const [chat, spare, hook] = await Promise.all([startReceiver(), startReceiver(), startReceiver()]);
  const limits = { timeoutMs: 60_000, giveUpAfterMs: 60_000 };
  const opened = openChannels(
    [
      { type: 'slack', name: 'chat', url: chat.url, ...limits },
      { type: 'slack', name: 'spare', url: spare.url, ...limits },
      { type: 'webhook', name: 'hook', url: hook.url, ...limits },
    ],
    { clock: systemClock, links: [], log: () => undefined },
  );
  const deliverer = createDeliverer({
    opened,
    clock: systemClock,
    random: Math.random,
    instance: 'i',
    receipts: createMemoryReceiptStore(systemClock),
    groupWaitMs,
  });
  closers.push(...[chat, spare, hook].map((receiver) => () => receiver.close()), () => deliverer.close());
  return {
    chat,
    spare,
    hook,
    deliver: (messages) => Promise.all(messages.map((one) => deliverer.deliver(one))),
  };
}

/** A notice of the rule `blind` about an account whose exchange does not answer. */
function blind(accountId: string, changes: Partial<Message> = {}): Message {
  return message({
    id: `${accountId}/${changes.kind ?? 'firing'}`,
    key: accountId,
    accountId,
    ruleId: 'blind',
    subject: 'account',
    words: `no data of ${accountId} for 35 s`,
    doing: {
      state: 'blind',
      cause: 'unreachable',
      words: 'blind: the exchange is unreachable',
      orders: [],
      next: 'a person has to decide',
    },
    channels: ['chat', 'hook'],
    ...changes,
  });
}

const resolved = (accountId: string): Message =>
  blind(accountId, {
    kind: 'resolved',
    words: 'resolved',
    doing: { state: 'calm', cause: 'nothing', words: 'calm: 12 % from liquidation', orders: [], next: '' },
  });

const textsOf = ({ received }: Receiver): readonly string[] => received.map(({ raw }) => raw);

describe('an outage of the exchange with 20 accounts', () => {
  test('gives one message with all accounts, and one when it is over', async () => {
    const { chat, hook, deliver } = await open();
    const reports = await deliver(ACCOUNTS.map((id) => blind(id)));
    expect(reports.every(({ reached }) => reached)).toBe(true);
    const [text, ...more] = textsOf(chat);
    expect(more).toEqual([]);
    expect(text).toContain('CRITICAL firing: 20 accounts blind: the exchange is unreachable (blind)');
    for (const id of ACCOUNTS) expect(text).toContain(`${id}: no data of ${id} for 35 s.`);
    await deliver(ACCOUNTS.map(resolved));
    const [, end, ...rest] = textsOf(chat);
    expect(rest).toEqual([]);
    expect(end).toContain('Resolved: 20 accounts (blind)');
    expect(end).toContain('desk-20: calm: 12 % from liquidation.');
    // A machine keeps an episode for each account.
    expect(hook.received).toHaveLength(40);
  });

  test('gives one message in the stand-in, too, if the channel cannot be reached', async () => {
    const { chat, spare, deliver } = await open();
    chat.answer({ status: 403, body: 'invalid_token' });
    const reports = await deliver(ACCOUNTS.map((id) => blind(id)));
    expect(reports.every(({ reached }) => reached)).toBe(true);
    expect([chat.received.length, spare.received.length]).toEqual([1, 1]);
    expect(textsOf(spare)[0]).toContain('Told here because the channel chat could not be reached');
  });

  test('leaves out accounts notified before, and words a single account as usual', async () => {
    const { chat, deliver } = await open();
    await deliver([blind('desk-01')]);
    expect(textsOf(chat)[0]).toContain('CRITICAL firing: blind, desk-01');
    const reports = await deliver(['desk-01', 'desk-02', 'desk-03'].map((id) => blind(id)));
    const kinds = reports.map(({ channels }) => channels.find(({ channel }) => channel === 'chat'));
    expect(kinds.map((report) => report?.delivery.kind)).toEqual(['duplicate', 'delivered', 'delivered']);
    expect(textsOf(chat)[1]).toContain('2 accounts blind');
    expect(textsOf(chat)[1]).not.toContain('desk-01');
  });
});

test('other causes, modes and rules are separate messages', async () => {
  const { chat, deliver } = await open();
  const refused = { ...blind('a').doing, cause: 'keyRefused' } as NonNullable<Message['doing']>;
  await deliver([
    blind('desk-01'),
    blind('desk-02', { doing: refused }),
    blind('desk-03', { mode: 'observe' }),
    blind('desk-04', { ruleId: 'other' }),
  ]);
  expect(chat.received).toHaveLength(4);
});

test('a notice that may need action is not held back', async () => {
  const { chat, deliver } = await open(60_000);
  const acting = { ...blind('a').doing, state: 'acting', cause: 'orderActive' } as NonNullable<
    Message['doing']
  >;
  const position = blind('desk-02', { subject: 'position:1', doing: acting });
  await deliver([position, { ...position, id: 'resolved', kind: 'resolved', atMs: position.atMs + 1 }]);
  expect(chat.received).toHaveLength(2);
});

test('accounts beyond the message size are counted', async () => {
  const { chat, deliver } = await open();
  const many = Array.from({ length: 190 }, (_, number) => `desk-${number}`);
  await deliver(many.map((id) => blind(id)));
  expect(textsOf(chat)).toEqual([expect.stringMatching(/190 accounts blind.*And 165 more\./s)]);
});

test('a digest wakes nobody, not even if the chat cannot be reached', async () => {
  const [pager, chat] = await Promise.all([
    startReceiver(),
    startReceiver({ status: 403, body: 'invalid_token' }),
  ]);
  const limits = { timeoutMs: 60_000, giveUpAfterMs: 60_000 };
  const opened = openChannels(
    [
      { type: 'slack', name: 'chat', url: chat.url, ...limits },
      { type: 'pagerduty', name: 'pager', apiUrl: pager.url, routingKey: 'r'.repeat(32), ...limits },
    ],
    { clock: systemClock, links: [], log: () => undefined },
  );
  const receipts = createMemoryReceiptStore(systemClock);
  const parts = { opened, clock: systemClock, random: Math.random, instance: 'i', receipts, groupWaitMs: 0 };
  const deliverer = createDeliverer(parts);
  closers.push(...[chat, pager].map((receiver) => () => receiver.close()), () => deliverer.close());
  const { channels } = await deliverer.deliver(message({ kind: 'digest', lines: ['- all is well'] }));
  expect(new Set(channels.map(({ channel }) => channel))).toEqual(new Set(['chat', 'log']));
  expect([chat.received.length, pager.received.length]).toEqual([1, 0]);
});
