import type { Controls } from '../controls/controls.ts';
import type { StoredAccount } from './state-store.ts';

export interface LaneRef {
  readonly accountId: string;
  readonly market: string | null;
}

/** An account as somebody has just read or committed it; older than what is stored, perhaps, but never newer. */
export interface SeenAccount {
  readonly stored: StoredAccount;
  readonly controls: Controls;
}

/** Hands lanes to whoever carries them out; one that is waiting already is not handed over twice. */
export interface LaneDispatcher {
  /** `seen`: what they were handed over for is in it, so that whoever begins at once need not read it again. */
  dispatch(lanes: readonly LaneRef[], seen?: SeenAccount): Promise<void>;
}
