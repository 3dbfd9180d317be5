import { setTimeout as sleep } from 'node:timers/promises';
import { ConfiguredAccounts } from '../../src/app/configured-accounts.ts';
import type { Notice } from '../../src/core/ports/notifier.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { systemClock, systemTimers } from '../../src/exchange/system-clock.ts';
import { DirectLanes } from '../../src/pipeline/act/direct-lanes.ts';
import { ALWAYS } from '../../src/pipeline/act/lane-turns.ts';
import { runLane } from '../../src/pipeline/act/run-lane.ts';
import type { PipelineContext } from '../../src/pipeline/pipeline-context.ts';
import { PollGuard } from '../../src/pipeline/poll/poll-account.ts';
import { pollBucket } from '../../src/pipeline/poll/poll-tick.ts';
import { ReadMemory } from '../../src/pipeline/poll/read-memory.ts';
import { SharedTime } from '../../src/pipeline/shared-time.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { createMemoryRateLimitStore } from '../../src/state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../../src/state/nonce/nonce-memory.ts';
import { createMemoryState, type State } from '../../src/state/state.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { type ConfigParts, configText, environment, loadText } from '../daemon/config.ts';

/** The pipeline driven by a plain timer, with its state in memory, against a simulated exchange over HTTP. */
export interface World {
  readonly context: PipelineContext;
  readonly state: State;
  readonly accounts: ConfiguredAccounts;
  readonly events: DaemonEvent[];
  readonly notices: Notice[];
  readonly errors: unknown[];
  adopt(parts: ConfigParts): void;
  start(): void;
}

const TICK_MS = 50;

export function openWorld(simulator: RunningSimulator, parts: ConfigParts): World {
  const events: DaemonEvent[] = [];
  const notices: Notice[] = [];
  const errors: unknown[] = [];
  const telemetry = { emit: (event: DaemonEvent) => void events.push(event) };
  const accounts = new ConfiguredAccounts({
    clock: systemClock,
    random: Math.random,
    nonces: createMemoryNonceStore(systemClock),
    limits: createMemoryRateLimitStore(systemClock),
    fallbackLimits: createMemoryRateLimitStore(systemClock),
    telemetry,
    ordinal: 0,
  });
  const state = createMemoryState({ clock: systemClock });
  const over = new AbortController();
  const memory = new ReadMemory();
  const lanes = new DirectLanes(
    (lane) => runLane(context, lane, over.signal),
    (error) => errors.push(error),
  );
  let exchangeConfig: { readonly attemptTimeoutMs: number };
  const context: PipelineContext = {
    accounts,
    store: state.store,
    clock: systemClock,
    timers: systemTimers,
    random: Math.random,
    time: new SharedTime(systemClock, 'test'),
    telemetry,
    lanes,
    notifier: { hand: async (handed) => void notices.push(...handed) },
    delivery: { stateOf: async (asked) => asked.map(() => 'delivered') },
    memory,
    turns: ALWAYS,
    settings: {
      instance: 'test',
      claimMs: 3_000,
      laneLeaseMs: 2_000,
      // The same value as the accounts' clients get: a request leaves only while its lane's lease covers it.
      get attemptTimeoutMs() {
        return exchangeConfig.attemptTimeoutMs;
      },
      longestWaitMs: 10_000,
      reminderMs: 60_000,
      historyMs: 10_000,
    },
  };
  const guard = new PollGuard();
  const ticks = new Set<Promise<unknown>>();
  let loop: Promise<void> | undefined;
  const tickOften = async () => {
    while (!over.signal.aborted) {
      for (const bucket of accounts.buckets()) {
        const tick: Promise<unknown> = pollBucket(context, guard, { bucket, everyMs: TICK_MS, lagMs: 0 })
          .catch((error: unknown) => errors.push(error))
          .finally(() => ticks.delete(tick));
        ticks.add(tick);
      }
      await sleep(TICK_MS);
    }
  };
  closeAfterTest(async () => {
    over.abort();
    await loop;
    await Promise.all(ticks);
    memory.abortAll();
    await memory.settled();
    await lanes.close();
    await accounts.close();
    if (errors.length > 0) throw new AggregateError(errors, 'the pipeline failed');
  });
  const adopt = (next: ConfigParts) => {
    const config = loadText(configText(simulator, next), environment(simulator));
    exchangeConfig = config.exchange;
    accounts.adopt(config);
  };
  adopt(parts);
  return {
    context,
    state,
    accounts,
    events,
    notices,
    errors,
    adopt,
    start() {
      loop ??= tickOften();
    },
  };
}

/** The store as an object of bound methods, so that a test can replace some. */
export function bound(store: PipelineContext['store']): PipelineContext['store'] {
  return {
    leases: store.leases,
    takeDue: (bucket, request) => store.takeDue(bucket, request),
    holdClaims: (bucket, ids, claimMs) => store.holdClaims(bucket, ids, claimMs),
    readBucket: (bucket, ids) => store.readBucket(bucket, ids),
    read: (accountId) => store.read(accountId),
    commit: (changes) => store.commit(changes),
    makeDue: (accountId, inMs) => store.makeDue(accountId, inMs),
    remembered: (accountId) => store.remembered(accountId),
    discard: (accountId, request) => store.discard(accountId, request),
    forget: (accountId) => store.forget(accountId),
  };
}

/** Less than a test may take, so that the reason is reported. */
const GIVE_UP_MS = 240_000;

/** Resolves when `holds` is true; fails with `show()` after a time long enough to mean a hang. */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  what: string,
  show: () => unknown = () => '',
  everyMs = 10,
): Promise<void> {
  const giveUpMs = performance.now() + GIVE_UP_MS;
  while (!(await holds())) {
    if (performance.now() > giveUpMs) throw new Error(`never: ${what}\n${JSON.stringify(show(), null, 1)}`);
    await sleep(everyMs);
  }
}
