import type { ControlResult } from './control.ts';
import type { Fixed } from './covering.ts';
import type { CaseResult } from './judge.ts';
import type { SlowResult } from './slow/judge-slow.ts';

/** The program of the threads. */
export const PLAYER = new URL('./worker.ts', import.meta.url);

/** A thread's task: the case at a place in the sequence of a seed. */
export interface Work {
  readonly kind: 'case' | 'control' | 'scenario' | 'slow';
  readonly seed: number;
  readonly index: number;
  readonly fixed: Fixed;
}

/** A thread's answer. */
export type Answer =
  | { readonly kind: 'case' | 'scenario'; readonly index: number; readonly result: CaseResult }
  | { readonly kind: 'control'; readonly index: number; readonly result: ControlResult }
  | { readonly kind: 'slow'; readonly index: number; readonly result: SlowResult };
