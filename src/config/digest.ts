import type { z } from 'zod';
import { checkChannels, withEachOnce } from './channels.ts';
import { noneOrMoreChannels } from './rules/actions.ts';
import { timeOfDay, timeZone } from './rules/active-window.ts';
import type { SecretContext } from './secrets.ts';
import { renamed, section } from './shape/shape.ts';

export const digestSchema = renamed(
  section(
    {
      at: timeOfDay('23:59').describe('At what time of the day, in quotes.'),
      tz: timeZone().describe(
        'Time zone of `at`, summer time included. The digest itself gives times in UTC.',
      ),
      channels: noneOrMoreChannels().describe(
        'Channels to send it to; without it all but those that get people up (pagerduty, opsgenie).',
      ),
    },
    { tz: 'UTC' },
  ),
  { at: 'atMinute', tz: 'timeZone' },
);

/** The daily digest of the last 24 hours. Without channels it goes to all except pagers. */
export type CompiledDigest = z.output<typeof digestSchema>;

/** `names`: all channel names; undefined if they could not be read. */
export function compileDigest(
  digest: CompiledDigest,
  names: readonly string[] | undefined,
  context: SecretContext,
): CompiledDigest {
  checkChannels(['digest', 'channels'], digest.channels, names, context);
  return withEachOnce(digest);
}
