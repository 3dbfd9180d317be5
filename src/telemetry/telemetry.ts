import type { Clock } from '../core/ports/clock.ts';
import type { DaemonEvent, Telemetry } from '../core/ports/telemetry.ts';
import { createEventLog } from './log-events.ts';
import type { Logger } from './logger.ts';
import { createMetrics } from './metrics/registry.ts';
import { createRecorder, type MetricsRecorder } from './record.ts';

export interface DaemonTelemetry extends Telemetry {
  readonly metrics: MetricsRecorder;
}

/** Creates the logs and metrics of one process. Their errors never reach the code that emits events. */
export function createTelemetry(options: {
  readonly logger: Logger;
  readonly version: string;
  readonly clock: Clock;
}): DaemonTelemetry {
  const { logger, version, clock } = options;
  const metrics = createRecorder(createMetrics(version), clock);
  const observers = [(event: DaemonEvent) => metrics.record(event), createEventLog(logger, clock)];
  return {
    metrics,
    emit(event) {
      for (const observe of observers) {
        try {
          observe(event);
        } catch (error) {
          logger.log('error', 'telemetryFailed', 'an event could not be recorded', { error });
        }
      }
    },
  };
}
