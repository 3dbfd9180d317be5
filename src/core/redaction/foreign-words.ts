import { type Conceal, REDACTED } from './conceal.ts';

/** How much of what a party outside says is shown. */
export interface ForeignWordsLimits {
  readonly maxLength: number;
  /** A run of letters and digits this long is no word: a key, a token, a signature or a payload. */
  readonly opaqueLength: number;
}

const MAX_READ = 2000;
/** At the end of a text that was cut there may stand a part of a secret that is not recognised. */
const CUT_MARGIN = 500;

/**
 * Words from outside as they may be shown: one line, bounded, without these secrets in any letter case, and without
 * addresses and what looks like a token.
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
        // Tried at the start of a word only: at every letter of a long one it would take quadratic time.
        .replace(/(?<!\w)\w+:\/\/\S+/g, '[address]')
        .replace(opaque, REDACTED)
        .trim()
        .slice(0, maxLength)
    );
  };
}
