import type { Logger, TaskOptions } from 'node-cron';

/** Telemetry events take the place of node-cron's log. */
const SILENT: Logger = { info() {}, warn() {}, error() {}, debug() {} };

/** Options of every schedule. A delayed process still does what was due a minute ago. */
export const SCHEDULE_OPTIONS = {
  suppressMissedWarning: true,
  missedExecutionTolerance: 60_000,
  logger: SILENT,
} as const satisfies TaskOptions;
