import type { Clock } from '../core/ports/clock.ts';
import { createAlertmanager } from './alertmanager.ts';
import type { Channel, ChannelLimits } from './channel.ts';
import { createDiscord } from './discord.ts';
import { createEmail } from './email.ts';
import { type ChannelParts, createHttpSender } from './http-sender.ts';
import { createLogChannel, type WriteLog } from './log-channel.ts';
import type { LinkTemplate } from './message-layout.ts';
import { createNtfy } from './ntfy.ts';
import { createOpsgenie } from './opsgenie.ts';
import { createPace } from './pace.ts';
import { createPagerduty } from './pagerduty.ts';
import { createSlack } from './slack.ts';
import { createTeams } from './teams.ts';
import { createTelegram } from './telegram.ts';
import type { OpenChannel } from './thread.ts';
import { createWebhook } from './webhook.ts';

/** Every kind of channel, by its `type` in the config. */
const KINDS = {
  webhook: createWebhook,
  slack: createSlack,
  telegram: createTelegram,
  ntfy: createNtfy,
  alertmanager: createAlertmanager,
  discord: createDiscord,
  teams: createTeams,
  pagerduty: createPagerduty,
  opsgenie: createOpsgenie,
  email: createEmail,
} as const;

type Kinds = typeof KINDS;
type Options<T extends keyof Kinds> = ChannelLimits &
  Parameters<Kinds[T]>[0] & { readonly type: T; readonly name: string; readonly proxy?: string };

/** A channel as configured, with secrets in the clear: do not keep, log or pass on. */
export type ChannelOptions = { [T in keyof Kinds]: Options<T> }[keyof Kinds];

const LOG_LIMITS: ChannelLimits = { timeoutMs: 1000, giveUpAfterMs: 1000 };

/** Opens the channels, in order, and the log as the last one. */
export function openChannels(
  configured: readonly ChannelOptions[],
  surroundings: {
    readonly clock: Clock;
    readonly links: readonly LinkTemplate[];
    readonly log: WriteLog;
  },
): readonly OpenChannel[] {
  const { clock, links, log } = surroundings;
  const opened = configured.map((options): OpenChannel => {
    const { name, timeoutMs, giveUpAfterMs, proxy } = options;
    const nowMs = (): number => clock.nowMs();
    const http = createHttpSender({ timeoutMs, nowMs, ...(proxy === undefined ? {} : { proxy }) });
    const channel = openChannel(options, { name, links, http, nowMs });
    return {
      channel,
      limits: { timeoutMs, giveUpAfterMs },
      pace: createPace(clock, intervalOf(options)),
    };
  });
  return [...opened, { channel: createLogChannel(log), limits: LOG_LIMITS, pace: createPace(clock, 0) }];
}

function openChannel(options: ChannelOptions, parts: ChannelParts): Channel {
  const open: (own: never, parts: ChannelParts) => Channel = KINDS[options.type];
  return open(options as never, parts);
}

/**
 * Returns the minimum time between two messages, in milliseconds. Documented limits: Slack one a second per webhook;
 * Telegram one a second per chat and twenty a minute in a group; PagerDuty 120 a minute per key; a Teams workflow 100 a
 * minute. Discord states its limits only in refusals. A receiver over its limit refuses messages for a while.
 */
function intervalOf(options: ChannelOptions): number {
  if (options.type === 'pagerduty') return 500;
  if (options.type === 'slack' || options.type === 'discord' || options.type === 'teams') return 1000;
  if (options.type !== 'telegram') return 0;
  // A private chat has a positive number; groups and channels have negative numbers or names.
  return /^\d+$/.test(options.chat) ? 1000 : 3000;
}
