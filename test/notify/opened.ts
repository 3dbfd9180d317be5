import { expect } from 'vitest';
import type { DecimalString } from '../../src/core/quantities/decimal.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import type { Channel, Outgoing } from '../../src/notify/channel.ts';
import { type ChannelOptions, openChannels } from '../../src/notify/channels.ts';
import { AT, message } from './receiver.ts';

export const LINKS = [
  { title: 'Run & book', url: 'https://wiki.example/{rule}?a={account}&s={subject}&m={market}' },
];
export const CURES = [
  {
    asset: 'USDT',
    currentLtv: 0.72,
    targetLtv: 0.6,
    repay: '166.66666667' as DecimalString,
    addCollateral: '277.77777778' as DecimalString,
  },
];

type Options = ChannelOptions extends infer O
  ? O extends ChannelOptions
    ? Omit<O, 'name' | 'timeoutMs' | 'giveUpAfterMs'>
    : never
  : never;

const opened: Channel[] = [];

/** A channel as the daemon opens it, named `ops`, with a clock fixed at `AT`. */
export function open(options: Options, timeoutMs = 60_000, links = LINKS): Channel {
  const full = { name: 'ops', timeoutMs, giveUpAfterMs: 5000, ...options } as unknown as ChannelOptions;
  const clock = { ...systemClock, nowMs: () => AT };
  const channel = openChannels([full], { clock, links, log: () => undefined })[0]?.channel ?? expect.fail();
  opened.push(channel);
  return channel;
}

export async function closeOpened(): Promise<void> {
  await Promise.all(opened.splice(0).map((channel) => channel.close()));
}

export function outgoing(changes: Partial<Outgoing> = {}): Outgoing {
  return {
    message: message(),
    along: [],
    receipts: {},
    insteadOf: [],
    beginningUntold: false,
    ...changes,
  };
}
