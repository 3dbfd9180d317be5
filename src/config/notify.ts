import { z } from 'zod';
import type { Escalation } from '../core/ports/notifier.ts';
import type { ActiveWindow } from '../core/rules/rule.ts';
import { type ChannelType, channelNames, complainOfChannel, type ReadChannel } from './channels.ts';
import type { Path } from './problem.ts';
import { channelName } from './rules/actions.ts';
import { windowKeys, windowOf } from './rules/active-window.ts';
import type { SecretContext } from './secrets.ts';
import { complain } from './shape/read.ts';
import { duration, text, url } from './shape/scalars.ts';
import { oneOrMany, renamed, section } from './shape/shape.ts';
import { nodeAt } from './yaml/document.ts';
import { describeText } from './yaml/value.ts';

const linkTitle = text({ expected: 'a title such as Runbook', maxLength: 40 });

export const notifySchema = renamed(
  section(
    {
      remindEvery: duration({ minMs: 1000, maxMs: 7 * 86_400_000, bounds: 'from 1s to 1w' }).describe(
        'How often a rule that fires on is told again. Alertmanager ends an alert that is not told for three times this.',
      ),
      groupWait: duration({ maxMs: 60_000, bounds: 'from 0s to 1m' }).describe(
        'How long a message about an account that cannot be judged waits for those of other accounts with the same cause, to be told in one; 0s: each by itself.',
      ),
      escalate: z
        .strictObject({
          after: duration({ minMs: 1000, maxMs: 86_400_000, bounds: 'from 1s to 1d' }).describe(
            'How long a critical rule fires before it goes to the channels of `to`, unless somebody has acknowledged it.',
          ),
          to: oneOrMany(channelName).describe(
            'Channels that are told then, once; those that were told already are left out.',
          ),
        })
        .exactOptional(),
      quietHours: windowOf(
        windowKeys.extend({
          channels: oneOrMany(channelName)
            .exactOptional()
            .describe(
              'Channels that are quiet then; without it all that people read (not webhook, alertmanager, pagerduty and opsgenie).',
            ),
        }),
      )
        .exactOptional()
        .describe(
          'What is not critical is held back in this window, and told in one message at its end. Later stages, questions and digests are never held back.',
        ),
      links: z
        .record(linkTitle, url('https:', 'http:'))
        .describe(
          'Links in every message, by title; {account}, {rule}, {subject}, {market}, {episode}, {severity}, {key} and {page} (the path of what it is about on the status page, after an address without a slash at its end) are filled in.',
        ),
    },
    { remindEvery: '30m', groupWait: '10s', links: {} },
  ),
  { remindEvery: 'remindEveryMs', groupWait: 'groupWaitMs' },
);

export interface NotifySettings {
  readonly remindEveryMs: number;
  readonly groupWaitMs: number;
  readonly escalation?: Escalation;
  readonly quietHours?: CompiledQuietHours;
  /** With placeholders such as `{account}`. */
  readonly links: readonly { readonly title: string; readonly url: string }[];
}

/** When what is not critical waits, and on which channels; none named: on all that people read. */
export interface CompiledQuietHours extends ActiveWindow {
  readonly channels: readonly string[];
}

type Written = z.output<typeof notifySchema>;

function compileEscalation(
  { after: afterMs, to }: NonNullable<Written['escalate']>,
  channels: readonly ReadChannel[] | undefined,
  context: SecretContext,
): Escalation {
  checkChannels(['notify', 'escalate', 'to'], to, channels, context);
  return { afterMs, channels: [...new Set(to)] };
}

function compileQuietHours(
  { channels: named = [], ...window }: NonNullable<Written['quietHours']>,
  channels: readonly ReadChannel[] | undefined,
  context: SecretContext,
): CompiledQuietHours {
  const unread = (name: string): string | undefined => {
    const type = channels?.find((channel) => channel.name === name)?.written?.type ?? name;
    return IS_READ_BY_PEOPLE[type] === false ? type : undefined;
  };
  const path = ['notify', 'quietHours', 'channels'];
  for (const { at, channel } of checkChannels(path, named, channels, context)) {
    const type = unread(channel);
    if (type === undefined) continue;
    const got = channel === type ? `"${channel}"` : `"${channel}" (${type})`;
    const message = `expected a channel that people read, got ${got}, which is told at once: leave it out, and set its own schedule where it has one`;
    complain(context, at, 'wrong-value', message);
  }
  return { ...window, channels: [...new Set(named)] };
}

/** Machines and pagers get each message by itself, and have schedules of their own. */
const IS_READ_BY_PEOPLE: Readonly<Record<string, boolean>> = {
  webhook: false,
  slack: true,
  telegram: true,
  ntfy: true,
  alertmanager: false,
  discord: true,
  teams: true,
  pagerduty: false,
  opsgenie: false,
  email: true,
  log: false,
} satisfies Readonly<Record<ChannelType | 'log', boolean>>;

/** Complains of names that no channel has; the others with their places. */
function checkChannels(
  path: Path,
  named: readonly string[],
  channels: readonly ReadChannel[] | undefined,
  context: SecretContext,
): readonly { readonly at: Path; readonly channel: string }[] {
  const names = channels && channelNames(channels);
  const isList = (nodeAt(context.document.root, path)?.children.size ?? 0) > 0;
  const places = named.map((channel, index) => ({ at: isList ? [...path, index] : path, channel }));
  for (const { at, channel } of places) complainOfChannel(context, at, channel, names);
  return places.filter(({ channel }) => names?.includes(channel));
}

const PLACEHOLDERS = ['account', 'rule', 'subject', 'market', 'episode', 'severity', 'key', 'page'];

/** Title of the link to what a message is about. */
const STATUS_PAGE = 'Status page';

export function compileNotify(
  { remindEveryMs, groupWaitMs, links, escalate, quietHours }: Written,
  publicUrl: string | undefined,
  channels: readonly ReadChannel[] | undefined,
  context: SecretContext,
): NotifySettings {
  const { document, report } = context;
  for (const [title, link] of Object.entries(links)) {
    for (const [, placeholder = ''] of link.matchAll(/\{([^{}]*)\}/g)) {
      if (PLACEHOLDERS.includes(placeholder)) continue;
      const message = `expected placeholders among ${PLACEHOLDERS.map((known) => `{${known}}`).join(', ')}, got ${describeText(`{${placeholder}}`)}`;
      complain({ document, report }, ['notify', 'links', title], 'wrong-value', message);
    }
  }
  const page = publicUrl === undefined ? [] : [{ title: STATUS_PAGE, url: `${publicUrl}{page}` }];
  return {
    remindEveryMs,
    groupWaitMs,
    ...(escalate === undefined ? {} : { escalation: compileEscalation(escalate, channels, context) }),
    ...(quietHours === undefined ? {} : { quietHours: compileQuietHours(quietHours, channels, context) }),
    links: [...page, ...Object.entries(links).map(([title, link]) => ({ title, url: link }))],
  };
}
