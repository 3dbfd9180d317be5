import type { Draw } from './mutate.ts';

/** One input of a boundary: what it was, and what becomes of it. */
export interface FuzzInput {
  /** Enough to try it again by hand. */
  readonly text: string;
  /** Processor time that it may take; 50 ms when absent. */
  readonly longestMs?: number;
  /** Memory that it may allocate; 64 MiB when absent. */
  readonly mostBytes?: number;
  /** Throws, or rejects, when the boundary did not hold. */
  readonly run: () => void | Promise<void>;
}

export interface FuzzTarget {
  readonly make: (draw: Draw) => FuzzInput;
  /** Comes through: runs before others are judged, so that code which few of them reach is compiled by then. */
  readonly valid?: FuzzInput;
  /** Gives up what accepted inputs are meant to leave behind; called before memory is measured. */
  readonly rest?: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A boundary: where something comes in that others have written. */
export interface Boundary {
  readonly name: string;
  readonly open: () => Promise<FuzzTarget>;
}
