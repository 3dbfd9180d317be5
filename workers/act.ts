import type { LaneRef } from '../src/core/ports/lane-dispatcher.ts';
import { actJobSchema } from '../src/queues/payloads.ts';
import { type RunningWorker, startWorker, type WorkerSettings } from '../src/queues/worker.ts';

/** From a lane in the queue to one run of it. */
export function startActWorker(
  settings: WorkerSettings,
  runLane: (lane: LaneRef) => Promise<unknown>,
): RunningWorker {
  return startWorker('act', settings, actJobSchema, ({ accountId, market }) =>
    runLane({ accountId, market }),
  );
}
