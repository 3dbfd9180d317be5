import type { z } from 'zod';
import { complainOfChannel } from './channels.ts';
import { channelName } from './rules/actions.ts';
import { timeOfDay, timeZone } from './rules/active-window.ts';
import type { SecretContext } from './secrets.ts';
import { oneOrMany, renamed, section } from './shape/shape.ts';
import { nodeAt } from './yaml/document.ts';

export const digestSchema = renamed(
  section(
    {
      at: timeOfDay('23:59').describe('At what time of the day, in quotes.'),
      tz: timeZone().describe(
        'Time zone of `at`, summer time included. The digest itself gives times in UTC.',
      ),
      channels: oneOrMany(channelName)
        .exactOptional()
        .describe(
          'Channels to send it to; without it all but those that get people up (pagerduty, opsgenie).',
        ),
    },
    { tz: 'UTC' },
  ),
  { at: 'atMinute', tz: 'timeZone' },
);

/** What is told every day about the day before. */
export interface CompiledDigest {
  /** Of the day, in `timeZone`. */
  readonly atMinute: number;
  readonly timeZone: string;
  /** Names of channels; empty: all that call nobody out of bed. */
  readonly channels: readonly string[];
}

/** `names` of channels; `undefined` when they could not be read. */
export function compileDigest(
  { channels = [], ...rest }: z.output<typeof digestSchema>,
  names: readonly string[] | undefined,
  context: SecretContext,
): CompiledDigest {
  const path = ['digest', 'channels'];
  const isList = (nodeAt(context.document.root, path)?.children.size ?? 0) > 0;
  for (const [index, channel] of channels.entries()) {
    const at = isList ? [...path, index] : path;
    complainOfChannel(context, at, channel, names);
  }
  return { ...rest, channels: [...new Set(channels)] };
}
