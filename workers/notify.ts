import type { Deliverer } from '../src/core/ports/delivery.ts';
import { asUnproven } from '../src/core/ports/notifier.ts';
import type { OperatorTrust } from '../src/core/ports/operator-trust.ts';
import { notifyJobSchema } from '../src/queues/payloads.ts';
import { type RunningWorker, startWorker, type WorkerSettings } from '../src/queues/worker.ts';

interface NotifyParts {
  /** Another one may replace it when the config changes. */
  readonly deliverer: () => Deliverer;
  readonly operators: Pick<OperatorTrust, 'noticeFault'>;
  readonly signal: AbortSignal;
}

/** Delivers each notice in the queue. One that another version or somebody else wrote is marked, not lost. */
export function startNotifyWorker(
  settings: WorkerSettings,
  { deliverer, operators, signal }: NotifyParts,
): RunningWorker {
  return startWorker('notify', settings, notifyJobSchema, ({ notice, seal }, { data }) => {
    // The seal covers the notice as written, with the parts that this version does not know.
    const fault = operators.noticeFault((data as { readonly notice: unknown }).notice, seal);
    if (fault === undefined) return deliverer().deliver(notice, signal);
    settings.telemetry.emit({ kind: 'noticeUnproven', queue: 'notify', words: fault });
    return deliverer().deliver(asUnproven(notice, fault), signal);
  });
}
