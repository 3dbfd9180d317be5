import type { Draw } from './mutate.ts';

/** One input of a boundary: what it was, and what becomes of it. */
export interface FuzzInput {
  /** Enough to try it again by hand. */
  readonly text: string;
  /** Throws, or rejects, when the boundary did not hold. */
  readonly run: () => void | Promise<void>;
}

export interface FuzzTarget {
  readonly make: (draw: Draw) => FuzzInput;
  readonly close: () => Promise<void>;
}

/** A boundary: where something comes in that others have written. */
export interface Boundary {
  readonly name: string;
  readonly open: () => Promise<FuzzTarget>;
}
