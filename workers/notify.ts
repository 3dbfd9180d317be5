import type { Deliverer } from '../src/core/ports/delivery.ts';
import { asUnproven } from '../src/core/ports/notifier.ts';
import type { OperatorTrust } from '../src/core/ports/operator-trust.ts';
import { notifyJobSchema } from '../src/queues/payloads.ts';
import { type RunningWorker, startWorker, type WorkerSettings } from '../src/queues/worker.ts';

interface NotifyParts {
  /** It may be replaced when the config changes. */
  readonly deliverer: () => Deliverer;
  readonly operators: Pick<OperatorTrust, 'noticeFault'>;
  readonly signal: AbortSignal;
}

/** From a notice in the queue to its delivery. One that another version or somebody else wrote is not lost, but marked. */
export function startNotifyWorker(
  settings: WorkerSettings,
  { deliverer, operators, signal }: NotifyParts,
): RunningWorker {
  return startWorker('notify', settings, notifyJobSchema, ({ notice, seal }, { data }) => {
    // As written: what this version does not know of it is under the seal, too.
    const fault = operators.noticeFault((data as { readonly notice: unknown }).notice, seal);
    if (fault === undefined) return deliverer().deliver(notice, signal);
    settings.telemetry.emit({ kind: 'noticeUnproven', queue: 'notify', words: fault });
    return deliverer().deliver(asUnproven(notice, fault), signal);
  });
}
