import type { Clock } from '../core/ports/clock.ts';
import { createAlertmanager } from './alertmanager.ts';
import type { ChannelLimits } from './channel.ts';
import { createHttpSender, type HttpSender } from './http-sender.ts';
import { createLogChannel, type WriteLog } from './log-channel.ts';
import type { LinkTemplate } from './message-layout.ts';
import { Pace } from './pace.ts';
import { createSlack } from './slack.ts';
import { createTelegram } from './telegram.ts';
import type { OpenChannel } from './thread.ts';
import { createWebhook } from './webhook.ts';

/** A channel as configured, secrets in the clear: do not keep, log or pass on. */
export type ChannelOptions = ChannelLimits & {
  readonly name: string;
  readonly proxyUrl?: string;
} & (
    | { readonly type: 'webhook'; readonly url: string; readonly secret?: string }
    | { readonly type: 'slack'; readonly url: string }
    | {
        readonly type: 'telegram';
        readonly apiUrl: string;
        readonly token: string;
        readonly chat: string;
        readonly topic?: number;
      }
    | {
        readonly type: 'alertmanager';
        readonly urls: readonly string[];
        readonly authorization?: string;
        readonly expireAfterMs: number;
      }
  );

/**
 * Least time between two messages: Slack takes one a second per webhook; Telegram one a second per chat and twenty
 * a minute in a group. More than that is refused for a while.
 */
const INTERVAL_MS = {
  webhook: 0,
  alertmanager: 0,
  slack: 1000,
  telegram: 1000,
  telegramGroup: 3000,
} as const;
const LOG_LIMITS: ChannelLimits = { timeoutMs: 1000, giveUpAfterMs: 1000 };

/** The channels in their order, and the log after them. */
export function openChannels(
  configured: readonly ChannelOptions[],
  surroundings: { readonly clock: Clock; readonly links: readonly LinkTemplate[]; readonly log: WriteLog },
): readonly OpenChannel[] {
  const { clock, links, log } = surroundings;
  const opened = configured.map((options): OpenChannel => {
    const { name, timeoutMs, giveUpAfterMs, proxyUrl } = options;
    const nowMs = (): number => clock.nowMs();
    const http = createHttpSender({ timeoutMs, nowMs, ...(proxyUrl === undefined ? {} : { proxyUrl }) });
    const channel = openChannel(options, { name, links, http, nowMs });
    return { channel, limits: { timeoutMs, giveUpAfterMs }, pace: new Pace(clock, intervalOf(options)) };
  });
  return [...opened, { channel: createLogChannel(log), limits: LOG_LIMITS, pace: new Pace(clock, 0) }];
}

interface Common {
  readonly name: string;
  readonly links: readonly LinkTemplate[];
  readonly http: HttpSender;
  readonly nowMs: () => number;
}

function openChannel(options: ChannelOptions, common: Common): OpenChannel['channel'] {
  switch (options.type) {
    case 'webhook':
      return createWebhook({ ...options, ...common });
    case 'slack':
      return createSlack({ ...options, ...common });
    case 'telegram':
      return createTelegram({ ...options, ...common });
    case 'alertmanager':
      return createAlertmanager({ ...options, ...common });
  }
}

function intervalOf(options: ChannelOptions): number {
  if (options.type !== 'telegram') return INTERVAL_MS[options.type];
  // Groups and channels have negative numbers or names; a person's chat has a positive one.
  return /^\d+$/.test(options.chat) ? INTERVAL_MS.telegram : INTERVAL_MS.telegramGroup;
}
