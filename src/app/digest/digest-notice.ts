import type { CompiledDigest } from '../../config/digest.ts';
import type { Digest } from '../../core/digest/digest.ts';
import { type DigestText, digestWords } from '../../core/digest/digest-words.ts';
import { type Notice, OF_NO_RULE } from '../../core/ports/notifier.ts';
import { utcMinute } from '../../core/text/time-words.ts';
import type { DueDigest } from './digest-due.ts';

/** Fits every channel: Slack 3,000 characters with links, ntfy 4,000 bytes, Telegram 4,000 characters. */
const MOST_CHARS = 2_400;

/** A digest in words; `all` includes what does not fit a message. */
export function digestText(digest: Digest, { all }: { readonly all: boolean }): DigestText {
  return digestWords(digest, { maxChars: all ? Number.POSITIVE_INFINITY : MOST_CHARS, timeOf: utcMinute });
}

/** The day determines the id, so the digest is delivered once even if several processes hand it over. */
export function digestNotice(
  digest: Digest,
  { name, atMs }: DueDigest,
  { channels }: Pick<CompiledDigest, 'channels'>,
): Notice {
  const { headline, lines } = digestText(digest, { all: false });
  return {
    ...OF_NO_RULE,
    id: `digest/${name}`,
    key: `digest/${name}`,
    kind: 'digest',
    words: headline,
    lines,
    sinceMs: digest.fromMs,
    atMs,
    channels,
  };
}
