/** How many characters are looked up at once; a value that is shorter cannot be found. */
const SHORTEST = 6;
/** Of the filter that tells nearly every place in a text that no value begins there. */
const FILTER_BITS = 16;
const MULTIPLIER = 31;

/** What stands wherever a secret or a word about a person was. */
export const REDACTED = '[redacted]';

/** The text with every value in it that must not be shown, overlapping ones together, replaced. */
export type Conceal = (text: string) => string;

/** Finds all values in one pass. Those shorter than six characters are left out: they would hide half of the text. */
export function concealer(values: Iterable<string>): Conceal {
  const byHash = new Map<number, string[]>();
  const filter = new Uint8Array(1 << FILTER_BITS);
  for (const value of new Set(values)) {
    if (value.length < SHORTEST) continue;
    const hash = hashAt(value, 0);
    filter[slotOf(hash)] = 1;
    const same = byHash.get(hash);
    if (same === undefined) byHash.set(hash, [value]);
    else same.push(value);
  }
  // The first that matches has to be the longest: one value may begin with another.
  for (const same of byHash.values()) same.sort((a, b) => b.length - a.length);
  return (text) => (byHash.size === 0 ? text : conceal(text, { byHash, filter }));
}

/** The same for secrets that may rotate: they are asked for anew. */
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

/** A hash that rolls along the text (Rabin and Karp); what it finds is compared. */
function conceal(text: string, { byHash, filter }: Known): string {
  let shown = '';
  let shownTo = 0;
  let from = -1;
  let to = -1;
  const last = text.length - SHORTEST;
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
    hash = rolled(hash, text.charCodeAt(at), text.charCodeAt(at + SHORTEST));
  }
  return to < 0 ? text : shown + text.slice(shownTo, from) + REDACTED + text.slice(to);
}

function hashAt(text: string, at: number): number {
  let hash = 0;
  for (let index = at; index < at + SHORTEST; index++) {
    hash = (Math.imul(hash, MULTIPLIER) + text.charCodeAt(index)) | 0;
  }
  return hash;
}

/** `MULTIPLIER` to the power of `SHORTEST`: the weight that a character has when it leaves. */
const LEAVING = MULTIPLIER ** SHORTEST;

function rolled(hash: number, leaves: number, enters: number): number {
  return (Math.imul(hash, MULTIPLIER) + enters - Math.imul(leaves, LEAVING)) | 0;
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> FILTER_BITS)) & ((1 << FILTER_BITS) - 1);
}
