import type { AskedQuestion } from '../../core/approvals/ask.ts';
import type { Settled } from '../../core/approvals/judge.ts';
import type { AuditEvent } from '../../core/audit/audit-event.ts';
import type { ControlsInForce } from '../../core/controls/controls.ts';
import type { LaneState } from '../../core/lanes/lane-state.ts';
import type { OwnOrder } from '../../core/lanes/own-order.ts';
import type { Escalation, Notice } from '../../core/ports/notifier.ts';
import type { StoredAlerts } from '../../core/ports/state-store.ts';
import type { Snapshot } from '../../core/quantities/snapshot.ts';
import type { AccountState } from '../../core/rules/account-state.ts';
import type { Transition } from '../../core/rules/decision.ts';
import type { ActionRequest } from '../../core/rules/subject.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import type { ReadFailure } from '../../core/view/stored-figures.ts';
import type { WatchedAccount } from '../pipeline-context.ts';
import type { DepositCure } from './deposit-cure.ts';

/** Kept as long as its episode, and until its last notice has been handed over. */
export interface AlertEntry {
  readonly notice: Notice;
  readonly saidMs: number;
  readonly count: number;
  readonly handed: boolean;
  /** Set once escalated: all channels that must hear of the end. */
  readonly told?: readonly string[];
}

export interface AlertScene {
  readonly account: WatchedAccount;
  readonly stored: StoredAlerts | undefined;
  readonly active: readonly ActionRequest[];
  readonly conclusive: boolean;
  readonly events: readonly AuditEvent[];
  /** New questions to people, and the outcomes of earlier ones. */
  readonly asked: readonly AskedQuestion[];
  readonly settled: readonly Settled[];
  readonly inForce: ControlsInForce;
  readonly snapshot: Snapshot;
  /** Why the newest reads of unreadable sources failed. */
  readonly failures: readonly ReadFailure[];
  /** Deposits that may have cured credit lines whose rules end with this evaluation. */
  readonly cures: readonly DepositCure[];
  /** The account after this evaluation; computed at the first call. */
  readonly view: () => AccountView;
  readonly transitions: readonly Transition[];
  /** After this evaluation. */
  readonly lanes: readonly LaneState[];
  /** Our standing stops before this evaluation. */
  readonly stopsBefore: readonly OwnOrder[];
  /** What was remembered before this evaluation. */
  readonly before: Pick<AccountState, 'positions' | 'creditLines'>;
  readonly reminderMs: number;
  readonly escalation?: Escalation | undefined;
  readonly nowMs: number;
  /** The same moment on the lanes' clock. */
  readonly laneNowMs: number;
}
