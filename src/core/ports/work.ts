/** A lane that has something to do: one market, or (`market: null`) all of them at once. */
export interface LaneRef {
  readonly accountId: string;
  readonly market: string | null;
}

/** Hands lanes to whoever carries them out; one that is waiting already is not handed over twice. */
export interface LaneDispatcher {
  dispatch(lanes: readonly LaneRef[]): Promise<void>;
}
