import { type ChannelReport, type DeliveryReport, LOG_CHANNEL } from '../core/ports/delivery.ts';
import type { Outgoing } from './channel.ts';

export type DeliverOne = (name: string, insteadOf: Outgoing['insteadOf']) => Promise<ChannelReport>;

/**
 * Delivers to all targets in parallel. After the first failure it tries the other channels one after another until one
 * takes the message; it does not wait for targets that are still busy. The log comes last.
 */
export async function fanOut(
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

/** Returns the other channels: those after the first target, then those before it, then the log. */
function standIns(targets: readonly string[], all: readonly string[]): string[] {
  const asked = new Set(targets);
  const from = all.findIndex((name) => asked.has(name)) + 1;
  return [...all.slice(from), ...all.slice(0, from)]
    .filter((name) => !asked.has(name))
    .toSorted((a, b) => Number(a === LOG_CHANNEL) - Number(b === LOG_CHANNEL));
}
