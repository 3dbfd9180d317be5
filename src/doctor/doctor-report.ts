export interface DoctorCheck {
  /** Stable, for scripts: `redis.eviction`. */
  readonly name: string;
  /** `note`: a person has to check it, as no program can. */
  readonly status: 'passed' | 'warning' | 'failed' | 'skipped' | 'note';
  /** Its account, address or other subject. */
  readonly about?: string;
  readonly why: string;
  readonly cure?: string;
}

export interface DoctorReport {
  readonly file: string;
  /** Nothing failed. */
  readonly ok: boolean;
  readonly checks: readonly DoctorCheck[];
}
