/** One thing that was looked at. */
export interface DoctorCheck {
  /** Stable, for scripts: `redis.eviction`. */
  readonly name: string;
  /** `note`: nothing that a program can check; a person has to. */
  readonly status: 'passed' | 'warning' | 'failed' | 'skipped' | 'note';
  /** Account, address or whatever else it is about. */
  readonly about?: string;
  /** What was found. */
  readonly why: string;
  readonly cure?: string;
}

export interface DoctorReport {
  readonly file: string;
  /** Nothing failed. */
  readonly ok: boolean;
  readonly checks: readonly DoctorCheck[];
}
