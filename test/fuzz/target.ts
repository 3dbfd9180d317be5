import type { Draw } from './mutate.ts';

/** One input of a boundary, and its effect. */
export interface FuzzInput {
  /** Enough to repeat it by hand. */
  readonly text: string;
  /** Limit of processor time in milliseconds; default 50. */
  readonly longestMs?: number;
  /** Limit of allocated memory; default 64 MiB. */
  readonly mostBytes?: number;
  /** Throws, or rejects, if the boundary did not hold. */
  readonly run: () => void | Promise<void>;
}

export interface FuzzTarget {
  readonly make: (draw: Draw) => FuzzInput;
  /** An accepted input: runs before others are judged, so that code which few of them reach is compiled by then. */
  readonly valid?: FuzzInput;
  /** Releases what accepted inputs are meant to leave behind; called before memory is measured. */
  readonly rest?: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A boundary: a place where input written by others enters. */
export interface Boundary {
  readonly name: string;
  readonly open: () => Promise<FuzzTarget>;
}
