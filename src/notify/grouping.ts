import type { Clock } from '../core/ports/clock.ts';
import type { Delivery, Message } from '../core/ports/delivery.ts';
import { deliverTogether, type ThreadContext } from './thread.ts';

interface Group {
  readonly messages: Message[];
  readonly delivered: Promise<ReadonlyMap<string, Delivery>>;
}

/** Some receivers would cut a longer message. */
const MOST = 200;

/**
 * Combines messages of many accounts with one cause into one message per channel: the first waits a little for the
 * others. Messages that may need action are not delayed.
 */
export class Grouping {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #groups = new Map<string, Group>();

  constructor(clock: Clock, waitMs: number) {
    this.#clock = clock;
    this.#waitMs = waitMs;
  }

  /** Delivers the message, alone or in a group. Resolves when it is settled. */
  async deliver(message: Message, context: ThreadContext): Promise<Delivery> {
    const { open, insteadOf } = context;
    const common = open.channel.audience === 'people' ? commonOf(message) : undefined;
    if (common === undefined || this.#waitMs === 0) {
      return deliveryOf(message, await deliverTogether([message], context));
    }
    const key = JSON.stringify([open.channel.name, insteadOf.map(({ channel }) => channel), common]);
    const group = this.#groups.get(key) ?? this.#begin(key, context);
    group.messages.push(message);
    if (group.messages.length >= MOST) this.#groups.delete(key);
    return deliveryOf(message, await group.delivered);
  }

  #begin(key: string, context: ThreadContext): Group {
    const messages: Message[] = [];
    const gather = async (): Promise<ReadonlyMap<string, Delivery>> => {
      try {
        await this.#clock.sleep(this.#waitMs, context.signal);
      } finally {
        if (this.#groups.get(key) === group) this.#groups.delete(key);
      }
      return await deliverTogether(messages, context);
    };
    const delivered = gather();
    const group = { messages, delivered };
    this.#groups.set(key, group);
    return group;
  }
}

function deliveryOf({ id }: Message, deliveries: ReadonlyMap<string, Delivery>): Delivery {
  const delivery = deliveries.get(id);
  if (delivery === undefined) throw new Error('a message of a group was not settled');
  return delivery;
}

/** Returns what messages must have in common to be sent in one; undefined if this one is sent alone. */
function commonOf({ kind, ruleId, subject, severity, mode, doing }: Message): string | undefined {
  if (kind === 'resolved') {
    return subject === 'account' ? JSON.stringify([kind, ruleId, severity, mode]) : undefined;
  }
  if (kind === 'test' || doing?.state !== 'blind') return undefined;
  return JSON.stringify([kind, ruleId, severity, mode, doing.cause]);
}
