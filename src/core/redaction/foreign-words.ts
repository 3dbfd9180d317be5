import { type Conceal, REDACTED } from './conceal.ts';

/** How much external text is shown. */
export interface ForeignWordsLimits {
  readonly maxLength: number;
  /** A run of letters and digits of this length is no word but a key, token, signature or payload. */
  readonly opaqueLength: number;
}

const MAX_READ = 2000;
/** The end of a truncated text may hold part of a secret that cannot be recognised. */
const CUT_MARGIN = 500;

/**
 * Makes external text fit to show: one line, bounded, without the given secrets (case-insensitive), addresses and what
 * looks like a token.
 */
export function foreignWords(
  secrets: readonly string[],
  { maxLength, opaqueLength }: ForeignWordsLimits,
): Conceal {
  const patterns = [...new Set(secrets)]
    .filter((secret) => secret.length > 1)
    .sort((a, b) => b.length - a.length)
    .map((secret) => secret.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  const known = patterns.length === 0 ? undefined : new RegExp(patterns.join('|'), 'gi');
  const opaque = new RegExp(`[\\w+/=:-]{${opaqueLength},}`, 'g');
  return (text) => {
    const bounded = text.length > MAX_READ ? text.slice(0, MAX_READ - CUT_MARGIN) : text;
    const unknown = known === undefined ? bounded : bounded.replace(known, REDACTED);
    return (
      unknown
        .replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
        // Matching only at word starts avoids quadratic time on long words.
        .replace(/(?<!\w)\w+:\/\/\S+/g, '[address]')
        .replace(opaque, REDACTED)
        .trim()
        .slice(0, maxLength)
    );
  };
}
