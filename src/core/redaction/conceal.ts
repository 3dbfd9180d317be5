/** Length of the rolling hash in characters. Shorter values are not looked for: they would hide half of the text. */
export const SHORTEST_HIDDEN = 6;
/** Size of the filter that rules out nearly every position of a text. */
const FILTER_BITS = 16;
const MULTIPLIER = 31;

/** Replaces secrets and personal data. */
export const REDACTED = '[redacted]';

/** Replaces every value to hide; overlapping values become one replacement. */
export type Conceal = (text: string) => string;

/** Finds all values in one pass; values shorter than `SHORTEST_HIDDEN` are ignored. */
export function concealer(values: Iterable<string>): Conceal {
  const byHash = new Map<number, string[]>();
  const filter = new Uint8Array(1 << FILTER_BITS);
  for (const value of new Set(values)) {
    if (value.length < SHORTEST_HIDDEN) continue;
    const hash = hashAt(value, 0);
    filter[slotOf(hash)] = 1;
    const same = byHash.get(hash);
    if (same === undefined) byHash.set(hash, [value]);
    else same.push(value);
  }
  // Longest first: one value may be the prefix of another.
  for (const same of byHash.values()) same.sort((a, b) => b.length - a.length);
  return (text) => (byHash.size === 0 ? text : conceal(text, { byHash, filter }));
}

/** A concealer for secrets that may rotate; it is rebuilt whenever `secrets` returns another list. */
export function currentConcealer(secrets: () => readonly string[]): Conceal {
  let known: readonly string[] = [];
  let conceal = concealer(known);
  return (text) => {
    const current = secrets();
    if (current !== known) {
      known = current;
      conceal = concealer(known);
    }
    return conceal(text);
  };
}

interface Known {
  readonly byHash: ReadonlyMap<number, readonly string[]>;
  readonly filter: Uint8Array;
}

/** Rabin-Karp: a rolling hash finds candidates, which are then compared. */
function conceal(text: string, { byHash, filter }: Known): string {
  let shown = '';
  let shownTo = 0;
  let from = -1;
  let to = -1;
  const last = text.length - SHORTEST_HIDDEN;
  let hash = last < 0 ? 0 : hashAt(text, 0);
  for (let at = 0; at <= last; at++) {
    if (filter[slotOf(hash)] === 1) {
      const value = byHash.get(hash)?.find((one) => text.startsWith(one, at));
      if (value !== undefined) {
        if (at >= to) {
          if (to > 0) {
            shown += text.slice(shownTo, from) + REDACTED;
            shownTo = to;
          }
          from = at;
        }
        to = Math.max(to, at + value.length);
      }
    }
    hash = rolled(hash, text.charCodeAt(at), text.charCodeAt(at + SHORTEST_HIDDEN));
  }
  return to < 0 ? text : shown + text.slice(shownTo, from) + REDACTED + text.slice(to);
}

function hashAt(text: string, at: number): number {
  let hash = 0;
  for (let index = at; index < at + SHORTEST_HIDDEN; index++) {
    hash = (Math.imul(hash, MULTIPLIER) + text.charCodeAt(index)) | 0;
  }
  return hash;
}

/** `MULTIPLIER` to the power of `SHORTEST_HIDDEN`: the weight of the character that leaves the window. */
const LEAVING = MULTIPLIER ** SHORTEST_HIDDEN;

function rolled(hash: number, leaves: number, enters: number): number {
  return (Math.imul(hash, MULTIPLIER) + enters - Math.imul(leaves, LEAVING)) | 0;
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> FILTER_BITS)) & ((1 << FILTER_BITS) - 1);
}
