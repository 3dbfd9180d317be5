import { Writable } from 'node:stream';
import type { CompiledConfig } from '../config/compiled-config.ts';
import { secretValues } from '../config/secret.ts';
import type { Clock } from '../core/ports/clock.ts';
import { LOG_CHANNEL } from '../core/ports/delivery.ts';
import type { DaemonEvent, Telemetry } from '../core/ports/telemetry.ts';
import type { LogLoss } from '../telemetry/log-sink.ts';
import { createLogger, type LogFormat, type Logger, type LogLevel } from '../telemetry/logger.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { readVersion } from './read-version.ts';

/** Where the log goes; values here override the config. */
export interface LogOutput {
  readonly stream: Writable;
  /** People read along: decides the config's format `auto`. */
  readonly isTerminal: boolean;
  readonly colours: boolean;
  readonly level?: LogLevel;
  readonly format?: LogFormat;
}

/** Log, metrics and other observers of this process, as configured. */
export type ProcessTelemetry = ReturnType<typeof openTelemetry>;

export interface ProcessTelemetryOptions {
  readonly clock: Clock;
  /** Absent: nothing is logged. */
  readonly log?: LogOutput | undefined;
  readonly observers: readonly Telemetry[];
}

export function openTelemetry(config: CompiledConfig, { clock, log, observers }: ProcessTelemetryOptions) {
  const lost: { tell?: (why: LogLoss) => void } = {};
  const logger = loggerOf(log, (why) => lost.tell?.(why));
  const own = createTelemetry({ logger, version: readVersion(), clock });
  const secrets: { current: readonly string[] } = { current: [] };
  const opened = {
    telemetry: tellAll([own, ...observers]),
    metrics: own.metrics,
    /** Secrets of every config since the start: a late reply may still repeat an old one. */
    secrets,
    /** Hides the secrets of this config from now on; call it before anything of the config is used. */
    hide(next: CompiledConfig): void {
      const values = secretValues(next);
      secrets.current = [...new Set([...secrets.current, ...values])];
      logger.hide(values);
    },
    /** Adopts level and format, and drops series of accounts and channels that are gone. */
    adopt(next: CompiledConfig): void {
      if (log !== undefined) {
        logger.setLevel(log.level ?? next.log.level);
        logger.setFormat(formatOf(log, next));
      }
      const channels = next.channels.map(({ name }) => name);
      const ids = next.accounts.map(({ id }) => id);
      own.metrics.retain(ids, [...channels, LOG_CHANNEL]);
    },
    /** Resolves when the log is written, or after a second. */
    flush: () => logger.flush(),
  };
  lost.tell = (why) => opened.telemetry.emit({ kind: 'logLost', why });
  opened.hide(config);
  opened.adopt(config);
  return opened;
}

function formatOf({ format, isTerminal }: LogOutput, { log }: CompiledConfig): LogFormat {
  if (format !== undefined) return format;
  return log.format === 'auto' ? (isTerminal ? 'pretty' : 'json') : log.format;
}

function loggerOf(log: LogOutput | undefined, onLost: (why: LogLoss) => void): Logger {
  if (log !== undefined) {
    const { stream, colours, level = 'info', format = 'json' } = log;
    return createLogger({ stream, colours, level, format, onLost });
  }
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  return createLogger({ stream: nowhere, level: 'fatal', format: 'json' });
}

/** Emits to several observers; an error in one does not affect the others. */
function tellAll(observers: readonly Telemetry[]): Telemetry {
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
