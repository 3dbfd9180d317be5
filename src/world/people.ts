import type { NoticeDelivery } from '../core/ports/delivery.ts';
import type { Notice } from '../core/ports/notifier.ts';

/** Everybody who can be notified, over one channel that works or does not. */
export class People implements NoticeDelivery {
  isReachable = true;
  readonly #told = new Set<string>();

  tell(notices: readonly Notice[]): void {
    if (this.isReachable) for (const { id } of notices) this.#told.add(id);
  }

  async stateOf(
    notices: readonly Pick<Notice, 'id'>[],
  ): Promise<readonly ('delivered' | 'failed' | 'pending')[]> {
    return notices.map(({ id }) => {
      if (this.#told.has(id)) return 'delivered';
      return this.isReachable ? 'pending' : 'failed';
    });
  }
}
