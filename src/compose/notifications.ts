import type { CompiledChannel, CompiledConfig } from '../config/compiled.ts';
import type { Secret } from '../config/secret.ts';
import type { Clock, Random } from '../core/ports/clock.ts';
import type { Deliverer, Delivery, DeliveryObserver, Message, ReceiptStore } from '../core/ports/delivery.ts';
import { type ChannelOptions, openLanes } from '../notify/channels.ts';
import { createDeliverer } from '../notify/deliverer.ts';
import type { WriteLog } from '../notify/log.ts';
import { deliverInThread } from '../notify/thread.ts';
import { createMemoryReceiptStore } from '../state/receipts-memory.ts';

/** Alertmanager forgets an alert that was not told again for so many reminders. */
const MISSED_REMINDERS = 3;

export interface DeliveryParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly receipts: ReceiptStore;
  /** Of this process, unique among all. */
  readonly instance: string;
  readonly log: WriteLog;
  readonly observer?: DeliveryObserver;
}

type NotifyConfig = Pick<CompiledConfig, 'channels' | 'notify'>;

/** Delivers to the channels of a config. Open another for another config, and close this one. */
export function openDeliverer(config: NotifyConfig, parts: DeliveryParts): Deliverer {
  const { clock, log, ...rest } = parts;
  const lanes = openLanes(channelOptions(config), { clock, log, links: config.notify.links });
  return createDeliverer({ ...rest, clock, lanes });
}

function channelOptions({ channels, notify }: NotifyConfig): readonly ChannelOptions[] {
  return channels.map((channel) => optionsOf(channel, notify.remindEveryMs * MISSED_REMINDERS));
}

function optionsOf(channel: CompiledChannel, expireAfterMs: number): ChannelOptions {
  const { name, timeoutMs, giveUpAfterMs, proxyUrl } = channel;
  const common = {
    name,
    timeoutMs,
    giveUpAfterMs,
    ...(proxyUrl === undefined ? {} : { proxyUrl: proxyUrl.reveal() }),
  };
  switch (channel.type) {
    case 'webhook': {
      const { url, secret } = channel;
      return {
        ...common,
        type: 'webhook',
        url: needed(url, name),
        ...(secret === undefined ? {} : { secret: secret.reveal() }),
      };
    }
    case 'slack':
      return { ...common, type: 'slack', url: needed(channel.url, name) };
    case 'telegram': {
      const { apiUrl, token, chat, topic } = channel;
      const place = { apiUrl, chat, ...(topic === undefined ? {} : { topic }) };
      return { ...common, type: 'telegram', token: needed(token, name), ...place };
    }
    case 'alertmanager': {
      const { urls, authorization } = channel;
      const header = authorization === undefined ? {} : { authorization: authorization.reveal() };
      return { ...common, type: 'alertmanager', urls, expireAfterMs, ...header };
    }
  }
}

function needed(secret: Secret | undefined, channel: string): string {
  if (secret === undefined)
    throw new TypeError(`channel ${channel} comes from a config that was only checked`);
  return secret.reveal();
}

export interface ChannelTest {
  readonly channel: string;
  readonly type: string;
  readonly delivery: Delivery;
}

/** A person waits for the result. */
const LONGEST_TEST_MS = 20_000;

/** Sends a marked message through each channel by itself: no other one is told instead. */
export async function testChannels(
  config: NotifyConfig,
  only: string | undefined,
  parts: Pick<DeliveryParts, 'clock' | 'random' | 'log'> & { readonly signal: AbortSignal },
): Promise<readonly ChannelTest[]> {
  const { clock, random, log, signal } = parts;
  const lanes = openLanes(channelOptions(config), { clock, log, links: config.notify.links });
  const receipts = createMemoryReceiptStore(clock);
  const nowMs = clock.nowMs();
  const message = testMessage(nowMs);
  const context = { receipts, clock, random, owner: 'test', unstored: new Map(), onRetry: () => undefined };
  try {
    return await Promise.all(
      lanes
        .filter(({ channel }) => only === undefined || channel.name === only)
        .map(async (lane): Promise<ChannelTest> => {
          const { channel, limits } = lane;
          const bounded = { ...limits, giveUpAfterMs: Math.min(limits.giveUpAfterMs, LONGEST_TEST_MS) };
          const delivery = await deliverInThread(message, { ...lane, limits: bounded }, [], context, signal);
          return { channel: channel.name, type: channel.type, delivery };
        }),
    );
  } finally {
    await Promise.all(lanes.map(({ channel }) => channel.close()));
  }
}

function testMessage(nowMs: number): Message {
  return {
    version: 1,
    id: `test/${nowMs}`,
    key: `test/${nowMs}`,
    kind: 'test',
    accountId: 'test',
    ruleId: 'test',
    subject: 'account',
    episode: 0,
    stage: 0,
    severity: 'info',
    mode: 'observe',
    labels: {},
    words: 'This is a test by hand: nothing is wrong, and nothing has to be done.',
    sinceMs: nowMs,
    atMs: nowMs,
    channels: [],
    cures: [],
  };
}
