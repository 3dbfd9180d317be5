import type { Clock } from '../core/ports/clock.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { createEventLog } from './log-events.ts';
import type { Logger } from './logger.ts';
import { createMetrics } from './metrics/registry.ts';
import { createRecorder, type MetricsRecorder } from './record.ts';

export interface DaemonTelemetry extends Telemetry {
  readonly metrics: MetricsRecorder;
}

/** Logs and metrics of one process. What goes wrong in here never reaches what is observed. */
export function createTelemetry(options: {
  readonly logger: Logger;
  readonly version: string;
  readonly clock: Clock;
}): DaemonTelemetry {
  const { logger, version, clock } = options;
  const metrics = createRecorder(createMetrics(version), clock);
  const log = createEventLog(logger, clock);
  const failed = (error: unknown): void =>
    logger.log('error', 'telemetryFailed', 'an event could not be recorded', { error });
  return {
    metrics,
    emit(event) {
      try {
        metrics.record(event);
      } catch (error) {
        failed(error);
      }
      try {
        log(event);
      } catch (error) {
        failed(error);
      }
    },
  };
}
