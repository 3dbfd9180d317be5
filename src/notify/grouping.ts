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
 *
 * @returns a function that delivers a message, alone or in a group, and resolves when it is settled
 */
export function createGrouping(clock: Clock, waitMs: number) {
  const groups = new Map<string, Group>();
  const begin = (key: string, context: ThreadContext): Group => {
    const messages: Message[] = [];
    const gather = async (): Promise<ReadonlyMap<string, Delivery>> => {
      try {
        await clock.sleep(waitMs, context.signal);
      } finally {
        if (groups.get(key) === group) groups.delete(key);
      }
      return await deliverTogether(messages, context);
    };
    const group = { messages, delivered: gather() };
    groups.set(key, group);
    return group;
  };
  return async (message: Message, context: ThreadContext): Promise<Delivery> => {
    const { open, insteadOf } = context;
    const common = open.channel.audience === 'people' ? commonOf(message) : undefined;
    if (common === undefined || waitMs === 0) {
      return deliveryOf(message, await deliverTogether([message], context));
    }
    const key = JSON.stringify([open.channel.name, insteadOf.map(({ channel }) => channel), common]);
    const group = groups.get(key) ?? begin(key, context);
    group.messages.push(message);
    if (group.messages.length >= MOST) groups.delete(key);
    return deliveryOf(message, await group.delivered);
  };
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
