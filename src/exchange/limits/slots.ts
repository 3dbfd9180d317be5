import type { CallScope } from '../call/call-scope.ts';

/** Connections for `normal` requests in flight, plus a tenth reserved for protective ones. */
export const withReserve = (normal: number): number => normal + Math.ceil(normal / 10);

/**
 * Bounds the requests in flight to the number of connections: while a request waited for a connection, its nonce and
 * permit would become stale. Protective calls go first and have reserved slots.
 */
export class Slots {
  readonly #normal: number;
  readonly #all: number;
  #taken = 0;
  readonly #waiting = { normal: new Set<() => void>(), protective: new Set<() => void>() };

  constructor(normal: number) {
    this.#normal = normal;
    this.#all = withReserve(normal);
  }

  /** Waits for a slot; false if the call was over first. */
  async take(protective: boolean, scope: CallScope): Promise<boolean> {
    if (this.#isFree(protective)) {
      this.#taken += 1;
      return true;
    }
    const waiting = this.#waiting[protective ? 'protective' : 'normal'];
    return new Promise((resolve) => {
      const grant = () => {
        scope.onCancel(undefined);
        resolve(true);
      };
      waiting.add(grant);
      scope.onCancel(() => {
        waiting.delete(grant);
        resolve(false);
      });
    });
  }

  /** Returns a slot. It passes to the next waiter at once, so that nobody overtakes. */
  release(): void {
    this.#taken -= 1;
    const { normal, protective } = this.#waiting;
    const waiting = protective.size > 0 ? protective : normal;
    const [grant] = waiting;
    if (grant === undefined || !this.#isFree(waiting === protective)) return;
    waiting.delete(grant);
    this.#taken += 1;
    grant();
  }

  #isFree(protective: boolean): boolean {
    return this.#taken < (protective ? this.#all : this.#normal);
  }
}
