import type { Clock } from '../core/ports/clock.ts';
import type { Message } from '../core/ports/delivery.ts';
import type { DaemonEvent } from '../core/ports/telemetry.ts';
import { reasonWords } from '../core/rules/reason.ts';
import type { Logger, LogLevel } from './logger.ts';
import { Repeats } from './repeats.ts';

type EventOf<K extends DaemonEvent['kind']> = Extract<DaemonEvent, { readonly kind: K }>;
type Writers = { readonly [K in DaemonEvent['kind']]: (event: EventOf<K>) => void };

/** One line per event that somebody may look for; what repeats every poll is counted and said now and then. */
export type EventLog = (event: DaemonEvent) => void;

export function createEventLog(logger: Logger, clock: Clock): EventLog {
  const repeats = new Repeats(clock);
  const writers: Writers = {
    ...readWriters(logger, repeats),
    ...pollWriters(logger, repeats),
    ...actWriters(logger, repeats),
    ...notifyWriters(logger),
    ...queueWriters(logger, repeats),
    ...processWriters(logger, repeats),
    stressed: (event) => writeStressed(logger, event),
  };
  return (event) => (writers[event.kind] as (event: DaemonEvent) => void)(event);
}

function whatOf({ accountId, subject, ruleId, kind, severity }: Message) {
  return { account: accountId, subject, rule: ruleId === '' ? undefined : ruleId, kind, severity };
}

type ReadKind = 'ticked' | 'read';

function readWriters(logger: Logger, repeats: Repeats): Pick<Writers, ReadKind> {
  return {
    ticked({ bucket, lagMs, durationMs, due, inFlight }) {
      if (!logger.writes('trace')) return;
      logger.log('trace', 'ticked', `bucket ${bucket}: ${due} accounts due`, { durationMs, lagMs, inFlight });
    },
    read({ accountId, source, outcome, error, durationMs, setAside }) {
      if (setAside > 0) {
        repeats.write(`setAside ${accountId} ${source}`, (repeated) =>
          logger.log(
            'warn',
            'recordsSetAside',
            `${setAside} records of ${source} were not valid and left out`,
            {
              account: accountId,
              source,
              repeated,
            },
          ),
        );
      }
      if (outcome === 'ok' || outcome === 'aborted') {
        if (!logger.writes('trace')) return;
        return logger.log('trace', 'read', `read ${source}: ${outcome}`, { account: accountId, durationMs });
      }
      repeats.write(`read ${accountId} ${source} ${error}`, (repeated) =>
        logger.log('warn', 'readFailed', `${source} could not be read`, {
          account: accountId,
          source,
          reason: error,
          durationMs: Math.round(durationMs),
          repeated,
        }),
      );
    },
  };
}

type PollKind = 'evaluated' | 'commit' | 'pollFailed' | 'accountRefused' | 'epochStarted';

function pollWriters(logger: Logger, repeats: Repeats): Pick<Writers, PollKind> {
  return {
    evaluated({ accountId, evaluation, durationMs }) {
      for (const one of evaluation.transitions) {
        const level = one.to === 'firing' ? (one.severity === 'info' ? 'info' : 'warn') : 'info';
        const words = one.words === '' ? reasonWords(one.reason) : one.words;
        logger.log(level, 'ruleChanged', `${one.from} -> ${one.to}: ${words}`, {
          account: accountId,
          subject: one.subject,
          rule: one.ruleId,
          reason: one.reason,
          durationMs: Math.round(durationMs),
          episode: one.episode,
          stage: one.stage,
          mode: one.mode,
          severity: one.severity,
        });
      }
    },
    commit({ accountId, by, result }) {
      const level = result === 'committed' ? 'trace' : result === 'epochChanged' ? 'warn' : 'debug';
      if (!logger.writes(level)) return;
      logger.log(level, 'commit', `commit by ${by}: ${result}`, { account: accountId, reason: result });
    },
    pollFailed({ accountId, why, error }) {
      repeats.write(`poll ${accountId} ${why}`, (repeated) =>
        logger.log(why === 'error' ? 'error' : 'info', 'pollFailed', 'a poll was given up; it is repeated', {
          account: accountId,
          reason: why,
          error,
          repeated,
        }),
      );
    },
    accountRefused({ problem: { accountId, document, code, message } }) {
      repeats.write(`refused ${accountId} ${document}`, (repeated) =>
        logger.log('error', 'accountRefused', message, {
          account: accountId,
          reason: code,
          document,
          repeated,
        }),
      );
    },
    epochStarted({ accountId, epoch, why }) {
      const words = 'a new store epoch of its stored state: what is open at the exchange is found out first';
      logger.log('warn', 'epochStarted', words, { account: accountId, reason: why, epoch });
    },
  };
}

type ActKind = 'audited' | 'laneDispatched' | 'laneRun' | 'step' | 'call' | 'contractDrift';

function actWriters(logger: Logger, repeats: Repeats): Pick<Writers, ActKind> {
  return {
    audited({ event: { kind, accountId, market, positionId, ruleId, reason, words, alarm, order, cancel } }) {
      const level: LogLevel = alarm ? 'error' : kind === 'readIgnored' ? 'debug' : 'info';
      logger.log(level, kind, words, {
        account: accountId,
        subject: positionId === undefined ? undefined : `position:${positionId}`,
        rule: ruleId,
        reason,
        market,
        order,
        cancel,
      });
    },
    laneDispatched({ lanes }) {
      if (!logger.writes('debug')) return;
      for (const { accountId, market } of lanes) {
        logger.log('debug', 'laneDispatched', 'a lane has something to do', { account: accountId, market });
      }
    },
    laneRun({ accountId, market, end, steps, durationMs }) {
      const fields = { account: accountId, market, reason: end, steps, durationMs: Math.round(durationMs) };
      logger.log('debug', 'laneRun', `a lane ran: ${end}`, fields);
    },
    step({ accountId, market, step, outcome, error, durationMs }) {
      const fine = outcome === 'accepted' || outcome === 'read';
      const level = !fine ? 'warn' : step === 'readPositions' ? 'debug' : 'info';
      logger.log(level, step, `${step}: ${outcome}`, {
        account: accountId,
        market,
        reason: error,
        durationMs: Math.round(durationMs),
      });
    },
    call({ accountId, call: { endpoint, outcome, error, durationMs, attempts } }) {
      if (!logger.writes('trace')) return;
      const fields = { account: accountId, reason: error, durationMs: Math.round(durationMs), attempts };
      logger.log('trace', 'call', `${endpoint}: ${outcome}`, fields);
    },
    contractDrift({ accountId, endpoint, path, expected, got }) {
      repeats.write(`drift ${endpoint} ${path} ${expected} ${got}`, (repeated) =>
        logger.log('warn', 'contractDrift', `a reply of ${endpoint} is not as documented`, {
          account: accountId,
          path,
          expected,
          got,
          repeated,
        }),
      );
    },
  };
}

type NotifyKind = 'notice' | 'delivered' | 'deliveryRetried' | 'said';

function notifyWriters(logger: Logger): Pick<Writers, NotifyKind> {
  return {
    notice: ({ notice }) => logger.log('debug', 'notice', notice.words, whatOf(notice)),
    delivered({ message, report: { channel, type, insteadOf, delivery } }) {
      const fields = {
        ...whatOf(message),
        channel,
        type,
        reason: delivery.kind === 'failed' ? delivery.reason : undefined,
        insteadOf: insteadOf.length === 0 ? undefined : insteadOf.join(','),
        durationMs: 'durationMs' in delivery ? Math.round(delivery.durationMs) : undefined,
        attempts: 'attempts' in delivery ? delivery.attempts : undefined,
      };
      if (delivery.kind === 'failed') {
        const words = `the channel ${channel} did not take a message (${delivery.words}): ${message.words}`;
        return logger.log('error', 'notificationFailed', words, fields);
      }
      const level = delivery.kind === 'delivered' && type !== 'log' ? 'info' : 'debug';
      logger.log(
        level,
        'notification',
        `${message.kind} on the channel ${channel}: ${delivery.kind}`,
        fields,
      );
    },
    deliveryRetried({ message, channel, reason, inMs }) {
      const words = `a message on the channel ${channel} is repeated in ${Math.round(inMs)} ms`;
      logger.log('warn', 'notificationRetry', words, { ...whatOf(message), channel, reason });
    },
    said({ message, text, insteadOf }) {
      const isOver = message.kind === 'resolved' || message.kind === 'test';
      const level = insteadOf.length > 0 ? 'error' : isOver ? 'info' : LEVELS[message.severity];
      const instead = insteadOf.length === 0 ? undefined : insteadOf.join(',');
      logger.log(level, 'alert', text, { ...whatOf(message), insteadOf: instead });
    },
  };
}

const LEVELS = { critical: 'error', warning: 'warn', info: 'info' } as const;

type QueueKind =
  | 'workerError'
  | 'jobFailed'
  | 'jobStalled'
  | 'jobRefused'
  | 'queueResumed'
  | 'schedulesAsserted';

function queueWriters(logger: Logger, repeats: Repeats): Pick<Writers, QueueKind> {
  return {
    workerError({ queue, error }) {
      repeats.write(`worker ${queue}`, (repeated) =>
        logger.log('error', 'workerError', `an error of the worker of the queue ${queue}`, {
          queue,
          error,
          repeated,
        }),
      );
    },
    jobFailed({ queue, job, error }) {
      repeats.write(`job ${queue}`, (repeated) =>
        logger.log('error', 'jobFailed', `a job of the queue ${queue} failed`, {
          queue,
          job,
          error,
          repeated,
        }),
      );
    },
    jobStalled: ({ queue, job }) =>
      logger.log('warn', 'jobStalled', `a job of the queue ${queue} stalled; it runs again`, { queue, job }),
    jobRefused: ({ queue, job, why }) =>
      logger.log('error', 'jobRefused', `a job of the queue ${queue} cannot be used`, {
        queue,
        job,
        reason: why,
      }),
    queueResumed: ({ queue }) =>
      logger.log('error', 'queueResumed', `somebody had paused the queue ${queue}; it runs again`, { queue }),
    schedulesAsserted: ({ buckets, why }) =>
      logger.log(
        why === 'repair' ? 'warn' : 'info',
        'schedulesAsserted',
        `schedules were set up: ${buckets.length}`,
        {
          reason: why,
        },
      ),
  };
}

function writeStressed(
  logger: Logger,
  { outcome, durationMs, accounts, liquidated, words, error }: EventOf<'stressed'>,
): void {
  const fields = { reason: outcome, durationMs: Math.round(durationMs), error };
  if (outcome === 'failed')
    return logger.log('error', 'stressed', `the stress test failed: ${words}`, fields);
  const counted = `${accounts} ${accounts === 1 ? 'account' : 'accounts'}`;
  const why = words === '' ? '' : ` (${words})`;
  const text = `stress test of ${counted}: the worst case liquidates ${liquidated} with their rules${why}`;
  logger.log(outcome === 'partial' || liquidated > 0 ? 'warn' : 'info', 'stressed', text, fields);
}

function startedWords(roles: readonly string[], accounts: number): string {
  const counted = `${accounts} ${accounts === 1 ? 'account' : 'accounts'}`;
  return roles.includes('poll') ? `watching ${counted}` : `serving ${counted} as ${roles.join(', ')}`;
}

type ProcessKind =
  | 'started'
  | 'configReloaded'
  | 'configRefused'
  | 'listening'
  | 'webError'
  | 'redisChecked'
  | 'redis'
  | 'exchangeStore'
  | 'exchangePath'
  | 'logLost'
  | 'stopping'
  | 'stopped';

function processWriters(logger: Logger, repeats: Repeats): Pick<Writers, ProcessKind> {
  return {
    started: ({ roles, accounts, instance }) =>
      logger.log('info', 'started', startedWords(roles, accounts), { roles: roles.join(','), instance }),
    configReloaded({ accounts, changed, warnings }) {
      const words = changed
        ? `a changed config is in force: ${accounts} accounts`
        : 'the config is unchanged';
      logger.log('info', 'configReloaded', words);
      for (const warning of warnings) logger.log('warn', 'configWarning', warning);
    },
    configRefused({ problems }) {
      logger.log('error', 'configRefused', 'the new config has errors; the one before stays in force');
      for (const problem of problems) logger.log('error', 'configProblem', problem);
    },
    listening: ({ url }) =>
      logger.log('info', 'listening', `/metrics, /healthz and /readyz are at ${url}`, { url }),
    webError({ error }) {
      repeats.write('web', (repeated) =>
        logger.log('error', 'webError', 'a request to the web server could not be answered', {
          error,
          repeated,
        }),
      );
    },
    redisChecked({ warnings }) {
      for (const warning of warnings) logger.log('warn', 'redisChecked', warning);
    },
    redis({ available, error }) {
      if (available) return logger.log('info', 'redis', 'Redis answers');
      repeats.write('redis', (repeated) =>
        logger.log('error', 'redis', 'Redis does not answer', { error, repeated }),
      );
    },
    exchangeStore({ store, available, accountId }) {
      repeats.write(`store ${store} ${available}`, (repeated) =>
        logger.log(
          available ? 'info' : 'warn',
          'exchangeStore',
          `the shared store of ${store}s ${available ? 'answers' : 'is lost; this process goes by itself'}`,
          { account: accountId, repeated },
        ),
      );
    },
    exchangePath({ host, error, words }) {
      repeats.write(`path ${host} ${error}`, (repeated) =>
        logger.log('warn', 'exchangePath', `${host}: ${words}`, { reason: error, host, repeated }),
      );
    },
    // Said by the log itself, when it takes lines again.
    logLost: () => undefined,
    stopping: ({ why }) => logger.log('info', 'stopping', `stopping: ${why}`),
    stopped: ({ inTime, durationMs }) =>
      logger.log(
        inTime ? 'info' : 'warn',
        'stopped',
        inTime ? 'stopped' : 'stopped, not everything had ended',
        {
          durationMs: Math.round(durationMs),
        },
      ),
  };
}
