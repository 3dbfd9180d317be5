import type { AskedQuestion } from '../../core/approvals/ask.ts';
import type { Settled } from '../../core/approvals/judge.ts';
import type { AuditEvent } from '../../core/audit/audit-event.ts';
import type { ControlsInForce } from '../../core/controls/controls.ts';
import type { LaneState } from '../../core/lanes/lane-state.ts';
import type { OwnOrder } from '../../core/lanes/own-order.ts';
import type { Escalation, Notice } from '../../core/ports/notifier.ts';
import type { StoredAlerts } from '../../core/ports/state-store.ts';
import type { Snapshot } from '../../core/quantities/snapshot.ts';
import type { Transition } from '../../core/rules/decision.ts';
import type { ActionRequest } from '../../core/rules/subject.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import type { ReadFailure, StoredFigures } from '../../core/view/stored-figures.ts';
import type { WatchedAccount } from '../pipeline-context.ts';
import type { DepositCure } from './deposit-cure.ts';

/** Lives as long as its episode, and until what it says last has been handed over. */
export interface AlertEntry {
  readonly notice: Notice;
  readonly saidMs: number;
  readonly count: number;
  readonly handed: boolean;
  /** Once others were told because nobody acknowledged: all channels that have to hear of the end. */
  readonly told?: readonly string[];
}

export interface AlertScene {
  readonly account: WatchedAccount;
  readonly stored: StoredAlerts | undefined;
  readonly active: readonly ActionRequest[];
  readonly conclusive: boolean;
  readonly events: readonly AuditEvent[];
  /** What people have to be asked, and what became of what they were asked. */
  readonly asked: readonly AskedQuestion[];
  readonly settled: readonly Settled[];
  readonly inForce: ControlsInForce;
  readonly snapshot: Snapshot;
  /** Why the newest reads failed, of sources that could not be read. */
  readonly failures: readonly ReadFailure[];
  /** Of credit lines whose rules end with this evaluation. */
  readonly cures: readonly DepositCure[];
  /** The account as it is after this evaluation; made when it is first asked for. */
  readonly view: () => AccountView;
  readonly transitions: readonly Transition[];
  /** After this evaluation. */
  readonly lanes: readonly LaneState[];
  /** Standing stops of ours before it. */
  readonly stopsBefore: readonly OwnOrder[];
  /** What was last read before it. */
  readonly figuresBefore: StoredFigures | undefined;
  readonly reminderMs: number;
  readonly escalation?: Escalation | undefined;
  readonly nowMs: number;
  /** The same moment on the lanes' clock. */
  readonly laneNowMs: number;
}
