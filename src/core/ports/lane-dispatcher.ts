import type { Controls } from '../controls/controls.ts';
import type { StoredAccount } from './state-store.ts';

export interface LaneRef {
  readonly accountId: string;
  readonly market: string | null;
}

/** An account as just read or committed; possibly older than the stored one, never newer. */
export interface SeenAccount {
  readonly stored: StoredAccount;
  readonly controls: Controls;
}

/** Hands lanes to the workers that run them; a lane that already waits is not dispatched twice. */
export interface LaneDispatcher {
  /** `seen` contains the reason for the dispatch: a worker that starts at once need not read the account again. */
  dispatch(lanes: readonly LaneRef[], seen?: SeenAccount): Promise<void>;
}
