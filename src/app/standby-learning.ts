import type { Clock } from '../core/ports/clock.ts';
import { BUCKETS, bucketOf, type StateStore } from '../core/ports/state-store.ts';
import type { AccountBook } from '../pipeline/pipeline-context.ts';
import type { StandbyBackend } from '../state/account/backend-standby.ts';

export interface LearningParts {
  readonly backend: StandbyBackend;
  /** Uses the same backend. */
  readonly store: Pick<StateStore, 'readBucket'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** undefined: not yet known. */
  readonly accounts: () => AccountBook | undefined;
}

/** Maximum age of what this process knows of pauses, and of others' decisions, where it polls nothing. */
const EVERY_MS = 1_000;
/** Accounts compared at a time, approximately. */
const MOST_COMPARED = 200;

/**
 * Learns what a process must know should it lose the shared store, and its own polls do not show: it may poll an
 * account rarely, or never if others take the jobs. The probe notices what fails here.
 */
export class StandbyLearning {
  readonly #parts: LearningParts;
  #controlsAskedAtMs = Number.NEGATIVE_INFINITY;
  #comparedAtMs = Number.NEGATIVE_INFINITY;
  #isLearning = false;
  #nextBucket = 0;

  constructor(parts: LearningParts) {
    this.#parts = parts;
  }

  /** Learns of pauses that others put and lift. */
  learnControls(): void {
    const { backend, clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#controlsAskedAtMs < EVERY_MS) return;
    this.#controlsAskedAtMs = nowMs;
    backend.learnControls().catch(() => undefined);
  }

  /**
   * Learns of answers that another process takes in, and of others' decisions. A process that did not know that a rule
   * has fired and reduced a position would, once alone, let it fire and reduce again.
   */
  learnAccounts(): void {
    if (this.#isLearning) return;
    this.#isLearning = true;
    void this.#learn()
      .catch(() => undefined)
      .then(() => {
        this.#isLearning = false;
      });
  }

  async #learn(): Promise<void> {
    const { backend, store } = this.#parts;
    const ids = new Set([...backend.askedAccounts, ...(await this.#decidedByOthers())]);
    const byBucket = [...Map.groupBy(ids, bucketOf)];
    await Promise.all(byBucket.map(([bucket, accountIds]) => store.readBucket(bucket, accountIds)));
  }

  async #decidedByOthers(): Promise<readonly string[]> {
    const { backend, clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (!backend.hasCompany || nowMs - this.#comparedAtMs < EVERY_MS) return [];
    this.#comparedAtMs = nowMs;
    const compared = this.#nextAccounts().map(([bucket, accountIds]) => backend.unseen(bucket, accountIds));
    return (await Promise.all(compared)).flat();
  }

  /** The next buckets, until they have enough accounts; continues where the last call stopped. */
  #nextAccounts(): readonly (readonly [bucket: number, accountIds: readonly string[]])[] {
    const accounts = this.#parts.accounts();
    const next: [number, readonly string[]][] = [];
    let count = 0;
    for (let step = 0; step < BUCKETS && count < MOST_COMPARED; step++) {
      const bucket = this.#nextBucket;
      this.#nextBucket = (bucket + 1) % BUCKETS;
      const accountIds = accounts?.inBucket(bucket) ?? [];
      if (accountIds.length > 0) next.push([bucket, accountIds]);
      count += accountIds.length;
    }
    return next;
  }
}
