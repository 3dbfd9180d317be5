import type { CompiledConfig } from '../config/compiled-config.ts';
import type { Clock, Random } from '../core/ports/clock.ts';
import type { ChannelReport, Message } from '../core/ports/delivery.ts';
import { OF_NO_RULE } from '../core/ports/notifier.ts';
import { openChannels } from '../notify/channels.ts';
import type { WriteLog } from '../notify/log-channel.ts';
import { deliverTogether } from '../notify/thread.ts';
import { createMemoryReceiptStore } from '../state/receipts/receipts-memory.ts';
import { channelOptions } from './open-deliverer.ts';

export type ChannelTest = Pick<ChannelReport, 'channel' | 'type' | 'delivery'>;

/** Short, as a person waits for the result. */
const LONGEST_TEST_MS = 20_000;

/** Sends a marked message through each channel alone: no other channel takes its place. */
export async function testChannels(
  config: CompiledConfig,
  only: string | undefined,
  parts: {
    readonly clock: Clock;
    readonly random: Random;
    readonly log: WriteLog;
    readonly signal: AbortSignal;
  },
): Promise<readonly ChannelTest[]> {
  const { clock, random, log, signal } = parts;
  const opened = openChannels(channelOptions(config), { clock, log, links: config.notify.links });
  const receipts = createMemoryReceiptStore(clock);
  const nowMs = clock.nowMs();
  const message = testMessage(nowMs);
  const shared = { insteadOf: [], receipts, clock, random, owner: 'test', unstored: new Map(), signal };
  try {
    return await Promise.all(
      opened
        .filter(({ channel }) => only === undefined || channel.name === only)
        .map(async (open): Promise<ChannelTest> => {
          const { channel, limits } = open;
          const bounded = { ...limits, giveUpAfterMs: Math.min(limits.giveUpAfterMs, LONGEST_TEST_MS) };
          const context = { ...shared, open: { ...open, limits: bounded }, onRetry: () => undefined };
          const [delivery] = (await deliverTogether([message], context)).values();
          if (delivery === undefined) throw new Error('the test message was not settled');
          return { channel: channel.name, type: channel.type, delivery };
        }),
    );
  } finally {
    await Promise.all(opened.map(({ channel }) => channel.close()));
  }
}

function testMessage(nowMs: number): Message {
  return {
    ...OF_NO_RULE,
    id: `test/${nowMs}`,
    key: `test/${nowMs}`,
    kind: 'test',
    accountId: 'test',
    ruleId: 'test',
    words: 'This is a test by hand: nothing is wrong, and nothing has to be done.',
    sinceMs: nowMs,
    atMs: nowMs,
  };
}
