/** When a position that lists no longer show counts as closed: exchanges have shown empty lists for minutes. */
const LEAST_READS = 3;
const LEAST_MS = 180_000;

/** Complete reads in a row that did not show a position, and how long the first one has been ago. */
export interface Unseen {
  readonly reads: number;
  readonly forMs: number;
}

/** After one more list without it. `timerMs`: since the last look; a list that was looked at before counts as time only. */
export function stillUnseen(unseen: Unseen | undefined, isNewRead: boolean, timerMs: number): Unseen {
  return {
    reads: (unseen?.reads ?? 0) + Number(isNewRead),
    forMs: unseen === undefined ? 0 : unseen.forMs + timerMs,
  };
}

export function isConfirmedClosed({ reads, forMs }: Unseen): boolean {
  return reads >= LEAST_READS && forMs >= LEAST_MS;
}

/** For as long after the first read without it, what explains a closure is remembered. */
export const CLOSURE_EXPLAINED_MS = LEAST_MS;
