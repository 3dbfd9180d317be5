import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Decimal, decimal, toNumber } from '../../core/decimal.ts';
import type { DaemonEvent } from '../../core/ports/telemetry.ts';
import { candleSource, parseCandles } from '../../simulator/candles.ts';
import type { PriceSource } from '../../simulator/price-source.ts';
import { isScenarioName, SCENARIOS, scenarioSource } from '../../simulator/scenarios.ts';
import { SimulatorError } from '../../simulator/simulated-exchange.ts';
import { type RunningSimulator, startSimulatedExchange } from '../../simulator/start.ts';
import type { CreditLineView, LedgerEntry, MarketSpec, PositionView } from '../../simulator/types.ts';
import { type Daemon, startDaemon } from '../daemon.ts';
import { watchOverDeath } from '../death-watch.ts';
import { startPrivateRedis } from '../private-redis.ts';
import { CHARACTERS, type DemoCharacter, loanOf, seedOf, twinOf } from './accounts.ts';
import { demoConfigText, FIRES_BELOW, secretNames } from './config.ts';
import { COIN, demoMarkets, PERPETUAL, SPOT } from './market.ts';
import { type DemoResult, type Evidence, type Failures, failuresOf, resultOf } from './result.ts';
import { type LiquidationPrices, Tape } from './tape.ts';
import { type CandleWindow, largestMove } from './window.ts';

export interface DemoOptions {
  readonly seed: number;
  /** What the market does, by name, unless there are candles. */
  readonly scenario: string;
  /** Text of a file of candles. */
  readonly pricesCsv?: string;
  /** Real time. */
  readonly durationMs: number;
  /** Exchange time per real time; also divides every duration of the daemon's config. */
  readonly speed: number;
  /** Where REDIS_URL, REDIS_SERVER and PATH are looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/** An account as the exchange has it now. */
export interface DemoAccount {
  readonly positions: readonly PositionView[];
  readonly loans: readonly CreditLineView[];
  readonly wasLiquidated: boolean;
}

export interface Demo {
  readonly baseUrl: string;
  readonly speed: number;
  /** What is played, in words. */
  readonly about: string;
  readonly characters: readonly DemoCharacter[];
  /** Lets time run. */
  begin(): void;
  /** Exchange time stands still from here on. */
  halt(): void;
  account(id: string): DemoAccount;
  price(): number;
  ledger(afterSeq: number): readonly LedgerEntry[];
  /** Sentences of the daemon's alerts so far, oldest first. */
  alerts(): readonly string[];
  result(): { readonly result: DemoResult; readonly failures: Failures };
  /** Ends everything that it started, in order. */
  close(): Promise<void>;
}

const START_PRICE = '60000';
const STOP_WITHIN_MS = 10_000;
const READY_WITHIN_MS = 30_000;
const NOISE = 0.001;

/**
 * A simulated exchange with its accounts, a private Redis and the daemon, all on loopback and all ended by
 * `close`. Exchange time stands still until `begin`.
 * @throws SimulatorError for prices and scenarios that make no sense, NoRedisServerError, and what starting a
 * daemon throws.
 */
export async function openDemo(options: DemoOptions): Promise<Demo> {
  const played = playedPrices(options);
  const markets = demoMarkets(played.startPrice);
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).reverse()) await end();
  };
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
    const witness = new Witness();
    const daemon = await startDaemon({ configFile, env: secretsOf(simulator), telemetry: [witness] });
    closers.push(() => stopOrThrow(daemon));
    await witness.untilReady(simulator, options.signal);
    return demoOf(options, played, simulator, witness, close);
  } catch (error) {
    await close();
    throw error;
  }
}

interface PlayedPrices {
  readonly startPrice: Decimal;
  readonly about: string;
  readonly sourceFrom: (market: MarketSpec, startMs: number) => PriceSource;
}

function playedPrices({ scenario, pricesCsv, durationMs, speed, seed }: DemoOptions): PlayedPrices {
  const windowMs = durationMs * speed;
  if (pricesCsv !== undefined) return candlePrices(largestMove(pricesCsv, windowMs));
  if (!isScenarioName(scenario)) {
    const known = Object.keys(SCENARIOS).join(', ');
    throw new SimulatorError('invalid-input', `no scenario ${JSON.stringify(scenario)}; there are ${known}`);
  }
  const startPrice = decimal(START_PRICE);
  return {
    startPrice,
    about: `${scenario}: ${SCENARIOS[scenario].note}`,
    sourceFrom: ({ priceStep }, startMs) =>
      scenarioSource({
        name: scenario,
        startMs,
        startPrice,
        priceStep,
        durationMs: Math.round(windowMs),
        noise: { seed, size: NOISE },
      }),
  };
}

function candlePrices(window: CandleWindow): PlayedPrices {
  const parsed = parseCandles(window.csv);
  const candles = parsed.ok ? parsed.candles : [];
  return {
    startPrice: candles[0]?.open ?? decimal(START_PRICE),
    about: `candles from ${new Date(window.fromMs).toISOString()}, a move of ${(100 * window.move).toFixed(1)} %`,
    sourceFrom: ({ priceStep }, startMs) =>
      candleSource({
        candles,
        startMs,
        priceStep,
        // The order of a candle's extremes that hurts those whom the move hurts.
        adverse: window.move > 0 ? 'high' : 'low',
      }),
  };
}

async function openExchange(
  { seed }: DemoOptions,
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
    config: { markets },
  });
  for (const { id, kind } of CHARACTERS) {
    if (kind !== 'borrower') continue;
    for (const accountId of [id, twinOf(id)]) {
      const outcome = simulator.model.openLoan(accountId, loanOf(perpetual, COIN));
      if (!outcome.ok) throw new Error(`the demo's loan was refused: ${outcome.message}`);
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

function notReady(): Error {
  const message = `the daemon of the demo had not looked at every account within ${READY_WITHIN_MS / 1000} s: is this machine busy?`;
  return Object.assign(new Error(message), { code: 'demo-not-ready' });
}

/** What the daemon does, as far as the demo tells of it. */
class Witness {
  readonly alerts: string[] = [];
  readonly #evaluated = new Set<string>();
  readonly #enforced = new Set(CHARACTERS.map(({ id }) => id));
  #onEvaluated: () => void = () => {};

  emit(event: DaemonEvent): void {
    if (event.kind === 'evaluated') {
      this.#evaluated.add(event.accountId);
      this.#onEvaluated();
    }
    if (event.kind === 'said' && this.#enforced.has(event.message.accountId)) {
      const { kind, words, accountId } = event.message;
      if (kind === 'firing' || kind === 'alarm') this.alerts.push(`${accountId}: ${words}`);
    }
  }

  /** Until every account has been looked at and every cover stands. @throws what aborted the wait, or that it took too long. */
  async untilReady(simulator: RunningSimulator, signal: AbortSignal): Promise<void> {
    const covered = CHARACTERS.filter((character) => character.covered === true);
    const isReady = (): boolean =>
      simulator.accounts.every(({ id }) => this.#evaluated.has(id)) &&
      covered.every(({ id }) => simulator.model.openOrders(id).length > 0);
    const late = AbortSignal.timeout(READY_WITHIN_MS);
    const bound = AbortSignal.any([signal, late]);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = () => reject(late.aborted ? notReady() : bound.reason);
    bound.addEventListener('abort', stop, { once: true });
    this.#onEvaluated = () => {
      if (isReady()) resolve();
    };
    if (bound.aborted) stop();
    try {
      await promise;
    } finally {
      bound.removeEventListener('abort', stop);
      this.#onEvaluated = () => {};
    }
  }
}

function demoOf(
  options: DemoOptions,
  played: PlayedPrices,
  simulator: RunningSimulator,
  witness: Witness,
  close: () => Promise<void>,
): Demo {
  const { model, exchange } = simulator;
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
    mustLoseTwin: (id) =>
      (bounds.get(id) ?? []).some(({ direction, liquidationPrice }) =>
        direction === 'long'
          ? tape.lowest <= toNumber(liquidationPrice)
          : tape.highest >= toNumber(liquidationPrice),
      ),
  });
  return {
    baseUrl: simulator.baseUrl,
    speed: options.speed,
    about: played.about,
    characters: CHARACTERS,
    begin() {
      const spot = model.market(SPOT)?.spec as MarketSpec;
      exchange.setPriceSource(SPOT, tape.hear(played.sourceFrom(spot, model.nowMs())));
      exchange.clock.setSpeed(options.speed);
    },
    halt() {
      exchange.catchUp();
      exchange.clock.setSpeed(0);
    },
    account: (id) => ({
      positions: model.openPositions(id),
      loans: model.creditLines(id),
      wasLiquidated:
        model.ledger({ accountId: id, kinds: ['liquidation_started', 'liquidation'], limit: 1 }).length > 0,
    }),
    price: () => toNumber(model.market(PERPETUAL)?.last ?? played.startPrice),
    ledger: (afterSeq) => model.ledger({ afterSeq }),
    alerts: () => witness.alerts,
    result: () => {
      const seen = evidence();
      const result = resultOf(seen);
      return { result, failures: failuresOf(seen, result) };
    },
    close,
  };
}

/** Not of legs that their other side outweighs: their price of liquidation lies where they earn. */
function* boundsOf(
  positions: readonly PositionView[],
): ReturnType<LiquidationPrices> extends Iterable<infer T> ? Generator<T, void> : never {
  for (const { accountId, direction, liquidationPrice, markPrice } of positions) {
    if (liquidationPrice === null) continue;
    const isBelow = liquidationPrice.lt(markPrice);
    if (isBelow === (direction === 'long')) yield { accountId, direction, liquidationPrice };
  }
}
