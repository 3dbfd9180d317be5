import type { Quantity, UnknownReason } from './quantity.ts';
import type { SubjectFilter } from './rule.ts';
import type { Direction } from './subject.ts';

/** Whether a text matches any of the globs; compiled once, answers remembered. */
export type GlobJudge = (text: string) => boolean;

const REMEMBERED = 10_000;

/** Compiles globs in which `*` stands for any characters and `?` for one; case matters. */
export function compileGlobs(globs: readonly string[]): GlobJudge {
  if (globs.includes('*')) return () => true;
  const source = globs.map((glob) => glob.replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')).join('|');
  const pattern = new RegExp(`^(?:${source.replaceAll(/\*+/g, '.*').replaceAll('?', '.')})$`, 'su');
  const answers = new Map<string, boolean>();
  return (text) => {
    const remembered = answers.get(text);
    if (remembered !== undefined) return remembered;
    const answer = globs.length > 0 && pattern.test(text);
    if (answers.size < REMEMBERED) answers.set(text, answer);
    return answer;
  };
}

/** What a filter looks at; a key that a kind of subject does not have is not asked for. */
export interface Filterable {
  readonly market?: string;
  readonly positionId?: string;
  readonly asset?: string;
  readonly direction?: Quantity<Direction>;
}

/** `true`, `false`, or why it cannot be told. */
export type FilterVerdict = boolean | UnknownReason;
export type FilterJudge = (subject: Filterable) => FilterVerdict;

/** Compiles a rule's `where`: lists are an "or", keys an "and"; a key that is not written selects everything. */
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
