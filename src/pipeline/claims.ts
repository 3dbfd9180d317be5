import type { Timers } from '../core/ports/clock.ts';
import type { PipelineContext } from './account.ts';

/** Renewed so often within its length: one that comes late is no reason for anybody to step in. */
const RENEWALS_PER_CLAIM = 3;

type ClaimContext = Pick<PipelineContext, 'store'> & {
  readonly timers: Pick<Timers, 'after'>;
  readonly settings: Pick<PipelineContext['settings'], 'claimMs'>;
};

/**
 * Keeps the claims of one tick while its accounts are being read. A claim is short, so that the accounts of a
 * process that dies are soon taken up by another one or by its successor; whoever lives holds on to what is slow.
 */
export class HeldClaims {
  readonly #context: ClaimContext;
  readonly #bucket: number;
  readonly #held = new Set<string>();
  #callOff: (() => void) | undefined;

  constructor(context: ClaimContext, bucket: number) {
    this.#context = context;
    this.#bucket = bucket;
  }

  /** Until the work ends. What follows it is a commit, which says itself when the account is due. */
  async during<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    this.#held.add(accountId);
    this.#callOff ??= this.#renewLater();
    try {
      return await work();
    } finally {
      this.#held.delete(accountId);
      if (this.#held.size === 0) {
        this.#callOff?.();
        this.#callOff = undefined;
      }
    }
  }

  #renewLater(): () => void {
    const { store, timers, settings } = this.#context;
    const { claimMs } = settings;
    return timers.after(claimMs / RENEWALS_PER_CLAIM, () => {
      this.#callOff = this.#renewLater();
      // A store that is lost is noticed by the commit.
      store.holdClaims(this.#bucket, [...this.#held], claimMs).catch(() => undefined);
    });
  }
}
