import type { Recorder } from '../audit/audit-event.ts';
import type { LaneState, MarketRead } from '../lanes/lane-state.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';

/** What an intent is judged against: the lane as it is, and the newest read that may be sized by. */
export interface SettleScene {
  readonly state: LaneState;
  readonly read: MarketRead;
  /** The read, with positions that it does not show and that may be open all the same. */
  readonly exposure: MarketRead;
  /** Whether the read is what is known now, so that new intents may take their basis from it. */
  readonly mayStart: boolean;
  readonly market: MarketSettings | undefined;
  readonly settings: AccountSettings;
  readonly nowMs: number;
  readonly audit: Recorder;
}
