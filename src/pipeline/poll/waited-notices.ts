import type { DeliveryState } from '../../core/approvals/judge.ts';
import { noticeKeyOf } from '../../core/approvals/question.ts';
import type { StoredAccount } from '../../core/ports/state-store.ts';
import { noticesOf } from '../act/ask-people.ts';
import type { PipelineContext } from '../pipeline-context.ts';

/** By notice id. */
export type Deliveries = ReadonlyMap<string, DeliveryState>;

/**
 * Queries the delivery of notices that an account's open questions wait for, while the exchange is read. The poll
 * does not wait for the reply: the next poll asks for what is still missing.
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
      // A notice without news counts as lost in time.
      () => undefined,
    );
  }

  get known(): Deliveries | undefined {
    return this.#known;
  }
}
