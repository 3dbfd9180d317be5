import type { ControlResult } from './control.ts';
import type { Fixed } from './covering.ts';
import type { CaseResult } from './judge.ts';

/** What a thread plays: the case at a place of the sequence of a seed. */
export interface Work {
  readonly kind: 'case' | 'control' | 'scenario';
  readonly seed: number;
  readonly index: number;
  readonly fixed: Fixed;
}

/** What a thread answers. */
export type Answer =
  | { readonly kind: 'case' | 'scenario'; readonly index: number; readonly result: CaseResult }
  | { readonly kind: 'control'; readonly index: number; readonly result: ControlResult };
