import type { LaneRef } from '../src/core/ports/lane-dispatcher.ts';
import { actJobSchema } from '../src/queues/payloads.ts';
import { type RunningWorker, startWorker, type WorkerSettings } from '../src/queues/worker.ts';

/** Runs the lane of each job in the queue. */
export function startActWorker(
  settings: WorkerSettings,
  runLane: (lane: LaneRef) => Promise<unknown>,
): RunningWorker {
  return startWorker('act', settings, actJobSchema, ({ accountId, market }) =>
    runLane({ accountId, market }),
  );
}
