import type { CompiledAccount, CompiledConfig } from '../config/compiled-config.ts';
import { Secret } from '../config/secret.ts';
import { type ChainedRecord, OPERATOR_CHAIN } from '../core/audit/audit-record.ts';
import {
  type Expectation,
  expectationOf,
  type OrderClaim,
  obedienceOf,
} from '../core/controls/daemon-sign.ts';
import { type OrderProof, orderProofOf } from '../core/controls/order-plan.ts';
import type { Digest, Period } from '../core/digest/digest.ts';
import type { QuietHoursLine } from '../core/lines/quiet-hours.ts';
import type { AuditReader } from '../core/ports/audit-reader.ts';
import type { HistoryReader } from '../core/ports/history-reader.ts';
import type { OperatorControls } from '../core/ports/operator-controls.ts';
import { type OperatorTrust, TRUSTING } from '../core/ports/operator-trust.ts';
import type { StateStore } from '../core/ports/state-store.ts';
import type { QueueName } from '../core/ports/telemetry.ts';
import { moneyOf } from '../core/quantities/units.ts';
import { compileRules } from '../core/rules/compiled-rules.ts';
import type { Mode } from '../core/rules/rule.ts';
import { modeOf } from '../core/rules/rule-parts.ts';
import type { AccountView } from '../core/view/account-view.ts';
import { viewAccount } from '../core/view/view-account.ts';
import { systemClock } from '../exchange/system-clock.ts';
import { isRedisGuarded, pausedQueues } from '../queues/redis-sanity.ts';
import { createOperatorTrust, keyMarkOf } from '../state/controls/operator-seal.ts';
import { createRedisHeldStore } from '../state/held/held-store.ts';
import { createRedisState, type State } from '../state/state.ts';
import { connectRedisOnce } from './connect-redis-once.ts';
import { readSigns } from './daemon-signs.ts';
import { countHeld } from './held-notices.ts';
import { type PlaceConfig, problem, readConfig, readForUrl, readPlaceConfig } from './place-config.ts';
import { QuietSource } from './quiet-source.ts';
import { prefixOf, redisTarget } from './redis-target.ts';

/** Where the shared state is: a config file, a Redis server, or both, in which case the server wins. */
export interface OperationsPlace {
  readonly config?: string;
  readonly redisUrl?: string;
  /** Default: the config's, else `breakwater`. */
  readonly redisPrefix?: string;
  /** The daemon to ask while Redis does not answer. Default: at the config's address. */
  readonly daemonUrl?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The config's settings of an account; no secrets. */
interface KnownAccount {
  readonly id: string;
  readonly mode: Mode;
  readonly rules: readonly { readonly id: string; readonly mode: Mode }[];
  readonly calmMs: number;
  /** Least distance of an activation price from the mark, as a fraction; undefined: the market has no entry. */
  readonly gapOf: (market: string) => number | undefined;
  readonly moneyOf: (market: string) => string;
}

/** Redis does not answer, or the config does not say where it is. */
export type DeskReason = 'redis-lost' | 'config';

/** What a person can view and hold back from a shell. Rejects if Redis is lost. */
export interface Desk {
  /** In the order of the config; absent without one, or if it has a mistake. */
  readonly accounts: readonly KnownAccount[] | undefined;
  /** Ids alone, also from a config with a mistake elsewhere; absent without one. */
  readonly accountIds: readonly string[] | undefined;
  /** Why the config as a whole is unusable, for people; absent: it is usable, or none was named. */
  readonly fault?: string;
  /** The daemon that is asked in place of Redis, and why. */
  readonly through?: { readonly base: string; readonly why: DeskReason };
  readonly controls: Pick<OperatorControls, 'put' | 'lift' | 'list'>;
  /** Queues that somebody has paused as a whole: their jobs stand still. */
  pausedQueues(): Promise<readonly QueueName[]>;
  /** Number of running daemons that poll. */
  watchers(): Promise<number>;
  /** Failures that the daemon on this machine reports; none if no daemon answers. */
  troubles(): Promise<readonly string[]>;
  /** null: they are off and no notice waits, or there is no config here. */
  quietHours(): Promise<QuietHoursLine | null>;
  /** One account as everybody sees it; of an account that is not in the config, only what is stored. */
  view(accountId: string): Promise<AccountView>;
  /** The newest audit records of an account, as far as available. */
  records(accountId: string, count: number): Promise<readonly ChainedRecord[]>;
  wasWatched(accountId: string): Promise<boolean>;
  /** Whether every process learns of controls put or lifted here. */
  reachesAll(): Promise<boolean>;
  /** What the daemons will do with a pause, a silence or an acknowledgement made here. */
  obedience(accountId: string | null): Promise<Expectation>;
  close(): Promise<void>;
}

/** All of the shared state for a person. */
export interface Operations extends Desk {
  readonly prefix: string;
  readonly audit: AuditReader;
  readonly controls: OperatorControls;
  readonly history: HistoryReader;
  /** All accounts over a period; absent without a config. */
  readonly digest?: (period: Period, signal: AbortSignal) => Promise<Digest>;
  readonly orderProof: OrderProof;
  /** What the daemons will do with an operator order made here. */
  expected(accountId: string, claim: Omit<OrderClaim, 'keyMark'>): Promise<Expectation>;
  /** `operators.maxSlippage`; absent without a config. */
  readonly maxSlippage?: number;
}

const DEFAULT_PREFIX = 'breakwater';
/** Used when no daemon says what it accepts: the audit shows what the last one accepted. */
const SEALED_BEFORE = {
  kind: 'refused',
  why: 'what was said before bears seals of an operators.key, so daemons take only what does, and this command has no key',
} as const;

/** Opens the shared state. @throws an Error with a `cure`: `config-refused`, `redis-unknown` or `redis-unreachable` */
export async function openOperations(place: OperationsPlace): Promise<Operations> {
  const needsRedis = place.redisUrl === undefined;
  const found = place.config === undefined ? undefined : readPlaceConfig(place.config, place.env, needsRedis);
  const { config, redis: server, operators: { key: ownKey, maxSlippage } = {}, fault } = found ?? {};
  const url = place.redisUrl === undefined ? server?.url : new Secret(place.redisUrl);
  if (url === undefined || url.reveal() === '') {
    throw problem('redis-unknown', 'the address of Redis is not known here', 'Name it with --redis.');
  }
  const written = place.redisPrefix ?? server?.prefix ?? DEFAULT_PREFIX;
  const prefix = prefixOf({ url, prefix: written });
  const redis = await connectRedisOnce(redisTarget({ ...server, url, prefix }));
  // Text that an operator types must not carry a secret into the audit.
  const secrets = found?.secrets ?? [];
  const key = ownKey?.reveal();
  const isGuarded = key === undefined && (await isRedisGuarded(redis));
  const operators = createOperatorTrust({ key: () => key, isGuarded });
  const keyMark = keyMarkOf(key) ?? null;
  const daemons = () => readSigns(redis, prefix);
  const state = createRedisState({
    redis,
    prefix,
    clock: systemClock,
    secrets: () => secrets,
    operators,
    // A daemon that runs without this key would continue without seals.
    mayBeginSeals: async (isEmpty) => {
      const running = await daemons();
      return (isEmpty || running.length > 0) && running.every((daemon) => daemon.keyMark === keyMark);
    },
  });
  const orSeals = async (accountId: string | null, expected: Expectation): Promise<Expectation> => {
    if (expected.kind !== 'nobody' || key !== undefined) return expected;
    const [newest] = await state.audit.tail(accountId ?? OPERATOR_CHAIN, 1);
    return newest?.record.seal === undefined ? expected : SEALED_BEFORE;
  };
  return {
    accounts: config?.accounts.map(knownAccount),
    accountIds: found && idsOf(found),
    ...(fault === undefined ? {} : { fault }),
    prefix,
    audit: state.audit,
    controls: state.controls,
    orderProof: orderProofOf(key !== undefined, isGuarded),
    ...(maxSlippage === undefined ? {} : { maxSlippage }),
    history: state.history,
    ...(config === undefined ? {} : { digest: gatherer(config, state) }),
    reachesAll: async () => true,
    pausedQueues: () => pausedQueues(redis, prefix),
    watchers: async () => (await daemons()).filter(({ takesOrders }) => takesOrders).length,
    troubles: async () =>
      found?.web === undefined ? [] : await (await import('./daemon-desk.ts')).troublesOf(found.web),
    async quietHours() {
      if (config === undefined) return null;
      const held = createRedisHeldStore({ redis, prefix });
      const count = async () => countHeld(await held.names());
      return await new QuietSource({ count }, systemClock, config.notify.quietHours).now();
    },
    view: (accountId) => viewOf(state.store, config, accountId),
    records: (accountId, count) => state.audit.tail(accountId, count),
    obedience: async (accountId) => await orSeals(accountId, obedienceOf(await daemons(), keyMark)),
    expected: async (accountId, claim) =>
      await orSeals(accountId, expectationOf(await daemons(), { ...claim, keyMark })),
    async wasWatched(accountId) {
      const { load } = await state.store.read(accountId);
      return load.kind === 'refused' || load.account.version > 0;
    },
    async close() {
      state.close();
      redis.disconnect();
    },
  };
}

/** undefined: there is no config, or only a broken one that names no accounts. */
export function idsOf({ accountIds, config }: PlaceConfig): readonly string[] | undefined {
  return accountIds.length === 0 && config === undefined ? undefined : accountIds;
}

/**
 * Opens the shared state for viewing and holding back. If Redis does not answer, or no config says where it is, a
 * daemon on this machine is used. A daemon named by its URL needs a config only for its tokens.
 */
export async function openDesk(place: OperationsPlace): Promise<Desk> {
  try {
    return await openOperations(place);
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    const { config, daemonUrl: url, env } = place;
    const isLost = code === 'redis-unreachable' && (config ?? url) !== undefined;
    if (!isLost && (code !== 'config-refused' || url === undefined)) throw error;
    const { noDeskCure, openDaemonDesk } = await import('./daemon-desk.ts');
    const isEnough = config === undefined || url !== undefined;
    const found = isEnough ? readForUrl(config, env) : readPlaceConfig(config, env, false);
    const desk = await openDaemonDesk(found, { url, why: isLost ? 'redis-lost' : 'config' });
    if (desk !== undefined) return desk;
    throw problem(code, (error as Error).message, noDeskCure(found.web, url));
  }
}

/** Loads the digest's code on first use. */
function gatherer(
  { accounts }: CompiledConfig,
  { audit, history, store }: State,
): NonNullable<Operations['digest']> {
  return async (period, signal) => {
    const { gatherDigest } = await import('./digest/gather-digest.ts');
    const digested = accounts.map(({ id, rules, settings }) => ({
      id,
      rules: compileRules(rules, settings),
    }));
    const nowMs = systemClock.nowMs();
    return await gatherDigest({ audit, history, store, accounts: digested, nowMs, signal }, period);
  };
}

async function viewOf(
  store: StateStore,
  config: CompiledConfig | undefined,
  accountId: string,
): Promise<AccountView> {
  const { load, controls } = await store.read(accountId);
  const known = config?.accounts.find(({ id }) => id === accountId);
  return viewAccount({
    load,
    controls,
    nowMs: systemClock.nowMs(),
    ...(known && { rules: compileRules(known.rules, known.settings), balances: known.watch.balances }),
  });
}

export function knownAccount({ id, settings, rules }: CompiledAccount): KnownAccount {
  return {
    id,
    mode: settings.mode,
    rules: rules.map((rule) => ({ id: rule.id, mode: modeOf(rule, settings) })),
    calmMs: settings.cadence.calmMs,
    gapOf: (market) => settings.marketSettings(market)?.basisAllowance,
    moneyOf: (market) => moneyOf(market, settings),
  };
}

/** Distinguishes sealed records by the key of a config file; without a file or a key all records look alike. */
export function operatorTrustOf(file: string | undefined, env: OperationsPlace['env']): OperatorTrust {
  if (file === undefined) return TRUSTING;
  const key = readConfig(file, env).operators.key?.reveal();
  return createOperatorTrust({ key: () => key, isGuarded: false });
}
