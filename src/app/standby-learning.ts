import type { Clock } from '../core/ports/clock.ts';
import { BUCKETS, bucketOf, type StateStore } from '../core/ports/state-store.ts';
import type { AccountBook } from '../pipeline/pipeline-context.ts';
import type { StandbyBackend } from '../state/account/backend-standby.ts';

export interface LearningParts {
  readonly backend: StandbyBackend;
  /** Over the same backend. */
  readonly store: Pick<StateStore, 'readBucket'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Undefined: none yet. */
  readonly accounts: () => AccountBook | undefined;
}

/** So old may be what is known of pauses, and of what others decided, where this process polls nothing. */
const EVERY_MS = 1_000;
/** Accounts that are compared at a time, about. */
const MOST_COMPARED = 200;

/**
 * What a process has to know should it lose the shared store, and does not learn by its own polls: it may poll an account
 * rarely, or never where others take the jobs. What fails here is seen by the probe.
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

  /** Pauses that others put and lift. */
  learnControls(): void {
    const { backend, clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#controlsAskedAtMs < EVERY_MS) return;
    this.#controlsAskedAtMs = nowMs;
    backend.learnControls().catch(() => undefined);
  }

  /**
   * What somebody answers and another process takes in, and what others decide. Who did not know that a rule has fired and
   * has reduced a position would, alone, let it fire and reduce again.
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

  /** The next buckets, until they have enough accounts; it goes on where it stopped the last time. */
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
