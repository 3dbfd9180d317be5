import type { CompiledConfig } from '../config/compiled-config.ts';
import {
  type Deliverer,
  LOG_CHANNEL,
  type NoticeDelivery,
  type ReceiptStore,
} from '../core/ports/delivery.ts';
import type { Notice, Notifier } from '../core/ports/notifier.ts';
import type { ChannelOptions } from '../notify/channels.ts';
import type { DelivererOptions } from '../notify/deliverer.ts';
import type { WriteLog } from '../notify/log-channel.ts';
import { threadOf } from '../notify/thread.ts';
import type { Base } from './open-base.ts';
import type { Replaceable } from './replaceable.ts';
import { revealed } from './revealed.ts';
import type { Standby } from './standby.ts';

export interface DelivererParts extends Omit<DelivererOptions, 'opened' | 'groupWaitMs'> {
  readonly log: WriteLog;
}

/** A deliverer for the config's channels. Their secrets are in the clear only inside it. */
export async function delivererOf(config: CompiledConfig, parts: DelivererParts): Promise<Deliverer> {
  const [{ openChannels }, { createDeliverer }] = await Promise.all([
    import('../notify/channels.ts'),
    import('../notify/deliverer.ts'),
  ]);
  const { log, ...rest } = parts;
  const { links, groupWaitMs } = config.notify;
  const opened = openChannels(channelOptions(config), { clock: rest.clock, links, log });
  return createDeliverer({ ...rest, opened, groupWaitMs });
}

/** Alertmanager ends an alert that is not repeated for this many reminder intervals. */
const EXPIRES_AFTER_REMINDERS = 3;

/** Options of the channels for the notifier, with secrets in the clear: do not keep. */
export function channelOptions({ channels, notify }: CompiledConfig): readonly ChannelOptions[] {
  const expireAfterMs = EXPIRES_AFTER_REMINDERS * notify.remindEveryMs;
  return channels.map((channel) => ({ ...revealed(channel), expireAfterMs }));
}

export interface NotifierParts {
  /** Absent: this process is never alone. */
  readonly standby: Standby | undefined;
  readonly deliverer: Replaceable<Deliverer>;
  /** Ends the retries of this process. */
  readonly over: AbortSignal;
}

/** Hands notices to the queue, or to this process's deliverer while there is no queue. */
export function notifierOf(
  { shared, outbox, telemetry }: Pick<Base, 'shared' | 'outbox' | 'telemetry'>,
  { standby, deliverer, over }: NotifierParts,
): Notifier {
  // Not awaited: the deliverer itself retries and reports.
  const deliver = async (notice: Notice): Promise<void> => {
    try {
      await deliverer.current.deliver(notice, over);
      await outbox?.delivered(notice);
    } catch (error) {
      if (!over.aborted) telemetry.emit({ kind: 'workerError', queue: 'notify', error });
    }
  };
  for (const notice of outbox?.left() ?? []) void deliver(notice);
  return {
    hand: async (notices) => {
      if (shared !== undefined && standby?.isAlone !== true)
        return await shared.queues.notifier.hand(notices);
      await outbox?.keep(notices);
      for (const notice of notices) void deliver(notice);
    },
  };
}

/** By the receipts that all processes share. The log reaches nobody: without another channel, notices have failed. */
export function noticeDelivery(
  receipts: Pick<ReceiptStore, 'peek'>,
  channels: () => readonly string[],
): NoticeDelivery {
  return {
    async stateOf(notices) {
      const names = channels().filter((name) => name !== LOG_CHANNEL);
      const threads = notices.flatMap(({ key }) => names.map((name) => threadOf({ key }, name)));
      const found = await receipts.peek(threads);
      return notices.map(({ id }, index) => {
        const own = found.slice(index * names.length, (index + 1) * names.length);
        const kinds = own.map((thread) => thread[id]?.kind);
        if (kinds.includes('delivered')) return 'delivered';
        return kinds.every((kind) => kind === 'failed') ? 'failed' : 'pending';
      });
    },
  };
}
