import type { ConfigChange } from '../config/compare-configs.ts';
import type { CompiledConfig } from '../config/compiled-config.ts';
import type { Deliverer } from '../core/ports/delivery.ts';
import type { OperatorControls } from '../core/ports/operator-controls.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { within } from '../core/ports/within.ts';
import { currentConcealer } from '../core/redaction/conceal.ts';
import { systemClock, systemTimers } from '../exchange/system-clock.ts';
import type { DirectLanes } from '../pipeline/act/direct-lanes.ts';
import type { LaneTime } from '../pipeline/shared-time.ts';
import type { RunningWorker } from '../queues/worker.ts';
import { auditConfig } from './audit-config.ts';
import { AuditHeads } from './audit-heads.ts';
import { ConfigWatch, loadOrThrow, markOf, problemWords, type ReloadResult } from './config-watch.ts';
import { lostBy, untilSilent } from './connect-redis.ts';
import type { DigestSchedule } from './digest/digest-schedule.ts';
import { openDigest } from './digest/open-digest.ts';
import { type Heartbeat, startHeartbeat } from './heartbeat.ts';
import { type Base, openBase } from './open-base.ts';
import { delivererOf, notifierOf } from './open-deliverer.ts';
import { openStandby, openTicks } from './open-standby.ts';
import { makeChangedDue, openPipeline, type Pipeline, schedulesOf } from './pipeline.ts';
import { directLanes, pipelineParts } from './pipeline-parts.ts';
import type { PollTicks } from './poll-ticks.ts';
import { noticeScene, ProcessNotices } from './process-notices.ts';
import type { Surroundings } from './process-place.ts';
import { type LogOutput, openTelemetry } from './process-telemetry.ts';
import { Replaceable } from './replaceable.ts';
import { StressSchedule } from './scheduled-stress/stress-schedule.ts';
import { leftBy, type Standby } from './standby.ts';
import { startWorkers } from './start-workers.ts';
import { setUpSchedules, startWatchdog, type WantedSchedules, type Watchdog } from './watchdog.ts';
import { HealthListener } from './web/health-listener.ts';
import type { WebListener } from './web/listener.ts';
import { readinessIn } from './web/readiness.ts';

export const ROLES = ['poll', 'act', 'notify', 'web'] as const;
export type Role = (typeof ROLES)[number];

export interface DaemonOptions
  extends Partial<Pick<Surroundings, 'clock' | 'random' | 'ordinal' | 'strictRedis'>> {
  readonly configFile: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Roles of this process; default: all. */
  readonly roles?: readonly Role[];
  /** Everything is paused before anything is watched, unless it is already. */
  readonly paused?: boolean;
  /** Absent: nothing is logged. */
  readonly log?: LogOutput;
  /** Observers in addition to the log and the metrics. */
  readonly telemetry?: readonly Telemetry[];
  /** Overrides the config's `web.port`; 0: any free port. */
  readonly webPort?: number;
  /** Overrides the config's `web.health.port`; opens a listener for probes even if the config has none. */
  readonly healthPort?: number;
}

export interface Daemon extends Pick<Base, 'instance' | 'state' | 'accounts' | 'shared'> {
  /** The clock that all processes share through the store. */
  readonly time: LaneTime;
  /** URL of its web server; undefined without the role `web`. */
  webUrl(): string | undefined;
  /** URL of its listener for probes; undefined without one. */
  healthUrl(): string | undefined;
  config(): CompiledConfig;
  /** Removes the secrets of all configs since the start from a text. */
  conceal(text: string): string;
  /** Reads the config and its secrets again. */
  reload(): Promise<ReloadResult>;
  /** Stops in order: takes no new work, ends or hands back the rest. Resolves to false if `withinMs` was too short. */
  stop(why: string, withinMs: number): Promise<boolean>;
}

/** Who faces others asks the exchange nothing: what is not in a process cannot be taken from it. */
function needsKeys(roles: readonly Role[]): boolean {
  return roles.includes('poll') || roles.includes('act');
}

/** Starts everything. @throws ConfigUnusableError, RedisUnusableError, WebServerError */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const {
    clock = systemClock,
    random = Math.random,
    ordinal = 0,
    roles = ROLES,
    strictRedis = false,
  } = options;
  const mark = await markOf(options.configFile);
  const loaded = loadOrThrow(options.configFile, options.env, needsKeys(roles));
  const { config } = loaded;
  const notices = new ProcessNotices(clock);
  const heads = new AuditHeads();
  const observers = [...(options.telemetry ?? []), notices, heads];
  const process = openTelemetry(config, { clock, log: options.log, observers });
  const { telemetry } = process;
  const base = await openBase(config, {
    clock,
    random,
    telemetry,
    ordinal,
    strictRedis,
    process,
    roles,
    env: options.env,
  });
  const closers = [() => base.close()];
  try {
    const warnings = loaded.warnings.map(problemWords);
    const accounts = config.accounts.length;
    telemetry.emit({ kind: 'configReloaded', accounts, result: 'first', warnings, lost: [] });
    const { state, instance } = base;
    if (state.standby?.isAlone !== true) {
      const note = () => auditConfig(state, { config, instance, atMs: clock.nowMs() });
      const lost = await lostBy(note, state.standby !== undefined);
      if (lost !== undefined) state.standby?.takeOver(new Error(lost));
    }
    // First of all: if the port is in use, nothing else must happen.
    const stress = roles.includes('web') ? openStress(base, options) : undefined;
    const { openWeb } = await import('./web/open-web.ts');
    const web = await openWeb(base, config, options, stress);
    closers.push(() => web.close());
    const health = new HealthListener(base, options.healthPort);
    closers.push(() => health.close());
    await health.adopt(config.web);
    if (options.paused === true) await startPaused(state.controls);
    const running = await runRoles(
      { base, options, roles, web, health, stress, notices, heads, mark },
      config,
    );
    await stress?.adopt(config.stress);
    telemetry.emit({ kind: 'started', roles, accounts, instance });
    return running;
  } catch (error) {
    for (const close of closers.toReversed()) await close();
    throw error;
  }
}

/** Until somebody resumes: an earlier pause stays if it does not end by itself. */
async function startPaused(controls: OperatorControls): Promise<void> {
  const { expiresAtMs } = await controls.put(STARTED_PAUSED, { keepsEarlier: true });
  if (expiresAtMs !== null) await controls.put(STARTED_PAUSED);
}

const STARTED_PAUSED = {
  kind: 'pause',
  accountId: null,
  author: 'breakwater run',
  reason: 'started with --paused',
  expiresAtMs: null,
} as const;

/** The process that shows the stress test runs it: processes that only poll and act share no cores with it. */
function openStress(base: Base, { configFile }: DaemonOptions): StressSchedule {
  const { state, accounts, clock } = base;
  return new StressSchedule({
    ...base,
    store: base.stressStore,
    async book() {
      const { readHeldBook } = await import('./scheduled-stress/held-book.ts');
      return await readHeldBook({ store: state.store, accounts: accounts.all(), nowMs: clock.nowMs() });
    },
    configFile,
  });
}

/** What takes longer is left to the watchdog. */
const SET_UP_MS = 5_000;

interface Parts {
  readonly base: Base;
  readonly options: DaemonOptions;
  readonly roles: readonly Role[];
  readonly web: WebListener;
  readonly health: HealthListener;
  readonly stress: StressSchedule | undefined;
  readonly notices: ProcessNotices;
  readonly heads: AuditHeads;
  /** Mark of the config file as read. */
  readonly mark: string;
}

async function runRoles(parts: Parts, config: CompiledConfig): Promise<Daemon> {
  const { base, options, roles, web, health } = parts;
  const { telemetry, shared, accounts, state, instance } = base;
  const deliverer = new Replaceable<Deliverer>(await openDeliverer(base, config));
  // A process that polls sets up the schedules of its config.
  const schedules: WantedSchedules | undefined = roles.includes('poll')
    ? { wanted: () => schedulesOf(accounts), areSetUp: false, nextTicks: new Map(), unwanted: new Set() }
    : undefined;
  const ticks = openTicks(base, () => pipeline);
  const standby = openStandby(base, {
    ticks,
    pipeline: () => pipeline,
    noteConfig: () => auditConfig(state, { config: watch.config, instance, atMs: base.clock.nowMs() }),
  });
  const over = new AbortController();
  const notifier = notifierOf(base, { standby, deliverer, over: over.signal });
  const digest = roles.includes('notify') ? openDigest(base, notifier) : undefined;
  const adopting: Adopting = { ...parts, deliverer, schedules, ticks, digest };
  const watch = new ConfigWatch(
    {
      file: options.configFile,
      env: options.env,
      needsKeys: needsKeys(roles),
      telemetry,
      mark: parts.mark,
      adopt: (next, change) => adopt(adopting, next, change),
    },
    config,
  );
  const scene = noticeScene(() => watch.config);
  parts.notices.start(instance, notifier, scene, (error) =>
    telemetry.emit({ kind: 'workerError', queue: 'notify', error }),
  );
  const direct = directLanes(base, () => pipeline);
  const pipeline: Pipeline = openPipeline(
    {
      ...pipelineParts(base, standby, notifier, { channels: scene.channels, direct }),
      notify: () => watch.config.notify,
      attemptTimeoutMs: () => watch.config.exchange.attemptTimeoutMs,
    },
    roles.includes('act'),
    over.signal,
  );
  const workers = startWorkers(
    { base, pipeline, deliverer, roles, ticks, config: () => watch.config },
    over.signal,
  );
  await setUpFirst(base, schedules);
  const watchdog = startWatchdog({ ...base, audit: state.audit, watch, schedules, heads: parts.heads });
  if (standby === undefined) ticks?.start();
  else standby.start(pipeline.context, shared?.lost);
  await digest?.adopt(config.digest);
  const conceal = currentConcealer(() => base.process.secrets.current);
  const heartbeat = heartbeatOf(parts, () => watch.config.heartbeat, conceal);
  const running: Running = {
    ...adopting,
    pipeline,
    workers,
    watchdog,
    watch,
    over,
    standby,
    direct,
    heartbeat,
  };
  let stopping: Promise<boolean> | undefined;
  return {
    instance,
    state,
    accounts,
    shared,
    time: base.time,
    webUrl: () => web.url,
    healthUrl: () => health.url,
    config: () => watch.config,
    conceal,
    reload: () => watch.reload(),
    stop: (why, withinMs) => (stopping ??= stop(running, why, withinMs)),
  };
}

/** If Redis is lost, the watchdog does it when Redis is back. */
async function setUpFirst(base: Base, schedules: WantedSchedules | undefined): Promise<void> {
  if (base.state.standby?.isAlone === true) return;
  await within(systemTimers, SET_UP_MS, setUpSchedules(base, schedules, 'start')).catch((error: unknown) =>
    base.telemetry.emit({ kind: 'workerError', queue: 'poll', error }),
  );
}

function heartbeatOf(
  { base, roles }: Parts,
  settings: () => CompiledConfig['heartbeat'],
  conceal: Daemon['conceal'],
): Heartbeat | undefined {
  if (!roles.includes('poll')) return undefined;
  return startHeartbeat({ ...base, settings, readiness: readinessIn(base), conceal });
}

function openDeliverer(base: Base, config: CompiledConfig): Promise<Deliverer> {
  const { telemetry } = base;
  return delivererOf(config, {
    ...base,
    log: ({ message, text, insteadOf }) => telemetry.emit({ kind: 'said', message, text, insteadOf }),
    observer: {
      onDelivery: (message, report) => telemetry.emit({ kind: 'delivered', message, report }),
      onRetry: (message, channel, reason, inMs) =>
        telemetry.emit({ kind: 'deliveryRetried', message, channel, reason, inMs }),
    },
  });
}

/** The parts that adopt a new config. */
interface Adopting extends Parts {
  readonly deliverer: Replaceable<Deliverer>;
  readonly schedules: WantedSchedules | undefined;
  readonly ticks: PollTicks | undefined;
  /** Absent: another role sends digests. */
  readonly digest: DigestSchedule | undefined;
}

async function adopt(
  { base, deliverer, web, health, stress, schedules, digest }: Adopting,
  config: CompiledConfig,
  change: ConfigChange,
): Promise<void> {
  const { accounts, memory, state, process } = base;
  process.hide(config);
  // Steps that can be refused come first, while nothing has changed.
  await web.adopt(config.web);
  await health.adopt(config.web);
  const next = await openDeliverer(base, config);
  accounts.adopt(config);
  base.signed.adopt(config);
  await deliverer.replace(next);
  process.adopt(config);
  await stress?.adopt(config.stress);
  await digest?.adopt(config.digest);
  for (const id of change.removed) memory.forget(id);
  try {
    await setUpSchedules(base, schedules, 'reload');
    await makeChangedDue(state.store, change);
    await auditConfig(state, { config, change, instance: base.instance, atMs: base.clock.nowMs() });
  } catch (error) {
    // The config is in force, even if Redis is lost now: the watchdog sets up the schedules when Redis is back.
    base.telemetry.emit({ kind: 'workerError', queue: 'poll', error });
  }
}

interface Running extends Adopting {
  readonly pipeline: Pipeline;
  readonly workers: readonly RunningWorker[];
  readonly watchdog: Watchdog;
  readonly watch: ConfigWatch;
  readonly over: AbortController;
  readonly standby: Standby | undefined;
  readonly direct: DirectLanes;
  readonly heartbeat: Heartbeat | undefined;
}

async function stop(running: Running, why: string, withinMs: number): Promise<boolean> {
  const { telemetry, clock } = running.base;
  const startedMs = clock.monotonicMs();
  telemetry.emit({ kind: 'stopping', why });
  const giveUp = new AbortController();
  let hasEnded = false;
  const { shared } = running.base;
  if (shared !== undefined) {
    const asked = { ...shared, clock };
    void untilSilent(asked, Math.min(SILENT_MS, withinMs / 2), () => hasEnded).then(() => {
      if (hasEnded) return;
      giveUp.abort();
      shared.redis.disconnect();
      shared.queues.drop();
    });
  }
  const ended = end(running, giveUp.signal).then(() => true);
  const inTime = await within(systemTimers, withinMs, ended, () => false);
  hasEnded = true;
  const left = giveUp.signal.aborted ? { left: leftBy(running.base.state.standby) } : {};
  telemetry.emit({ kind: 'stopped', inTime, durationMs: clock.monotonicMs() - startedMs, ...left });
  await running.base.process.flush();
  return inTime;
}

/** A stop waits for a Redis that has not answered for this long no more. */
const SILENT_MS = 2_000;

/** After `giveUp` nothing waits for a lost Redis: work that needs it is left as after a crash. */
async function end(running: Running, giveUp: AbortSignal): Promise<void> {
  const { base, pipeline, workers, watch, web, health, stress, digest } = running;
  await Promise.all([running.watchdog.stop(), running.heartbeat?.stop()]);
  running.over.abort(new Error('the daemon is stopping'));
  const ticked = running.ticks?.stop();
  await running.standby?.stop();
  // A reload under way ends first: what it opened after everything was closed would stay open.
  const closed = watch
    .close()
    .then(() => Promise.all([web.close(), health.close(), stress?.stop(), digest?.stop()]));
  // Readiness probes fail from here on.
  await Promise.all([closed, ticked, ...workers.map((worker) => worker.close(giveUp))]);
  await pipeline.near?.settled();
  await running.direct.close();
  base.memory.abortAll();
  await base.memory.settled();
  if (!giveUp.aborted) await running.heads.noteAll(false).catch(() => undefined);
  await running.deliverer.close();
  await base.close();
}
