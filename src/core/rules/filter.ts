import type { Quantity, UnknownReason } from '../quantities/quantity.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import type { SubjectFilter } from './rule.ts';
import type { Direction } from './subject.ts';

/** Returns whether a text matches any of the globs. */
export type GlobJudge = (text: string) => boolean;

/** Compiles globs: `*` matches any characters, `?` one. Case-sensitive. */
export function compileGlobs(globs: readonly string[]): GlobJudge {
  const judges = globs.map(compileGlob);
  const [only] = judges;
  if (judges.length === 1 && only !== undefined) return only;
  return (text) => judges.some((judge) => judge(text));
}

/** Market settings from entries by market or glob. An exact name wins; else the first matching pattern. */
export function marketLookup(
  markets: Readonly<Record<string, MarketSettings>>,
): AccountSettings['marketSettings'] {
  const exact = new Map(Object.entries(markets).filter(([name]) => !isGlob(name)));
  const patterns = Object.entries(markets)
    .filter(([name]) => isGlob(name))
    .map(([glob, settings]) => ({ matches: compileGlobs([glob]), settings }));
  return (market) => exact.get(market) ?? patterns.find(({ matches }) => matches(market))?.settings;
}

const WILDCARDS = /[*?]/;

export function isGlob(text: string): boolean {
  return WILDCARDS.test(text);
}

function compileGlob(glob: string): GlobJudge {
  if (glob === '*') return () => true;
  if (!isGlob(glob)) return (text) => text === glob;
  const [start, rest] = [glob.slice(0, -1), glob.slice(1)];
  if (glob.startsWith('*') && !isGlob(rest)) return (text) => text.endsWith(rest);
  if (glob.endsWith('*') && !isGlob(start)) return (text) => text.startsWith(start);
  return (text) => matchesGlob(text, glob);
}

/** Backtracks only to the last `*`, so that no match takes more than `text * glob` steps. */
function matchesGlob(text: string, glob: string): boolean {
  let at = 0;
  let pattern = 0;
  let star = -1;
  let resume = 0;
  while (at < text.length) {
    if (glob[pattern] === '*') {
      star = pattern++;
      resume = at;
    } else if (glob[pattern] === '?' || glob[pattern] === text[at]) {
      at++;
      pattern++;
    } else if (star >= 0) {
      pattern = star + 1;
      at = ++resume;
    } else return false;
  }
  while (glob[pattern] === '*') pattern++;
  return pattern === glob.length;
}

/** The keys that filters test. A subject never matches a filter on a key that it lacks. */
export interface Filterable {
  readonly market?: string;
  readonly positionId?: string;
  readonly asset?: string;
  readonly direction?: Quantity<Direction>;
}

/** `true`, `false`, or why it is unknown. */
export type FilterVerdict = boolean | UnknownReason;
export type FilterJudge = (subject: Filterable) => FilterVerdict;

/** Compiles a rule's `where`: lists mean "or", keys mean "and"; an absent key selects everything. */
export function compileFilter(filter: SubjectFilter): FilterJudge {
  const market = filter.market && compileGlobs(filter.market);
  const asset = filter.asset && compileGlobs(filter.asset);
  const positionId = filter.positionId && compileGlobs(filter.positionId);
  const { direction } = filter;
  return (subject) => {
    if (market !== undefined && !isSelected(market, subject.market)) return false;
    if (asset !== undefined && !isSelected(asset, subject.asset)) return false;
    if (positionId !== undefined && !isSelected(positionId, subject.positionId)) return false;
    if (direction === undefined) return true;
    if (subject.direction?.kind !== 'value') {
      return subject.direction?.kind === 'unknown' ? subject.direction.why : false;
    }
    return subject.direction.value === direction;
  };
}

function isSelected(judge: GlobJudge, text: string | undefined): boolean {
  return text !== undefined && judge(text);
}
