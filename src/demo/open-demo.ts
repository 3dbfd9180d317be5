import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Daemon, startDaemon } from '../app/daemon.ts';
import { toNumber } from '../core/quantities/decimal.ts';
import { watchOverDeath } from '../redis-server/death-watch.ts';
import { startPrivateRedis } from '../redis-server/private-redis.ts';
import { ENFORCED_RATE_LIMITS } from '../simulator/http/rate-limit.ts';
import type { MarketSpec } from '../simulator/model/types.ts';
import type { PositionSheet } from '../simulator/model/views.ts';
import { type RunningSimulator, startSimulatedExchange } from '../simulator/start-simulated-exchange.ts';
import { CHARACTERS, demoCreditLine, seedOf, twinOf } from './accounts.ts';
import { demoConfigText, FIRES_BELOW, secretNames } from './config.ts';
import { COIN, demoMarkets, PERPETUAL, SPOT } from './market.ts';
import { type PlayedPrices, type PriceOptions, playedPrices } from './prices.ts';
import { creditLineWarningsOf, type Evidence, failuresOf, hindsightOf, resultOf } from './result.ts';
import { type Bound, Tape } from './tape.ts';
import { Witness } from './witness.ts';

export interface DemoOptions extends Omit<PriceOptions, 'windowMs'> {
  /** Real time. */
  readonly durationMs: number;
  /** Exchange time per real time; also divides every duration of the daemon's config. */
  readonly speed: number;
  /** Where REDIS_URL, REDIS_SERVER and PATH are looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** What `openDemo` hands out; `close` ends everything that it started, in order. */
export type Demo = ReturnType<typeof demoOf>;
/** How it went so far. */
export type DemoOutcome = ReturnType<Demo['outcome']>;

const STOP_WITHIN_MS = 10_000;
const STALL_RESOLUTION_MS = 20;
const NS_PER_MS = 1e6;

/**
 * Simulated exchange, private Redis and daemon on loopback, all ended by `close`; time stands still until `begin`.
 * @throws SimulatorError, NoRedisServerError, and what starting a daemon throws
 */
export async function openDemo(options: DemoOptions): Promise<Demo> {
  const played = playedPrices({ ...options, windowMs: options.durationMs * options.speed });
  const markets = demoMarkets(played.startPrice);
  const closers: (() => Promise<unknown>)[] = [];
  const close = () => endAll(closers.splice(0).reverse());
  try {
    const redis = await startPrivateRedis({ env: options.env, name: 'demo', persistent: true });
    closers.push(() => redis.stop());
    const perpetual = markets.find(({ name }) => name === PERPETUAL) as MarketSpec;
    const simulator = await openExchange(options, markets, perpetual);
    closers.push(() => simulator.close());
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-demo-'));
    const watch = watchOverDeath({ folders: [folder] });
    closers.push(() => watch.release());
    closers.push(() => rm(folder, { recursive: true, force: true }));
    const configFile = path.join(folder, 'breakwater.yaml');
    const text = demoConfigText({
      baseUrls: simulator.baseUrls,
      redis: { url: redis.url, prefix: redis.prefix.replace(/:$/, '') },
      characters: CHARACTERS,
      market: perpetual,
      speed: options.speed,
    });
    await writeFile(configFile, text, { mode: 0o600 });
    const witness = new Witness(simulator);
    const daemon = await startDaemon({
      configFile,
      env: secretsOf(simulator),
      roles: ['poll', 'act', 'notify'],
      telemetry: [witness],
    });
    closers.push(() => stopOrThrow(daemon));
    await witness.untilReady(options.signal);
    const stalls = monitorEventLoopDelay({ resolution: STALL_RESOLUTION_MS });
    closers.push(async () => stalls.disable());
    return demoOf({ options, played, simulator, witness, stalls, close });
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

/** One after the other; one that fails keeps none of the others from ending. @throws the first failure. */
async function endAll(ends: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const end of ends) await end().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

async function openExchange(
  { seed, speed }: DemoOptions,
  markets: readonly MarketSpec[],
  perpetual: MarketSpec,
): Promise<RunningSimulator> {
  const accounts = CHARACTERS.flatMap((character) =>
    [character.id, twinOf(character.id)].map((id) => seedOf(character, id, perpetual, COIN)),
  );
  const simulator = await startSimulatedExchange({
    seed,
    accounts,
    speed: 0,
    startMs: Date.now(),
    readings: { marginModel: 'cross' },
    limits: ENFORCED_RATE_LIMITS.map(({ path: limited, requests, periodMs }) => ({
      path: limited,
      requests,
      periodMs: periodMs / speed,
    })),
    config: { markets },
  });
  for (const { id, kind } of CHARACTERS) {
    if (kind !== 'borrower') continue;
    for (const accountId of [id, twinOf(id)]) {
      const outcome = simulator.model.openLoan(accountId, demoCreditLine(perpetual, COIN));
      if (!outcome.ok) throw new Error(`the demo's credit line was refused: ${outcome.message}`);
    }
  }
  return simulator;
}

function secretsOf(simulator: RunningSimulator): Record<string, string> {
  return Object.fromEntries(
    simulator.accounts.flatMap(({ id, apiKey, apiSecret }) => {
      const names = secretNames(id);
      return [
        [names.key, apiKey],
        [names.secret, apiSecret],
      ];
    }),
  );
}

/** @throws an error with code `stop-too-slow`. */
async function stopOrThrow(daemon: Daemon): Promise<void> {
  if (await daemon.stop('the demo is over', STOP_WITHIN_MS)) return;
  throw Object.assign(new Error('the daemon of the demo did not end in time'), { code: 'stop-too-slow' });
}

interface Parts {
  readonly options: DemoOptions;
  readonly played: PlayedPrices;
  readonly simulator: RunningSimulator;
  readonly witness: Witness;
  readonly stalls: ReturnType<typeof monitorEventLoopDelay>;
  readonly close: () => Promise<void>;
}

function demoOf({ options, played, simulator, witness, stalls, close }: Parts) {
  const { model, exchange } = simulator;
  const startPrice = toNumber(model.market(PERPETUAL)?.mark ?? played.startPrice);
  const bounds = new Map(CHARACTERS.map(({ id }) => [id, [...boundsOf(model.openPositions(twinOf(id)))]]));
  const tape = new Tape(FIRES_BELOW, function* watched() {
    for (const { id, required } of CHARACTERS) {
      if (required) yield* boundsOf(model.openPositions(id));
    }
  });
  const evidence = (): Evidence => ({
    ledger: model.ledger(),
    breaches: tape.breaches,
    speed: options.speed,
    alerts: witness.alerts.length,
    cureAlerts: witness.cureAlerts,
    wayToLiquidation: (id) => tape.wayTo(bounds.get(id) ?? [], startPrice),
    isReal: options.pricesCsv !== undefined,
  });
  return {
    baseUrl: simulator.baseUrl,
    speed: options.speed,
    /** What is played, in words. */
    about: played.about,
    characters: CHARACTERS,
    /** Lets time run. */
    begin() {
      stalls.reset();
      stalls.enable();
      const spot = model.market(SPOT)?.spec as MarketSpec;
      exchange.setPriceSource(SPOT, tape.hear(played.sourceFrom(spot, model.nowMs())));
      exchange.clock.setSpeed(options.speed);
    },
    /** Exchange time stands still from here on. */
    halt() {
      exchange.catchUp();
      exchange.clock.setSpeed(0);
      stalls.disable();
    },
    /** As the exchange has it now. */
    account: (id: string) => ({
      positions: model.openPositions(id),
      creditLines: model.creditLines(id),
      wasLiquidated:
        model.ledger({ accountId: id, kinds: ['liquidation_started', 'liquidation'], limit: 1 }).length > 0,
    }),
    price: () => toNumber(model.market(PERPETUAL)?.last ?? played.startPrice),
    ledger: (afterSeq: number) => model.ledger({ afterSeq }),
    /** Sentences of the daemon's alerts so far, oldest first. */
    alerts: (): readonly string[] => witness.alerts,
    outcome: () => {
      const seen = evidence();
      return {
        result: resultOf(seen),
        failures: failuresOf(seen),
        /** Ids of accounts that were reduced and would, as is known now, have come through without. */
        hindsight: hindsightOf(seen),
        creditLineWarnings: creditLineWarningsOf(seen),
        /** Longest time for which the machine let nothing of the demo run, the daemon included; real time. */
        longestStallMs: stalls.count === 0 ? 0 : Math.max(0, stalls.max / NS_PER_MS - STALL_RESOLUTION_MS),
      };
    },
    close,
  };
}

/** Not of legs that their other side outweighs: their price of liquidation lies where they earn. */
function* boundsOf(positions: readonly PositionSheet[]): Generator<Bound, void> {
  for (const { accountId, direction, liquidationPrice, markPrice } of positions) {
    if (liquidationPrice === null) continue;
    const isBelow = liquidationPrice.lt(markPrice);
    if (isBelow === (direction === 'long')) yield { accountId, direction, liquidationPrice };
  }
}
