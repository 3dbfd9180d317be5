/** A place in a file; lines and columns count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Keys and list indices from the root of a file, such as `['accounts', 0, 'cadence']`. */
export type Path = readonly (string | number)[];

export type ProblemSeverity = 'error' | 'warning';

/** A mistake (`error`), or something legal but dangerous (`warning`); the message says how to fix it. */
export interface Problem {
  readonly severity: ProblemSeverity;
  /** Stable name in kebab-case, for scripts. */
  readonly code: ProblemCode;
  readonly place: Place;
  /** As people write it: `accounts[0].cadence.calm`; empty for the file as a whole. */
  readonly path: string;
  /** Never contains the value of a secret. */
  readonly message: string;
}

export type ProblemCode =
  | 'file-unreadable'
  | 'yaml-syntax'
  | 'duplicate-key'
  | 'unknown-key'
  | 'removed-key'
  | 'missing-key'
  | 'wrong-value'
  | 'secret-missing'
  | 'secret-world-readable'
  | 'secret-writable-by-others'
  | 'writable-by-others'
  | 'duplicate-id'
  | 'too-many-mistakes'
  | 'unknown-reference'
  | 'one-key-two-accounts'
  | 'needs-reading'
  | 'never-fires'
  | 'always-fires'
  | 'clear-on-wrong-side'
  | 'close-without-cooldown'
  | 'step-coarser-than-slippage'
  | 'cancels-owners-orders'
  | 'market-without-entry'
  | 'money-unknown'
  | 'reduction-above-largest'
  | 'target-inside-threshold'
  | 'reduces-when-healthy'
  | 'weaker-escalation'
  | 'address-with-path'
  | 'timing'
  | 'unused'
  | 'unencrypted'
  | 'redis-without-password'
  | 'anybody-is-the-proxy'
  | 'nobody-asked'
  | 'never-waits'
  | 'nothing-acts';

/** Formats a problem as `file:line:col path: message`, which editors and terminals make clickable. */
export function formatProblem(problem: Problem): string {
  const { file, line, column } = problem.place;
  const path = problem.path === '' ? '' : ` ${problem.path}:`;
  const warning = problem.severity === 'warning' ? ' warning:' : '';
  return `${file}:${line}:${column}${path === '' ? ':' : path}${warning} ${problem.message}`;
}

export function formatPath(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (!/^[\w/-]+$/.test(part)) text += `[${quoted(part)}]`;
    else text += text === '' ? part : `.${part}`;
  }
  return text;
}

/** Shows what nobody could see by its code: `"BTC\u202e"`. */
export function quoted(text: string): string {
  const codeOf = (unseen: string): string =>
    Array.from(
      { length: unseen.length },
      (_, at) => `\\u${unseen.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join('');
  return JSON.stringify(text).replaceAll(/[\p{Cf}\p{Zl}\p{Zp}]/gu, codeOf);
}

/** Sorts by place, those of `file` first; errors and warnings are mixed. */
export function sortProblems(problems: readonly Problem[], file: string): readonly Problem[] {
  return problems.toSorted(
    (a, b) =>
      Number(a.place.file !== file) - Number(b.place.file !== file) ||
      a.place.line - b.place.line ||
      a.place.column - b.place.column ||
      (a.path < b.path ? -1 : Number(a.path > b.path)),
  );
}
