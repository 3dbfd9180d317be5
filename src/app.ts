import { setFlagsFromString } from 'node:v8';
import type { ConfiguredAccess } from './app/account-access.ts';
import type { DaemonOptions } from './app/daemon.ts';
import { SINGLE_CALLS } from './app/nonce-ordinals.ts';
import { readVersion } from './app/read-version.ts';
import type { CheckReport } from './config/check-report.ts';
import type { RedisSettings } from './config/redis.ts';
import type { PositionSetName } from './config/rules/fitting-set.ts';
import type { ProposedSet } from './config/rules/proposed-set.ts';
import type { FullExchange } from './core/ports/exchange.ts';
import type { ExchangeClientOptions } from './exchange/client.ts';
import type { StressRecord } from './replay/stress/stress.ts';

/**
 * The composition root: the only place where the parts meet. It composes what the command line and the web page need
 * from the layers below and exports it; no layer imports another. Compose inside functions and import heavy parts there
 * (`await import(...)`), so that a command loads only what it runs.
 */

export type { ConfiguredAccess } from './app/account-access.ts';
export type { Daemon, DaemonOptions, Role } from './app/daemon.ts';
export type { Door, DoorError, DoorPlace } from './app/door/open-door.ts';
export type { Desk, Operations, OperationsPlace } from './app/operations.ts';
export type { LogOutput } from './app/process-telemetry.ts';
export type { OpenReplay, ReplayOptions } from './app/replay/open-replay.ts';
export type { OpenStress, StressOptions } from './app/replay/open-stress.ts';
export { parseLatency, parseMoment } from './app/replay/replay-values.ts';
export type { ChannelTest } from './app/test-channels.ts';
export type { ChannelKey } from './config/channel-keys.ts';
export type { ChannelType } from './config/channels.ts';
export type { CheckReport } from './config/check-report.ts';
export { readRedisAddress } from './config/redis-address.ts';
export type { PositionSetName } from './config/rules/fitting-set.ts';
export type { ProposedSet } from './config/rules/proposed-set.ts';
export {
  durationHint,
  isDurationTooLong,
  LONGEST_DURATION,
  parseDuration,
  parsePercent,
  percentInWords,
} from './config/shape/units.ts';
export { meantOr, suggest } from './core/text/suggest.ts';
export type { Demo, DemoOptions } from './demo/open-demo.ts';
export type { DoctorCheck, DoctorReport } from './doctor/doctor-report.ts';
export type { DoctorOptions } from './doctor/examine-setup.ts';
export type { ExchangeObserver } from './exchange/call/observer.ts';
export { ENDPOINTS, isWebAddress } from './exchange/endpoints.ts';
export type { Dialect, Prepared, RequestSettings } from './exchange/requests.ts';
export { makeFolder } from './owner/make-folder.ts';
export { outcomeTable } from './replay/outcome-table.ts';
export type { ReplayRecord } from './replay/record.ts';
export type { StressRecord } from './replay/stress/stress.ts';
export { summaryOf } from './replay/summary.ts';
export type { RunningSimulator, SimulatorOptions } from './simulator/start-simulated-exchange.ts';
export type { FileVerdict } from './state/audit/audit-file.ts';
export type { LogLevel } from './telemetry/logger.ts';
export type { AskedOrder } from './web/api/order-routes.ts';
export type { ProcessLine } from './web/sources.ts';
export { readVersion };

type Env = Readonly<Record<string, string | undefined>>;

/** Returns a function that is loaded at its first call. */
function lazy<A extends readonly unknown[], R>(
  load: () => Promise<(...given: A) => R | Promise<R>>,
): (...given: A) => Promise<R> {
  return async (...given) => await (await load())(...given);
}

/** Starts the simulated exchange. @throws an error with a `code` and a message that says what to change. */
export const simulate = lazy(
  async () => (await import('./simulator/start-simulated-exchange.ts')).startSimulatedExchange,
);

/** Describes what is wrong in a price file, with its place; `undefined` if it can be played. */
export const priceFileFault = lazy(
  async () => (await import('./simulator/prices/price-file.ts')).priceFileFault,
);

/** Vocabulary of `breakwater simulate --help`: names with one line each. */
export const simulatorVocabulary = lazy(async () => (await import('./simulator/vocabulary.ts')).vocabulary);

/**
 * Makes V8 compile every function at its first call with its baseline compiler. Code that acts may not have run for
 * months when it is needed; interpreted, the first orders after a breach take a fifth longer. Call it after the start:
 * compiling code that only a start runs cost 9 MB. A V8 without this flag reports that on standard error and continues.
 */
function compileOnFirstCall(): void {
  setFlagsFromString('--always-sparkplug');
}

/**
 * Makes V8 keep WebAssembly as first compiled. Here that is the parser of the exchange's replies. Optimizing it saves 1
 * us per reply, but cost 0.2 s of processor time during the first polls and 10 MB that the C library never returned.
 * The second flag alone would make V8 optimize everything at once.
 */
function compileWebAssemblyOnce(): void {
  setFlagsFromString('--no-wasm-tier-up --no-wasm-dynamic-tiering');
}

/**
 * Opens the daemon on a simulated exchange with its own Redis; exchange time stands still until it begins.
 * @throws errors with a `code` and a message that says what to change.
 */
export const startDemo = lazy(async () => {
  const { openDemo } = await import('./demo/open-demo.ts');
  compileWebAssemblyOnce();
  compileOnFirstCall();
  return openDemo;
});

/**
 * Starts the daemon, or the part of it that the roles name.
 * @throws errors with code `config-refused`, `redis-unusable` or one of WebServerError, and a message that says
 * what to change.
 */
export const runDaemon = lazy(async () => {
  const { startDaemon } = await import('./app/daemon.ts');
  return async (options: DaemonOptions) => {
    compileWebAssemblyOnce();
    const daemon = await startDaemon(options);
    compileOnFirstCall();
    return daemon;
  };
});

/** Reports all that is wrong or dangerous in a config, and its rules in words. `text`: of a file not yet written. */
export async function checkConfigFile(file: string, env: Env, text?: string): Promise<CheckReport> {
  const [{ reportCheck }, { nodeSurroundings }, { readAs }] = await Promise.all([
    import('./config/check-report.ts'),
    import('./config/node-files.ts'),
    import('./app/examine-config.ts'),
  ]);
  const surroundings = nodeSurroundings(env);
  if (text === undefined) return reportCheck(file, surroundings);
  const reading = { kind: 'read', text, worldReadable: true, othersMayWrite: false } as const;
  return reportCheck(file, readAs(surroundings, file, reading));
}

/** The shipped rule set that fits a leverage, or the one with this name. */
export async function shippedSet(of: number | PositionSetName): Promise<ProposedSet> {
  const [{ fittingSet }, { proposedSet }, { nodeSurroundings }] = await Promise.all([
    import('./config/rules/fitting-set.ts'),
    import('./config/rules/proposed-set.ts'),
    import('./config/node-files.ts'),
  ]);
  return proposedSet(typeof of === 'number' ? fittingSet(of) : of, nodeSurroundings({}));
}

/** The keys of a channel type in the config. */
export const channelKeys = lazy(async () => (await import('./config/channel-keys.ts')).channelKeys);

/** Reads and checks all inputs of a replay. @throws ReplayInputError, SimulatorError */
export const openReplay = lazy(async () => (await import('./app/replay/open-replay.ts')).openReplay);

/** A replay as one HTML page. */
export const renderReplay = lazy(async () => (await import('./replay/report/render-report.ts')).renderReport);

/** Reads and checks all inputs of a stress test. @throws ReplayInputError */
export const openStress = lazy(async () => (await import('./app/replay/open-stress.ts')).openStress);

/** The scenarios that `breakwater stress --list` prints. */
export async function stressScenarios() {
  const { STRESS_SCENARIOS } = await import('./app/replay/open-stress.ts');
  return STRESS_SCENARIOS.map(({ id, title, about, kind }) => ({ id, title, about, kind }));
}

/** A stress test as tables for a terminal, and its worst case in a sentence. */
export async function stressTables(record: StressRecord) {
  const tables = await import('./replay/stress/stress-tables.ts');
  return {
    scenarios: tables.scenarioTable(record),
    accounts: tables.accountTable(record),
    grid: tables.gridTable(record),
    worst: tables.worstCase(record),
  };
}

/** A stress test as one HTML page. */
export const renderStressReport = lazy(
  async () => (await import('./replay/stress/stress-report.ts')).renderStress,
);

/** Opens the shared state for an operator. */
export const openOperations = lazy(async () => (await import('./app/operations.ts')).openOperations);

export const askDaemon = lazy(async () => (await import('./app/operations.ts')).askDaemon);

/** Opens the API of a running daemon, through which everything is changed. */
export const openDoor = lazy(async () => (await import('./app/door/open-door.ts')).openDoor);

export const digestText = lazy(async () => (await import('./app/digest/digest-notice.ts')).digestText);

/** A token for the web server, and its hash. */
export const makeToken = lazy(async () => (await import('./web/token.ts')).makeToken);

/** Examines everything that has to be right for the daemon to run with this config. */
export const examineSetup = lazy(async () => (await import('./doctor/examine-setup.ts')).examineSetup);

export const operatorTrustOf = lazy(async () => (await import('./app/operations.ts')).operatorTrustOf);

export type { Recomputation } from './app/recompute-decisions.ts';

export const recomputeTrail = lazy(async () => (await import('./app/recompute-decisions.ts')).recomputeTrail);

export const recomputeFile = lazy(async () => (await import('./app/recompute-decisions.ts')).recomputeFile);

/** Verifies an exported part of an audit chain on its own. */
export const verifyAuditFile = lazy(
  async () => (await import('./state/audit/audit-file.ts')).verifyAuditFile,
);

/** Sends a marked message through each channel of a config file (or one); the log channel writes to `say`. */
export async function testNotifications(
  { file, channel, env }: { readonly file: string; readonly channel?: string; readonly env: Env },
  signal: AbortSignal,
  say: (text: string) => void,
) {
  const [{ loadConfig }, { nodeSurroundings }, { formatProblem }, { testChannels }, { systemClock }] =
    await Promise.all([
      import('./config/load-config.ts'),
      import('./config/node-files.ts'),
      import('./config/problem.ts'),
      import('./app/test-channels.ts'),
      import('./exchange/system-clock.ts'),
    ]);
  const loaded = loadConfig(file, nodeSurroundings(env));
  if (loaded.kind === 'refused') {
    const errors = loaded.problems.filter(({ severity }) => severity === 'error');
    return { kind: 'refused' as const, problems: errors.map(formatProblem) };
  }
  const names = [...loaded.config.channels.map(({ name }) => name), 'log'];
  if (channel !== undefined && !names.includes(channel))
    return { kind: 'noSuchChannel' as const, channels: names };
  const parts = {
    clock: systemClock,
    random: Math.random,
    signal,
    log: ({ text }: { readonly text: string }) => say(text),
  };
  return { kind: 'tested' as const, tests: await testChannels(loaded.config, channel, parts) };
}

/** Prepares request bodies as the client sends them, or says what is wrong with them; sends nothing. */
export async function exchangeRequests() {
  const { PREPARE } = await import('./exchange/requests.ts');
  return PREPARE;
}

/** Settings of an account's connection, as its config gives them; absent ones take the client's defaults. */
export interface ExchangeConnectionOptions
  extends Pick<ConfiguredAccess, 'baseUrls' | 'dialect' | 'nonceMode'>,
    Partial<Pick<ConfiguredAccess, 'ca' | 'cardProviders' | 'limiter' | 'nonceStart' | 'proxy'>>,
    Pick<ExchangeClientOptions, 'observer' | 'timeouts'> {
  /** Absent for calls that need none: the public ping. */
  readonly credentials?: ConfiguredAccess['credentials'] | undefined;
  /** Nonces and request budgets shared with other processes on this Redis and prefix; absent: kept in memory. */
  readonly redis?: SharedStores | undefined;
}

type SharedStores = { readonly redisUrl: string; readonly prefix: string } | RedisSettings;

const NO_KEY = { apiKey: 'none', apiSecret: 'none' };

/** How an account of a config reaches the exchange. @throws an Error with a `code` and a `cure` */
export const accountAccess = lazy(async () => (await import('./app/account-access.ts')).accountAccess);

/**
 * Opens an exchange client for single calls by a person, with all endpoints.
 * @throws ExchangeOptionsError (code EXCHANGE_OPTIONS), or an error with code `redis-unreachable`.
 */
export async function connectExchange(options: ExchangeConnectionOptions) {
  const { createExchangeClient } = await import('./exchange/client.ts');
  const { redis, credentials = NO_KEY, nonceMode: mode, nonceStart: start = 0, limiter, ...same } = options;
  const stores = await connectStores(redis);
  try {
    const exchange: FullExchange & { close(): Promise<void> } = createExchangeClient({
      ...same,
      credentials,
      nonce: { mode, store: stores.nonces, start, ...SINGLE_CALLS },
      limiter: { store: stores.limits, fallback: stores.fallback, ...limiter },
      version: readVersion(),
    });
    const close = async () => {
      await exchange.close();
      await stores.close();
    };
    return { exchange, close };
  } catch (error) {
    await stores.close();
    throw error;
  }
}

async function connectStores(shared: SharedStores | undefined) {
  const { systemClock } = await import('./exchange/system-clock.ts');
  const { createMemoryRateLimitStore } = await import('./state/limits/limiter-memory.ts');
  const fallback = createMemoryRateLimitStore(systemClock);
  if (shared === undefined) {
    const { createMemoryNonceStore } = await import('./state/nonce/nonce-memory.ts');
    return {
      nonces: createMemoryNonceStore(systemClock),
      limits: fallback,
      fallback,
      close: async () => {},
    };
  }
  const { createRedisNonceStore } = await import('./state/nonce/nonce-redis.ts');
  const { createRedisRateLimitStore } = await import('./state/limits/limiter-redis.ts');
  const { connectRedisOnce } = await import('./app/first-contact.ts');
  const { prefixOf, redisTarget } = await import('./app/redis-target.ts');
  const { Secret } = await import('./config/secret.ts');
  const place = 'redisUrl' in shared ? { url: new Secret(shared.redisUrl), prefix: shared.prefix } : shared;
  const redis = await connectRedisOnce(redisTarget(place));
  const prefix = prefixOf(place);
  const nonces = createRedisNonceStore({ redis, prefix });
  const limits = createRedisRateLimitStore({ redis, prefix });
  const close = async () => {
    await nonces.close();
    redis.disconnect();
  };
  return { nonces, limits, fallback, close };
}
