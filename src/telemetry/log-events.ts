import type { Clock } from '../core/ports/clock.ts';
import type { Message } from '../core/ports/delivery.ts';
import type { DaemonEvent, EventOf } from '../core/ports/telemetry.ts';
import { reasonWords } from '../core/rules/reason.ts';
import type { LogFields, Logger, LogLevel } from './logger.ts';

type Writers = { readonly [K in DaemonEvent['kind']]: (event: EventOf<K>, log: EventLogger) => void };

/** `event` defaults to the kind of the event. */
type WriteLine = (level: LogLevel, words: string, fields?: LogFields, event?: string) => void;

interface EventLogger {
  readonly line: WriteLine;
  readonly writes: Logger['writes'];
  /** For lines that repeat every poll: rate-limited per key, see `Repeats`. */
  readonly rarely: (key: string) => WriteLine;
}

/** Writes one log line per event that somebody may look for. */
export type EventLog = (event: DaemonEvent) => void;

export function createEventLog(logger: Logger, clock: Clock): EventLog {
  const repeats = new Repeats(clock);
  const loggerOf = (kind: string): EventLogger => ({
    line: (level, words, fields, event = kind) => logger.log(level, event, words, fields),
    writes: (level) => logger.writes(level),
    rarely:
      (key) =>
      (level, words, fields, event = kind) =>
        repeats.write(key, (repeated) => logger.log(level, event, words, { ...fields, repeated })),
  });
  const writers = new Map(
    Object.entries(WRITERS).map(([kind, write]) => {
      const log = loggerOf(kind);
      return [
        kind,
        (event: DaemonEvent) => (write as (event: DaemonEvent, log: EventLogger) => void)(event, log),
      ];
    }),
  );
  return (event) => writers.get(event.kind)?.(event);
}

const WRITERS: Writers = {
  ticked({ bucket, lagMs, durationMs, due, inFlight }, { line, writes }) {
    if (!writes('trace')) return;
    line('trace', `bucket ${bucket}: ${due} accounts due`, { durationMs, lagMs, inFlight });
  },
  read({ accountId: account, source, outcome, error, durationMs, setAside }, { line, writes, rarely }) {
    if (setAside > 0) {
      const words = `${setAside} records of ${source} were not valid and left out`;
      rarely(`setAside ${account} ${source}`)('warn', words, { account, source }, 'recordsSetAside');
    }
    if (outcome === 'ok' || outcome === 'aborted') {
      if (!writes('trace')) return;
      return line('trace', `read ${source}: ${outcome}`, { account, durationMs });
    }
    const fields = { account, source, reason: error, durationMs: Math.round(durationMs) };
    const words = `${source} could not be read`;
    rarely(`read ${account} ${source} ${error}`)('warn', words, fields, 'readFailed');
  },
  evaluated({ accountId, evaluation, durationMs }, { line }) {
    for (const one of evaluation.transitions) {
      const level = one.to === 'firing' && one.severity !== 'info' ? 'warn' : 'info';
      const words = one.words === '' ? reasonWords(one.reason) : one.words;
      const fields = {
        account: accountId,
        subject: one.subject,
        rule: one.ruleId,
        reason: one.reason,
        durationMs: Math.round(durationMs),
        episode: one.episode,
        stage: one.stage,
        mode: one.mode,
        severity: one.severity,
      };
      line(level, `${one.from} -> ${one.to}: ${words}`, fields, 'ruleChanged');
    }
  },
  commit({ accountId, by, result }, { line, writes }) {
    const level = result === 'committed' ? 'trace' : result === 'epochChanged' ? 'warn' : 'debug';
    if (!writes(level)) return;
    line(level, `commit by ${by}: ${result}`, { account: accountId, reason: result });
  },
  pollFailed({ accountId, why, error }, { rarely }) {
    const level = why === 'error' ? 'error' : 'info';
    const fields = { account: accountId, reason: why, error };
    rarely(`poll ${accountId} ${why}`)(level, 'a poll was given up; it is repeated', fields);
  },
  accountRefused({ problem: { accountId, document, code, message } }, { rarely }) {
    const fields = { account: accountId, reason: code, document };
    rarely(`refused ${accountId} ${document}`)('error', message, fields);
  },
  epochStarted({ accountId, epoch, why }, { line }) {
    const words = 'a new store epoch of its stored state: what is open at the exchange is found out first';
    line('warn', words, { account: accountId, reason: why, epoch });
  },

  audited({ event }, { line }) {
    const { kind, accountId, market, positionId, ruleId, reason, words, alarm, order, cancel } = event;
    const level: LogLevel = alarm ? 'error' : kind === 'readIgnored' ? 'debug' : 'info';
    const subject = positionId === undefined ? undefined : `position:${positionId}`;
    const fields = { account: accountId, subject, rule: ruleId, reason, market, order, cancel };
    line(level, words, fields, kind);
  },
  laneDispatched({ lanes }, { line, writes }) {
    if (!writes('debug')) return;
    for (const { accountId, market } of lanes) {
      line('debug', 'a lane has something to do', { account: accountId, market });
    }
  },
  laneRun({ accountId, market, end, steps, durationMs }, { line }) {
    const fields = { account: accountId, market, reason: end, steps, durationMs: Math.round(durationMs) };
    line('debug', `a lane ran: ${end}`, fields);
  },
  step({ accountId, market, step, outcome, error, durationMs }, { line }) {
    const fine = outcome === 'accepted' || outcome === 'read';
    const level = !fine ? 'warn' : step === 'readPositions' ? 'debug' : 'info';
    const fields = { account: accountId, market, reason: error, durationMs: Math.round(durationMs) };
    line(level, `${step}: ${outcome}`, fields, step);
  },
  call({ accountId, call: { endpoint, outcome, error, durationMs, attempts } }, { line, writes }) {
    if (!writes('trace')) return;
    const fields = { account: accountId, reason: error, durationMs: Math.round(durationMs), attempts };
    line('trace', `${endpoint}: ${outcome}`, fields);
  },
  contractDrift({ accountId, endpoint, path, expected, got }, { rarely }) {
    const words = `a reply of ${endpoint} is not as documented`;
    const fields = { account: accountId, path, expected, got };
    rarely(`drift ${endpoint} ${path} ${expected} ${got}`)('warn', words, fields);
  },

  notice: ({ notice }, { line }) => line('debug', notice.words, whatOf(notice)),
  delivered({ message, report: { channel, type, insteadOf, delivery } }, { line }) {
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
      return line('error', words, fields, 'notificationFailed');
    }
    const level = delivery.kind === 'delivered' && type !== 'log' ? 'info' : 'debug';
    line(level, `${message.kind} on the channel ${channel}: ${delivery.kind}`, fields, 'notification');
  },
  deliveryRetried({ message, channel, reason, inMs }, { line }) {
    const words = `a message on the channel ${channel} is repeated in ${Math.round(inMs)} ms`;
    line('warn', words, { ...whatOf(message), channel, reason }, 'notificationRetry');
  },
  said({ message, text, insteadOf }, { line }) {
    const isOver = message.kind === 'resolved' || message.kind === 'test';
    const level = insteadOf.length > 0 ? 'error' : isOver ? 'info' : LEVELS[message.severity];
    const instead = insteadOf.length === 0 ? undefined : insteadOf.join(',');
    line(level, text, { ...whatOf(message), insteadOf: instead }, 'alert');
  },

  digested({ outcome, name, words }, { line }) {
    if (outcome === 'handed')
      return line('info', `the digest of ${name} was handed over: ${words}`, {}, 'digest');
    const level = outcome === 'failed' ? 'error' : 'warn';
    const how = outcome === 'failed' ? 'was not sent' : 'could not be made yet';
    line(level, `the digest of ${name} ${how}: ${words}`, { reason: outcome }, 'digest');
  },

  workerError: ({ queue, error }, { rarely }) =>
    rarely(`worker ${queue}`)('error', `an error of the worker of the queue ${queue}`, { queue, error }),
  jobFailed: ({ queue, job, error }, { rarely }) =>
    rarely(`job ${queue}`)('error', `a job of the queue ${queue} failed`, { queue, job, error }),
  jobStalled: ({ queue, job }, { line }) =>
    line('warn', `a job of the queue ${queue} stalled; it runs again`, { queue, job }),
  jobRefused: ({ queue, job, why }, { line }) =>
    line('error', `a job of the queue ${queue} cannot be used`, { queue, job, reason: why }),
  auditHead({ accountId, head: { seq, hash }, unwritten: error }, { line }) {
    const words = `the audit of ${accountId} ends with ${seq}:${hash}`;
    if (error === undefined) line('info', words, { account: accountId });
    else line('error', `${words}, which audit.headsFile does not take`, { account: accountId, error });
  },
  auditCut: ({ words }, { line }) => line('error', words, {}),
  jobChanged: ({ queue, job, change, author }, { line }) =>
    line('warn', `${author} ${change} a failed job of the queue ${queue}`, { queue, job, author }),
  controlRefused: ({ words }, { rarely }) => rarely(`control refused ${words}`)('error', words, {}),
  noticeUnproven: ({ words }, { rarely }) =>
    rarely('notice unproven')('error', `a notice may be somebody else's: ${words}`, {}),
  queueResumed: ({ queue }, { line }) =>
    line('error', `somebody had paused or limited the queue ${queue}; it runs again`, { queue }),
  ownTicks({ state }, { line }) {
    if (state === 'over') return line('info', 'ticks of the queue reach this process again');
    line('error', 'no ticks of the queue reach this process: it polls by its own clock until they do');
  },
  schedulesAsserted({ buckets, why }, { line }) {
    const level = why === 'repair' ? 'warn' : 'info';
    line(level, `schedules were set up: ${buckets.length}`, { reason: why });
  },

  started({ roles, accounts, instance }, { line }) {
    const counted = countedAccounts(accounts);
    const words = roles.includes('poll')
      ? `watching ${counted}`
      : `serving ${counted} as ${roles.join(', ')}`;
    line('info', words, { roles: roles.join(','), instance });
  },
  configReloaded({ accounts, result, warnings, lost }, { line }) {
    const words = {
      first: `the config is in force: ${countedAccounts(accounts)}`,
      changed: `a changed config is in force: ${countedAccounts(accounts)}`,
      unchanged: 'the config is unchanged',
    }[result];
    line('info', words);
    for (const words of lost) line('warn', words, {}, 'configLost');
    for (const warning of warnings) line('warn', warning, {}, 'configWarning');
  },
  configRefused({ problems }, { line }) {
    line('error', 'the new config has errors; the one before stays in force');
    for (const problem of problems) line('error', problem, {}, 'configProblem');
  },
  listening: ({ url, probesOnly = false }, { line }) =>
    line('info', `${probesOnly ? '' : '/metrics, '}/healthz and /readyz are at ${url}`, { url }),
  webRefused: ({ why, client }, { rarely }) =>
    rarely(`web ${why} ${client}`)('warn', `${client} was turned away: ${REFUSALS[why]}`, {
      reason: why,
      client,
    }),
  webError: ({ error }, { rarely }) =>
    rarely('web')('error', 'a request to the web server could not be answered', { error }),
  redisChecked({ warnings }, { line }) {
    for (const warning of warnings) line('warn', warning);
  },
  redis({ available, error }, { line, rarely }) {
    if (available) return line('info', 'Redis answers');
    rarely('redis')('error', 'Redis does not answer', { error });
  },
  standby(event, { line }) {
    if (event.state === 'alone') {
      const { error, watchesOnly } = event;
      const words =
        watchesOnly === undefined
          ? 'Redis is lost: this process polls and acts from its own memory until it is back'
          : `Redis is not in use: this process polls and does not act until it is: ${watchesOnly}`;
      return line('error', words, { error });
    }
    line('info', 'Redis takes writes again: what was done without it has been handed back', {
      accounts: event.accounts.length,
    });
    for (const { accountId, how } of event.accounts) {
      if (how === 'continued') continue;
      line('warn', `${accountId}: ${HANDED_BACK[how]}`, { account: accountId, reason: how });
    }
  },
  mirror(event, { line }) {
    if (event.state === 'well') return line('info', 'what this process knows is kept on disk again');
    const { error } = event;
    const words = 'what this process knows cannot be kept on disk: without Redis it must not end';
    line('error', event.state === 'unread' ? event.words : words, { error });
  },
  instanceTaken: ({ ordinal, holder }, { line }) =>
    line('error', `--instance ${ordinal} is used by another process too (${holder}): end one of them`),
  journalOpened: ({ directory }, { line }) => line('info', `keeps its state in ${directory}`),
  journalTaken: ({ directory, holder }, { line }) =>
    line('error', `${directory} is used by another process (${holder}): this one acts no more, end it`),
  company: ({ fault }, { line }) =>
    line(fault === undefined ? 'info' : 'error', fault ?? 'the processes on this Redis fit together again'),
  exchangeStore({ store, available, accountId }, { rarely }) {
    const how = available ? 'answers' : 'is lost; this process goes by itself';
    const words = `the shared store of ${store}s ${how}`;
    const level = available ? 'info' : 'warn';
    rarely(`store ${store} ${available}`)(level, words, { account: accountId });
  },
  exchangePath: ({ host, error, words }, { rarely }) =>
    rarely(`path ${host} ${error}`)('warn', `${host}: ${words}`, { reason: error, host }),
  heartbeat({ signal, words, refused }, { line, rarely }) {
    const fields = { reason: signal };
    if (refused !== undefined) {
      const unheard = `the heartbeat's receiver did not take ${signal} (${refused}): ${words}`;
      return rarely(`heartbeat ${signal}`)('warn', unheard, fields, 'heartbeatFailed');
    }
    const level = signal === 'fail' ? 'error' : signal === 'start' ? 'info' : 'debug';
    line(level, `told the heartbeat's receiver ${signal}: ${words}`, fields);
  },
  botTold({ channel, what, outcome, author, words }, { line, rarely }) {
    const said = `${author ?? 'somebody'} on the channel ${channel}: ${words} (${outcome})`;
    const fields = { channel, kind: what, reason: outcome };
    // Anybody can write to a bot, so lines about strangers are rate-limited.
    if (author === undefined) return rarely(`botTold ${outcome}`)('info', said, fields, 'botIgnored');
    line(outcome === 'failed' ? 'error' : 'info', said, fields);
  },
  botListens({ channel, trouble }, { line }) {
    if (trouble === undefined)
      return line('info', `the channel ${channel} takes commands again`, { channel });
    line('error', `the channel ${channel} takes no commands: ${trouble}`, { channel });
  },
  // The logger reports lost lines when its stream takes lines again.
  logLost: () => undefined,
  stopping: ({ why }, { line }) => line('info', `stopping: ${why}`),
  stopped({ inTime, durationMs, left }, { line }) {
    const words = `${inTime ? 'stopped' : 'stopped, not everything had ended'}${left === undefined ? '' : `. ${left}`}`;
    line(inTime && left === undefined ? 'info' : 'warn', words, { durationMs: Math.round(durationMs) });
  },
  stressed({ outcome, durationMs, accounts, liquidated, words, error }, { line }) {
    const fields = { reason: outcome, durationMs: Math.round(durationMs), error };
    if (outcome === 'failed') return line('error', `the stress test failed: ${words}`, fields);
    const why = words === '' ? '' : ` (${words})`;
    const worst = `the worst case liquidates ${liquidated} with their rules${why}`;
    const level = outcome === 'partial' || liquidated > 0 ? 'warn' : 'info';
    line(level, `stress test of ${countedAccounts(accounts)}: ${worst}`, fields);
  },
};

function whatOf({ accountId, subject, ruleId, kind, severity }: Message) {
  return { account: accountId, subject, rule: ruleId === '' ? undefined : ruleId, kind, severity };
}

const HANDED_BACK = {
  merged: 'what this process knew is newer than what Redis had; its state is in force',
  superseded:
    'another process acted on it meanwhile; its state is in force, and open orders are checked first',
} as const;

const REFUSALS = {
  wrongToken: 'its token is not known',
  slowedDown: 'it has sent too many wrong tokens, and has to wait',
  connections: 'it has too many connections',
  scrapes: 'too many ask for metrics at the same time',
} as const;

const LEVELS = { critical: 'error', warning: 'warn', info: 'info' } as const;

function countedAccounts(accounts: number): string {
  return `${accounts} ${accounts === 1 ? 'account' : 'accounts'}`;
}

const QUIET_MS = 10_000;
const MOST_KEYS = 5000;

/** Writes each key at most once in ten seconds, and passes how many lines were left out since. */
class Repeats {
  readonly #clock: Clock;
  readonly #known = new Map<string, { untilMs: number; kept: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  write(key: string, say: (repeated: number | undefined) => void): void {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#known.get(key);
    if (known !== undefined && nowMs < known.untilMs) {
      known.kept++;
      return;
    }
    this.#known.delete(key);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= MOST_KEYS && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(key, { untilMs: nowMs + QUIET_MS, kept: 0 });
    say(known === undefined || known.kept === 0 ? undefined : known.kept);
  }
}
