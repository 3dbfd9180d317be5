/** When a position missing from lists counts as closed: exchanges have shown empty lists for minutes. */
const LEAST_READS = 3;
const LEAST_MS = 180_000;

/** Number of consecutive complete reads without the position, and the time since the first of them. */
export interface Unseen {
  readonly reads: number;
  readonly forMs: number;
}

/** Counts another list without it. `timerMs`: time since the last evaluation. A list seen before only adds time. */
export function stillUnseen(unseen: Unseen | undefined, isNewRead: boolean, timerMs: number): Unseen {
  return {
    reads: (unseen?.reads ?? 0) + Number(isNewRead),
    forMs: unseen === undefined ? 0 : unseen.forMs + timerMs,
  };
}

export function isConfirmedClosed({ reads, forMs }: Unseen): boolean {
  return reads >= LEAST_READS && forMs >= LEAST_MS;
}

/** How long after the first read without a position an explanation of its closure is kept. */
export const CLOSURE_EXPLAINED_MS = LEAST_MS;
