import type { Clock, Random } from '../core/ports/clock.ts';
import type {
  ChannelReport,
  Deliverer,
  Delivery,
  DeliveryObserver,
  DeliveryReport,
  Message,
  Receipt,
  ReceiptStore,
} from '../core/ports/delivery.ts';
import type { Outgoing } from './channel.ts';
import { Grouping } from './grouping.ts';
import { LOG_CHANNEL } from './log-channel.ts';
import { type OpenChannel, type ThreadContext, threadOf } from './thread.ts';

export interface DelivererOptions {
  /** In the order in which they stand in for each other; the log last. */
  readonly opened: readonly OpenChannel[];
  readonly receipts: ReceiptStore;
  readonly clock: Clock;
  readonly random: Random;
  /** Of this process, unique among all. */
  readonly instance: string;
  /** So long messages of several accounts for one cause wait for one another. */
  readonly groupWaitMs: number;
  readonly observer?: DeliveryObserver;
}

export function createDeliverer(options: DelivererOptions): Deliverer {
  const { receipts, clock, random } = options;
  const byName = new Map(options.opened.map((open) => [open.channel.name, open]));
  const unstored = new Map<string, Receipt>();
  const grouping = new Grouping(clock, options.groupWaitMs);
  let undertakings = 0;
  return {
    async deliver(message, signal) {
      signal?.throwIfAborted();
      const owner = `${options.instance}/${++undertakings}`;
      const one = async (name: string, insteadOf: Outgoing['insteadOf']): Promise<ChannelReport> => {
        const open = byName.get(name);
        const onRetry: ThreadContext['onRetry'] = (about, reason, inMs) =>
          safely(() => options.observer?.onRetry?.(about, name, reason, inMs));
        const context = { receipts, clock, random, owner, unstored, onRetry };
        const report: ChannelReport = {
          channel: name,
          type: open?.channel.type ?? 'unknown',
          insteadOf: insteadOf.map(({ channel }) => channel),
          delivery:
            open === undefined
              ? NO_SUCH_CHANNEL
              : await grouping.deliver(message, open, insteadOf, context, signal),
        };
        safely(() => options.observer?.onDelivery?.(message, report));
        return report;
      };
      const targets = await targetsOf(message, options);
      const standIns = message.acknowledged === undefined ? takersOf(message, options.opened) : targets;
      return await fanOut(targets, standIns, one);
    },
    async close() {
      await Promise.all(options.opened.map(({ channel }) => channel.close()));
    },
  };
}

const NO_SUCH_CHANNEL: Delivery = {
  kind: 'failed',
  reason: 'noSuchChannel',
  words: 'no channel of this name is configured',
  attempts: 0,
  durationMs: 0,
};

/** The channels named; for what goes on also those that were told of its beginning instead of others. */
async function targetsOf(message: Message, options: DelivererOptions): Promise<readonly string[]> {
  const { opened, receipts } = options;
  const all = takersOf(message, opened);
  const named = new Set(message.channels.length === 0 ? all : message.channels);
  if (message.kind !== 'resolved' && message.kind !== 'reminder') return [...named];
  const others = all.filter((name) => !named.has(name));
  const known = await receipts.peek(others.map((name) => threadOf(message, name)));
  const told = others.filter((_name, index) =>
    Object.values(known[index] ?? {}).some(({ kind }) => kind === 'delivered'),
  );
  const targets = [...named, ...told];
  return message.acknowledged === undefined ? targets : targets.filter((name) => endsBySilence(name, opened));
}

/** Nobody is reminded of what somebody sees to, but it must not be taken to be over either. */
function endsBySilence(name: string, opened: DelivererOptions['opened']): boolean {
  return opened.some(({ channel }) => channel.name === name && channel.endsBySilence === true);
}

/** Channels that take it unasked, also in place of others: nobody is called out of bed for a digest. */
function takersOf({ kind }: Message, opened: DelivererOptions['opened']): readonly string[] {
  const takes = kind === 'digest' ? opened.filter(({ channel }) => channel.audience !== 'pager') : opened;
  return takes.map(({ channel }) => channel.name);
}

type DeliverOne = (name: string, insteadOf: Outgoing['insteadOf']) => Promise<ChannelReport>;

/**
 * All targets at once. From the first failure on, the channels that were not asked are tried one after another
 * until one has it, without waiting for targets that are still at it; the log comes last.
 */
async function fanOut(
  targets: readonly string[],
  all: readonly string[],
  one: DeliverOne,
): Promise<DeliveryReport> {
  const reports: ChannelReport[] = [];
  const failures: { channel: string; words: string }[] = [];
  const spare = standIns(targets, all);
  let escalation: Promise<void> | undefined;
  const ask = async (name: string, insteadOf: Outgoing['insteadOf']): Promise<boolean> => {
    const report = await one(name, insteadOf);
    reports.push(report);
    if (report.delivery.kind !== 'failed') return true;
    failures.push({ channel: name, words: report.delivery.words });
    return false;
  };
  const escalate = async (): Promise<void> => {
    for (let name = spare.shift(); name !== undefined; name = spare.shift()) {
      if (await ask(name, [...failures])) return;
    }
  };
  const settled = await Promise.allSettled(
    targets.map(async (name) => {
      if (await ask(name, [])) return;
      escalation ??= escalate();
      await escalation;
    }),
  );
  const lost = settled.find((result) => result.status === 'rejected');
  if (lost !== undefined) throw lost.reason;
  return {
    channels: reports,
    reached: reports.some(
      ({ type, delivery: { kind } }) =>
        type !== LOG_CHANNEL && (kind === 'delivered' || kind === 'duplicate'),
    ),
  };
}

/** Channels that were not asked: those after the first one that was, then those before it. */
function standIns(targets: readonly string[], all: readonly string[]): string[] {
  const asked = new Set(targets);
  const from = all.findIndex((name) => asked.has(name)) + 1;
  return [...all.slice(from), ...all.slice(0, from)]
    .filter((name) => !asked.has(name))
    .toSorted((a, b) => Number(a === LOG_CHANNEL) - Number(b === LOG_CHANNEL));
}

function safely(tell: () => void): void {
  try {
    tell();
  } catch {
    // See DeliveryObserver: an observer must not change the fate of a message.
  }
}
