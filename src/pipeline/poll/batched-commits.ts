import type { Timers } from '../../core/ports/clock.ts';
import type { AccountCommit, CommitResult, StateStore } from '../../core/ports/state-store.ts';

interface Waiting {
  readonly commit: AccountCommit;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Commits of a bucket, one call at a time; commits added meanwhile go with the next call. */
export class BatchedCommits {
  readonly #store: StateStore;
  readonly #timers: Pick<Timers, 'afterTurn'>;
  #waiting: Waiting[] = [];
  #isRunning = false;
  #callOff: (() => void) | undefined;

  constructor(store: StateStore, timers: Pick<Timers, 'afterTurn'>) {
    this.#store = store;
    this.#timers = timers;
  }

  add(commit: AccountCommit, isUrgent: boolean): Promise<CommitResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ commit, resolve, reject });
      if (this.#isRunning) return;
      if (isUrgent) void this.#run();
      else this.#callOff ??= this.#timers.afterTurn(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    this.#callOff?.();
    this.#callOff = undefined;
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        const results = await this.#store.commit(batch.map(({ commit }) => commit));
        for (const [index, { resolve, reject }] of batch.entries()) {
          const result = results[index];
          if (result === undefined) reject(new TypeError('the store did not answer for every account'));
          else resolve(result);
        }
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isRunning = false;
  }
}
