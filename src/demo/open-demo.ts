import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Daemon, startDaemon } from '../app/daemon.ts';
import type { DaemonEvent } from '../core/ports/telemetry.ts';
import { decimal, toNumber } from '../core/quantities/decimal.ts';
import { watchOverDeath } from '../redis-server/death-watch.ts';
import { startPrivateRedis } from '../redis-server/private-redis.ts';
import { ENFORCED_RATE_LIMITS } from '../simulator/http/rate-limit.ts';
import { type RunningSimulator, startSimulatedExchange } from '../simulator/start-simulated-exchange.ts';
import { CURRENCY, MARKET, PERPETUAL, PROTECTED, SPOT, seedOf, TWIN } from './accounts.ts';
import { demoConfigText, secretName } from './config.ts';
import { failuresOf, keptMore, sideOf } from './result.ts';
import { type DemoFrame, Remarks } from './view.ts';

export interface DemoOptions {
  /** Real time. */
  readonly durationMs: number;
  /** The daemon keeps its state in a private Redis, not in a journal. */
  readonly withRedis: boolean;
  /** Source of REDIS_URL, REDIS_SERVER and PATH. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** Result of `openDemo`; `close` ends everything that it started, in order. */
export type Demo = Awaited<ReturnType<typeof openDemo>>;
export type DemoOutcome = ReturnType<Demo['outcome']>;

/** Exchange time per real time; also divides every duration of the daemon's config. */
const SPEED = 5;
/** The price falls by this fraction, then recovers: enough to liquidate at 10x. */
const CRASH = decimal('0.16');
/** Noise of every tick, as a fraction of the price. */
const NOISE = 0.001;
const STOP_WITHIN_MS = 10_000;
const PRIVATE = { name: 'demo', persistent: true };

/**
 * Simulated exchange and daemon on loopback, with a private Redis on request, all ended by `close`; time stands still until `begin`.
 * @throws SimulatorError, NoRedisServerError, and errors of the daemon's start
 */
export async function openDemo(options: DemoOptions) {
  const closers: (() => Promise<unknown>)[] = [];
  const close = () => endAll(closers.splice(0).reverse());
  try {
    const redis = options.withRedis ? await startPrivateRedis({ ...options, ...PRIVATE }) : undefined;
    if (redis !== undefined) closers.push(() => redis.stop());
    const simulator = await openExchange(options);
    closers.push(() => simulator.close());
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-demo-'));
    const watch = watchOverDeath({ folders: [folder] });
    closers.push(() => watch.release());
    closers.push(() => rm(folder, { recursive: true, force: true }));
    const configFile = path.join(folder, 'breakwater.yaml');
    const text = demoConfigText({
      baseUrls: simulator.baseUrls,
      ...(redis && { redis: { url: redis.url, prefix: redis.prefix.replace(/:$/, '') } }),
      speed: SPEED,
    });
    await writeFile(configFile, text, { mode: 0o600 });
    const witness = new Witness();
    const daemon = await startDaemon({
      configFile,
      // Its door and its journal are removed with the folder.
      env: {
        ...secretsOf(simulator),
        RUNTIME_DIRECTORY: folder,
        STATE_DIRECTORY: path.join(folder, 'state'),
      },
      roles: ['poll', 'act', 'notify'],
      telemetry: [witness],
    });
    closers.push(() => stopOrThrow(daemon));
    await witness.untilReady(options.signal);
    return { ...demoOf(simulator, witness, options.durationMs), close };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

/** Ends them one after the other; a failure does not keep the others from ending. @throws the first failure. */
async function endAll(ends: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const end of ends) await end().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/** Prices move with the clock, which stands still at first. */
async function openExchange({ durationMs }: DemoOptions): Promise<RunningSimulator> {
  return await startSimulatedExchange({
    accounts: [PROTECTED, TWIN].map(seedOf),
    speed: 0,
    startMs: Date.now(),
    readings: { marginModel: 'cross' },
    limits: ENFORCED_RATE_LIMITS.map((limit) =>
      Object.assign({}, limit, { periodMs: limit.periodMs / SPEED }),
    ),
    scenario: {
      name: 'crashThenRally',
      market: SPOT,
      magnitude: CRASH,
      durationMs: Math.round(durationMs * SPEED),
      noise: NOISE,
    },
  });
}

function secretsOf({ accounts }: RunningSimulator): Record<string, string> {
  const pairs = accounts.flatMap(({ id, apiKey, apiSecret }) => [
    [secretName('KEY', id), apiKey],
    [secretName('SECRET', id), apiSecret],
  ]);
  return Object.fromEntries(pairs) as Record<string, string>;
}

/** @throws an error with code `stop-too-slow`. */
async function stopOrThrow(daemon: Daemon): Promise<void> {
  if (await daemon.stop('the demo is over', STOP_WITHIN_MS)) return;
  throw Object.assign(new Error('the daemon of the demo did not end in time'), { code: 'stop-too-slow' });
}

function demoOf(simulator: RunningSimulator, witness: Witness, durationMs: number) {
  const { model, exchange } = simulator;
  const protectedBefore = model.account(PROTECTED).equity;
  const twinBefore = model.account(TWIN).equity;
  const price = (): number => toNumber(model.market(PERPETUAL)?.last ?? MARKET.price);
  const startPrice = price();
  const remarks = new Remarks();
  // Events before the beginning are not shown.
  let lastSeq = model.ledger().at(-1)?.seq ?? 0;
  let startMs = performance.now();
  const elapsedMs = (): number => Math.min(performance.now() - startMs, durationMs);
  const sides = () => ({
    protectedSide: sideOf(model, PROTECTED, protectedBefore),
    twin: sideOf(model, TWIN, twinBefore),
  });
  return {
    /** Starts exchange time. */
    begin(): void {
      startMs = performance.now();
      exchange.clock.setSpeed(SPEED);
    },
    /** Stops exchange time. */
    halt(): void {
      exchange.catchUp();
      exchange.clock.setSpeed(0);
    },
    /** Since the beginning, milliseconds of real time. */
    elapsedMs,
    /** The present state of the exchange, with all events since the beginning. */
    look(): DemoFrame {
      const entries = model.ledger({ afterSeq: lastSeq });
      lastSeq = entries.at(-1)?.seq ?? lastSeq;
      remarks.take(elapsedMs(), witness.alerts, entries);
      const { events } = remarks;
      return {
        elapsedMs: elapsedMs(),
        durationMs,
        speed: SPEED,
        price: price(),
        startPrice,
        ...sides(),
        events,
      };
    },
    outcome() {
      const { protectedSide, twin } = sides();
      return {
        result: {
          currency: CURRENCY,
          protected: protectedSide,
          unprotected: twin,
          keptMore: keptMore({ protectedSide, twin }),
          /** Firings and alarms that were delivered for the protected account. */
          alerts: witness.alerts.length,
        },
        failures: failuresOf({ protectedSide, twin }),
      };
    },
  };
}

const READY_WITHIN_MS = 60_000;
const READY_POLL_MS = 10;
/** No part of the daemon should run for the first time when the market moves: a real daemon has run for long. */
const WARM_AFTER_LOOKS = 4;

/** Observes the daemon for the demo. */
class Witness {
  /** Sentences of its alerts for the protected account, oldest first. */
  readonly alerts: string[] = [];
  readonly #looks = new Map<string, number>();

  emit(event: DaemonEvent): void {
    if (event.kind === 'evaluated') {
      this.#looks.set(event.accountId, this.#looksAt(event.accountId) + 1);
    }
    if (event.kind === 'said' && event.message.accountId === PROTECTED) {
      const { kind, words } = event.message;
      if (kind === 'firing' || kind === 'alarm') this.alerts.push(words);
    }
  }

  #looksAt(accountId: string): number {
    return this.#looks.get(accountId) ?? 0;
  }

  /** Resolves when both accounts have been evaluated. @throws the reason of the abort, or that it took too long */
  async untilReady(signal: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(READY_WITHIN_MS);
    const bound = AbortSignal.any([signal, late]);
    while (this.#looksAt(PROTECTED) < WARM_AFTER_LOOKS || this.#looksAt(TWIN) < 1) {
      await delay(READY_POLL_MS, undefined, { signal: bound }).catch(() => {
        throw late.aborted ? notReady() : bound.reason;
      });
    }
  }
}

function notReady(): Error {
  const message = `the daemon of the demo had not looked at both accounts within ${READY_WITHIN_MS / 1000} s: is this machine busy?`;
  return Object.assign(new Error(message), { code: 'demo-not-ready' });
}
