import {
  type ChannelReport,
  type Deliverer,
  type Delivery,
  type DeliveryObserver,
  LOG_CHANNEL,
  type Message,
  type Receipt,
} from '../core/ports/delivery.ts';
import type { Outgoing } from './channel.ts';
import { createGrouping } from './grouping.ts';
import { type OpenChannel, type ThreadContext, threadOf } from './thread.ts';

export interface DelivererOptions extends Pick<ThreadContext, 'receipts' | 'clock' | 'random'> {
  /** In the order in which they stand in for each other; the log is last. */
  readonly opened: readonly OpenChannel[];
  /** Name of this process, unique among all. */
  readonly instance: string;
  /** How long a message waits for messages of other accounts with the same cause. */
  readonly groupWaitMs: number;
  readonly observer?: DeliveryObserver;
}

export function createDeliverer(options: DelivererOptions): Deliverer {
  const byName = new Map(options.opened.map((open) => [open.channel.name, open]));
  const unstored = new Map<string, Receipt>();
  const deliverGrouped = createGrouping(options.clock, options.groupWaitMs);
  let undertakings = 0;
  return {
    async deliver(message, signal) {
      signal?.throwIfAborted();
      const owner = `${options.instance}/${++undertakings}`;
      const one: DeliverOne = async (name, insteadOf) => {
        const open = byName.get(name);
        const context = { ...options, insteadOf, owner, signal, unstored };
        const onRetry: ThreadContext['onRetry'] = (about, reason, inMs) =>
          safely(() => options.observer?.onRetry?.(about, name, reason, inMs));
        const delivery =
          open === undefined ? NO_SUCH_CHANNEL : await deliverGrouped(message, { ...context, open, onRetry });
        const type = open?.channel.type ?? 'unknown';
        const told = { channel: name, type, insteadOf: insteadOf.map(({ channel }) => channel), delivery };
        safely(() => options.observer?.onDelivery?.(message, told));
        return told;
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

/** Returns the named channels; for reminders and resolutions also stand-ins that had an earlier message. */
async function targetsOf(message: Message, options: DelivererOptions): Promise<readonly string[]> {
  const { opened, receipts } = options;
  const all = takersOf(message, opened);
  const wanted = message.channels.length === 0 ? all : message.channels;
  const known = wanted.filter((name) => opened.some(({ channel }) => channel.name === name));
  // A resolution needs no stand-in for a channel that is no longer configured.
  const ended = known.length === 0 ? [LOG_CHANNEL] : known;
  const named = new Set(message.kind === 'resolved' ? ended : wanted);
  if (message.kind !== 'resolved' && message.kind !== 'reminder') return [...named];
  const others = all.filter((name) => !named.has(name));
  const seen = await receipts.peek(others.map((name) => threadOf(message, name)));
  const told = others.filter((_name, index) =>
    Object.values(seen[index] ?? {}).some(({ kind }) => kind === 'delivered'),
  );
  const targets = [...named, ...told];
  return message.acknowledged === undefined ? targets : targets.filter((name) => endsBySilence(name, opened));
}

/** An acknowledged episode sends no reminders, except to receivers that would otherwise end the alert. */
function endsBySilence(name: string, opened: DelivererOptions['opened']): boolean {
  return opened.some(({ channel }) => channel.name === name && channel.endsBySilence === true);
}

/** Returns the channels that take a message by default or as stand-ins. Pagers take no digests. */
function takersOf({ kind }: Pick<Message, 'kind'>, opened: DelivererOptions['opened']): readonly string[] {
  const takes = opened.filter(({ channel: { audience } }) => audience !== 'pager' || kind !== 'digest');
  return takes.map(({ channel }) => channel.name);
}

function safely(tell: () => void): void {
  try {
    tell();
  } catch {
    // See DeliveryObserver: an observer must not change the fate of a message.
  }
}

type DeliverOne = (name: string, insteadOf: Outgoing['insteadOf']) => Promise<ChannelReport>;

/**
 * Delivers to all targets in parallel. After the first failure it tries the other channels one after another until one
 * takes the message; it does not wait for targets that are still busy. The log comes last.
 */
async function fanOut(targets: readonly string[], all: readonly string[], one: DeliverOne) {
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

/** Returns the other channels: those after the first target, then those before it, then the log. */
function standIns(targets: readonly string[], all: readonly string[]): string[] {
  const asked = new Set(targets);
  const from = all.findIndex((name) => asked.has(name)) + 1;
  return [...all.slice(from), ...all.slice(0, from)]
    .filter((name) => !asked.has(name))
    .toSorted((a, b) => Number(a === LOG_CHANNEL) - Number(b === LOG_CHANNEL));
}
