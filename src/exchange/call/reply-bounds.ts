import type { EndpointId } from '../endpoints.ts';

/** Bounds on a reply, checked before it is parsed. */
export interface ReplyBounds {
  /** Size as received, and again as decompressed. */
  readonly bytes: number;
  /** Elements of one array, or fields of one object. */
  readonly members: number;
  /** Elements and fields in all. Reading takes up to a microsecond for each and blocks everything else. */
  readonly values: number;
}

const MIB = 1024 * 1024;
/** For a reply of one record or less. */
const SMALL: ReplyBounds = { bytes: MIB / 4, members: 1000, values: 2000 };

/** Real replies stay far below: a position takes 600 bytes and 24 values, a history page has at most 500 records. */
export const REPLY_BOUNDS: Readonly<Record<EndpointId, ReplyBounds>> = {
  ping: { ...SMALL, members: 100 },
  lastPrices: { bytes: MIB, members: 1000, values: 29_000 },
  openPositions: { bytes: 2 * MIB, members: 1200, values: 29_000 },
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
/** Shorter texts, as most replies are, cannot hold enough to be a burden and are not scanned. */
const LEAST_LENGTH = 4096;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;

/** Says which bound a JSON text exceeds; `undefined` if none. Does not detect invalid JSON. */
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

/** `[` and `{`, like `]` and `}`, differ only in bit 0x20, and no other characters match. */
const isOpening = (code: number): boolean => (code | 0x20) === 0x7b;
const isClosing = (code: number): boolean => (code | 0x20) === 0x7d;

/** Index of the quote that ends the string, or the length of the text. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start);
  // In a text of only escaped quotes, searching for each costs ten times as much as scanning every character.
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
