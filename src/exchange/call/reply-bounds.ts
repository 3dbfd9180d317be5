import type { EndpointId } from '../endpoints.ts';

/** What a reply may be at most; checked before it is parsed. */
export interface ReplyBounds {
  /** As received, and again as decoded where it came compressed. */
  readonly bytes: number;
  /** Elements of one array, or fields of one object. */
  readonly members: number;
  /** Elements and fields in all. What reads a reply takes up to a microsecond for each, and nothing else happens meanwhile. */
  readonly values: number;
}

const MIB = 1024 * 1024;
/** Of a reply that is one record, or less. */
const SMALL: ReplyBounds = { bytes: MIB / 4, members: 1000, values: 2000 };

/** Real replies stay far below: a position takes 600 bytes and 24 values, a page of a history has at most 500 records. */
export const REPLY_BOUNDS: Readonly<Record<EndpointId, ReplyBounds>> = {
  ping: { ...SMALL, members: 100 },
  openPositions: { bytes: MIB, members: 700, values: 17_000 },
  creditLines: { bytes: MIB / 2, members: 600, values: 12_000 },
  mainBalance: { bytes: MIB / 2, members: 5000, values: 15_000 },
  transfers: { bytes: MIB, members: 600, values: 17_000 },
  spotOrders: { bytes: 2 * MIB, members: 600, values: 25_000 },
  stopLimit: SMALL,
  // The reply to "cancel all" may list every order that was cancelled; the specification does not show it.
  cancelAll: { bytes: MIB, members: 5000, values: 60_000 },
  hedgeMode: SMALL,
  fiatDeposit: SMALL,
};

/** Arrays and objects inside each other; the deepest documented reply has five. */
const MAX_DEPTH = 32;
/** A shorter text has too few of anything to be a burden, and most replies are shorter. */
const LEAST_LENGTH = 4096;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

/** What a JSON text has too much of, in words; `undefined` when it stays within the bounds or is no JSON. */
export function excessOf(
  text: string,
  { members, values }: Pick<ReplyBounds, 'members' | 'values'>,
): string | undefined {
  if (text.length <= LEAST_LENGTH) return undefined;
  const commas = new Int32Array(MAX_DEPTH + 1);
  let depth = 0;
  let found = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at + 1);
    else if (code === COMMA) {
      const count = (commas[depth] ?? 0) + 1;
      if (count >= members) return `more than ${members} members in one list`;
      commas[depth] = count;
      found += 1;
    } else if (isOpening(code)) {
      depth += 1;
      if (depth > MAX_DEPTH) return `nested deeper than ${MAX_DEPTH}`;
      commas[depth] = 0;
      found += 1;
    } else if (isClosing(code) && depth > 0) depth -= 1;
    if (found > values) return `more than ${values} values`;
  }
  return undefined;
}

/** Both kinds of brackets differ in one bit only, from those of the other kind and from no other character. */
const isOpening = (code: number): boolean => (code | 0x20) === 0x7b;
const isClosing = (code: number): boolean => (code | 0x20) === 0x7d;

/** Place of the quote that ends the string, or the end of the text. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start);
  // Looking for each quote of a text of nothing but escaped ones costs ten times as much as looking at all of it.
  return quote !== -1 && text.charCodeAt(quote - 1) !== BACKSLASH ? quote : endOfEscaped(text, start);
}

function endOfEscaped(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}
