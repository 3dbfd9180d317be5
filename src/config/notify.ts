import { z } from 'zod';
import type { Escalation } from '../core/ports/notifier.ts';
import { complainOfChannel } from './channels.ts';
import { channelName } from './rules/actions.ts';
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
  /** With placeholders such as `{account}`. */
  readonly links: readonly { readonly title: string; readonly url: string }[];
}

function compileEscalation(
  { after: afterMs, to }: NonNullable<z.output<typeof notifySchema>['escalate']>,
  names: readonly string[] | undefined,
  context: SecretContext,
): Escalation {
  const path = ['notify', 'escalate', 'to'];
  const isList = (nodeAt(context.document.root, path)?.children.size ?? 0) > 0;
  for (const [index, channel] of to.entries())
    complainOfChannel(context, isList ? [...path, index] : path, channel, names);
  return { afterMs, channels: [...new Set(to)] };
}

const PLACEHOLDERS = ['account', 'rule', 'subject', 'market', 'episode', 'severity', 'key', 'page'];

/** Title of the link to what a message is about. */
const STATUS_PAGE = 'Status page';

export function compileNotify(
  { remindEveryMs, groupWaitMs, links, escalate }: z.output<typeof notifySchema>,
  publicUrl: string | undefined,
  channels: readonly string[] | undefined,
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
    links: [...page, ...Object.entries(links).map(([title, link]) => ({ title, url: link }))],
  };
}
