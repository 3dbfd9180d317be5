import type { Clock } from '../core/ports/clock.ts';
import type { DeliveryObserver } from '../core/ports/delivery.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { createEventLog } from './log-events.ts';
import type { Logger } from './logger.ts';
import { createMetrics } from './metrics.ts';
import { createRecorder, type MetricsRecorder } from './record.ts';

export interface DaemonTelemetry extends Telemetry {
  readonly metrics: MetricsRecorder;
  readonly deliveries: Required<DeliveryObserver>;
}

/** Logs and metrics of one process. What goes wrong in here never reaches what is observed. */
export function createTelemetry(options: {
  readonly logger: Logger;
  readonly version: string;
  readonly clock: Clock;
}): DaemonTelemetry {
  const { logger, version, clock } = options;
  const metrics = createRecorder(createMetrics({ version }), clock);
  const log = createEventLog(logger, clock);
  const safely = (tell: () => void): void => {
    try {
      tell();
    } catch (error) {
      logger.log('error', 'telemetryFailed', 'an event could not be recorded', { error });
    }
  };
  return {
    metrics,
    emit(event) {
      safely(() => metrics.record(event));
      safely(() => log.write(event));
    },
    deliveries: {
      onDelivery(message, report) {
        safely(() => metrics.delivered(message, report));
        safely(() => log.delivered(message, report));
      },
      onRetry(message, channel, reason, inMs) {
        safely(() => metrics.retried(channel, reason));
        safely(() => log.retried(message, channel, reason, inMs));
      },
    },
  };
}
