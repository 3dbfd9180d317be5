import type { DeliveryState } from '../../core/approvals/judge.ts';
import { noticeKeyOf } from '../../core/approvals/question.ts';
import type { StoredAccount } from '../../core/ports/state-store.ts';
import { noticesOf } from '../act/ask-people.ts';
import type { PipelineContext } from '../pipeline-context.ts';

/** By the id of the notice. */
export type Deliveries = ReadonlyMap<string, DeliveryState>;

/**
 * Asks what became of the notices that an account's questions wait for, while the exchange is read. A poll does not wait
 * for the reply: what it has not learned the next one learns.
 */
export class WaitedNotices {
  #known: Deliveries | undefined;

  constructor({ delivery }: Pick<PipelineContext, 'delivery'>, { accountId, documents }: StoredAccount) {
    const waiting = documents.approvals?.questions.filter(
      ({ state, delivered }) => state === 'waiting' && delivered !== true,
    );
    const notices = (waiting ?? []).flatMap((question) =>
      noticesOf(accountId, question).map((id) => ({ id, key: noticeKeyOf(accountId, question) })),
    );
    if (notices.length === 0) return;
    delivery.stateOf(notices).then(
      (states) => {
        this.#known = new Map(notices.map(({ id }, index) => [id, states[index] ?? 'pending']));
      },
      // A notice of which nothing is heard counts as lost in time.
      () => undefined,
    );
  }

  get known(): Deliveries | undefined {
    return this.#known;
  }
}
