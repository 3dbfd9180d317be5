import type { Control } from '../../core/controls/controls.ts';
import type { AccountView } from '../../core/view/account-view.ts';

/** What `status` knows; with `--json` one of these in one line. */
export interface StatusReport {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly controls: readonly Control[];
  readonly accounts: readonly StatusAccount[];
}

export interface StatusAccount extends AccountView {
  /** Longest time between polls that the config allows; null without one. */
  readonly calmMs: number | null;
  /** The newest actions and outcomes in the audit, oldest first. */
  readonly events: readonly StatusEvent[];
}

export interface StatusEvent {
  readonly seq: number;
  readonly atMs: number;
  readonly kind: string;
  readonly market: string | null;
  readonly reason: string;
  readonly words: string;
  readonly alarm: boolean;
}
