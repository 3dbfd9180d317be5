import { z } from 'zod';
import { LINK_PLACEHOLDERS } from '../core/text/link-placeholders.ts';
import { checkChannels, withEachOnce } from './channels.ts';
import { channelName } from './rules/actions.ts';
import type { SecretContext } from './secrets.ts';
import { complain } from './shape/read.ts';
import { duration, text, url } from './shape/scalars.ts';
import { oneOrMany, renamed, section } from './shape/shape.ts';
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
      escalate: renamed(
        z.strictObject({
          after: duration({ minMs: 1000, maxMs: 86_400_000, bounds: 'from 1s to 1d' }).describe(
            'How long a critical rule fires before it goes to the channels of `to`, unless somebody has acknowledged it.',
          ),
          to: oneOrMany(channelName).describe(
            'Channels that are told then, once; those that were told already are left out.',
          ),
        }),
        { after: 'afterMs', to: 'channels' },
      ).exactOptional(),
      links: z
        .record(linkTitle, url('https:', 'http:'))
        .describe(
          'Links in every message, by title; {account}, {rule}, {subject}, {market}, {episode}, {severity}, {key} and {page} (the path of what it is about on the status page, after an address without a slash at its end) are filled in.',
        )
        .transform((links) => Object.entries(links).map(([title, link]) => ({ title, url: link }))),
    },
    { remindEvery: '30m', groupWait: '10s', links: {} },
  ),
  { remindEvery: 'remindEveryMs', groupWait: 'groupWaitMs', escalate: 'escalation' },
);

/** Links have placeholders such as `{account}`. */
export type NotifySettings = z.output<typeof notifySchema>;

const STATUS_PAGE = 'Status page';

export function compileNotify(
  written: NotifySettings,
  publicUrl: string | undefined,
  names: readonly string[] | undefined,
  context: SecretContext,
): NotifySettings {
  const { escalation, links } = written;
  for (const { title, url: link } of links) {
    for (const [, placeholder = ''] of link.matchAll(/\{([^{}]*)\}/g)) {
      if (LINK_PLACEHOLDERS.some((known) => known === placeholder)) continue;
      const message = `expected placeholders among ${LINK_PLACEHOLDERS.map((known) => `{${known}}`).join(', ')}, got ${describeText(`{${placeholder}}`)}`;
      complain(context, ['notify', 'links', title], 'wrong-value', message);
    }
  }
  const page = publicUrl === undefined ? [] : [{ title: STATUS_PAGE, url: `${publicUrl}{page}` }];
  checkChannels(['notify', 'escalate', 'to'], escalation?.channels ?? [], names, context);
  return {
    ...written,
    ...(escalation && { escalation: withEachOnce(escalation) }),
    links: [...page, ...links],
  };
}
