import type { DaemonEvent, Telemetry } from '../core/ports/telemetry.ts';

/** Tells several observers; what one of them throws concerns nobody else. */
export function tellAll(observers: readonly Telemetry[]): Telemetry {
  return {
    emit(event: DaemonEvent) {
      for (const observer of observers) {
        try {
          observer.emit(event);
        } catch {
          // See Telemetry.
        }
      }
    },
  };
}
