import type { RequestListener } from 'node:http';
import type { CompiledConfig } from '../../config/compiled-config.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { within } from '../../core/ports/within.ts';
import { systemTimers } from '../../exchange/system-clock.ts';
import type { QueueFigures } from '../../telemetry/record.ts';
import { pageDirectory } from '../../web/page.ts';
import type { QueueLine } from '../../web/sources.ts';
import { type DoorSocket, openDoorSocket } from '../door/door-socket.ts';
import type { Base } from '../open-base.ts';
import { readVersion } from '../read-version.ts';
import type { StressSchedule } from '../scheduled-stress/stress-schedule.ts';
import { createDepositDesk } from './deposit-desk.ts';
import { type WebContent, WebListener } from './listener.ts';
import { readinessIn } from './readiness.ts';
import { lostSeries, readQueues, readSharedFigures } from './shared-figures.ts';
import { JudgedClocks, remembering } from './shared-view.ts';
import { createViewSource } from './view-source.ts';

export interface OpenWebOptions {
  readonly configFile: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly webPort?: number;
}

/** A disk that hangs keeps the daemon from nothing. */
const DISK_MS = 2_000;

/**
 * Opens the API of a process: to commands on this machine always, to others with the role `web`, which runs the stress
 * tests. @throws WebServerError
 */
export async function openWeb(
  base: Base,
  { web, stateDir }: CompiledConfig,
  { webPort, configFile, env }: OpenWebOptions,
  stress: StressSchedule | undefined,
): Promise<WebListener> {
  const { telemetry, instance, ordinal, roles } = base;
  const onSkipped = (error: unknown): void => telemetry.emit({ kind: 'webError', error });
  const openDoor = async (handler: RequestListener): Promise<DoorSocket | undefined> => {
    const folders = { configFile, stateDir, env };
    const acts = roles.includes('poll') || roles.includes('act');
    const options = { folders, instance, ordinal, acts, handler, onSkipped };
    return await within(systemTimers, DISK_MS, openDoorSocket(options)).catch((error: unknown) => {
      onSkipped(error);
      return undefined;
    });
  };
  return await WebListener.open(web, {
    content: webContent(base, stress),
    port: webPort,
    isLocal: !roles.includes('web'),
    onListening: (url) => telemetry.emit({ kind: 'listening', url }),
    openDoor,
  });
}

/** Frequent or simultaneous requests share one read of Redis. */
const MAX_AGE_MS = 1_000;

/** Content of the web server: this process and the shared state. */
function webContent(base: Base, stress: StressSchedule | undefined): WebContent {
  const { state, accounts, shared, clock, time, telemetry, process } = base;
  const queues = shared?.queues.all ?? [];
  const configured = () => accounts.all();
  const ids = () => configured().map(({ id }) => id);
  const stressed = remembering(clock, MAX_AGE_MS, async () => await stress?.stored(new Set(ids())));
  const figureParts = { store: state.store, accounts: configured, queues, clock, time, stress: stressed };
  const clocks = new JudgedClocks(clock);
  process.metrics.shared(
    remembering(clock, MAX_AGE_MS, () => readSharedFigures({ ...figureParts, clocks })),
    () => lostSeries(ids()),
  );
  process.metrics.budgets(() => accounts.budgets());
  const views = createViewSource({ store: state.store, accounts, clock });
  const isAlone = (): boolean => state.standby?.isAlone === true;
  const readiness = readinessIn(base);
  return {
    metrics: process.metrics,
    readiness,
    onError: (error) => telemetry.emit({ kind: 'webError', error }),
    onJobChanged: (change) => telemetry.emit({ kind: 'jobChanged', ...change }),
    onRefused: (why, client) => telemetry.emit({ kind: 'webRefused', why, client }),
    page: pageDirectory(),
    ...(shared === undefined ? {} : { queues }),
    sources: {
      nowMs: () => clock.nowMs(),
      views,
      audit: state.audit,
      history: state.history,
      stress: async () => ({ scheduled: stress?.isScheduled === true, stored: (await stressed()) ?? null }),
      controls: state.controls,
      orders: {
        expected: base.expected,
        maxSlippage: base.maxSlippage,
        gapOf: (accountId, market) => accounts.gapOf(accountId, market),
        moneyOf: (accountId, market) => accounts.moneyOf(accountId, market),
      },
      process: {
        version: readVersion(),
        instance: base.instance,
        startedAtMs: clock.nowMs(),
        readiness,
        degraded: () => process.metrics.degraded(),
        goesAlone: state.standby !== undefined,
        processes: base.processes,
        polling: base.polling,
        reachesAll: () => !isAlone() || state.standby?.hasCompany !== true,
        queues: async () =>
          (await readQueues(queues, clock)).map(([queue, figures]) => queueLine(queue, figures, clock)),
      },
      deposits: createDepositDesk({
        store: state.store,
        clock,
        accessOf: (accountId) => accounts.depositAccess(accountId),
      }),
    },
  };
}

function queueLine(queue: string, { jobs, oldestAgeMs, isPaused }: QueueFigures, clock: Clock): QueueLine {
  const { waiting = 0, active = 0, delayed = 0, failed = 0 } = jobs;
  const oldestMs = waiting === 0 ? null : Math.round(clock.nowMs() - oldestAgeMs);
  return { queue, waiting, active, delayed, failed, oldestMs, isPaused };
}
