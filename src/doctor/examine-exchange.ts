import type { Redis } from 'ioredis';
import { hasKey, NO_KEY, proxyOf } from '../app/client-access.ts';
import { ConfiguredAccounts } from '../app/configured-accounts.ts';
import { countSharing, leastInterval } from '../app/least-interval.ts';
import { DOCTOR_ORDINAL } from '../app/nonce-ordinals.ts';
import { readVersion } from '../app/read-version.ts';
import type { CompiledAccount, CompiledConfig } from '../config/compiled-config.ts';
import { durationInWords } from '../config/shape/units.ts';
import type { SourceName } from '../core/fields/field-catalogue.ts';
import type {
  ExchangeError,
  ExchangeReads,
  PositionRecord,
  ReadOutcome,
  RecordList,
  ReplyTiming,
} from '../core/ports/exchange.ts';
import type { DaemonEvent } from '../core/ports/telemetry.ts';
import { toDecimal, ZERO } from '../core/quantities/decimal.ts';
import { countSetAside } from '../core/quantities/snapshot.ts';
import { createExchangeClient } from '../exchange/client.ts';
import { systemClock } from '../exchange/system-clock.ts';
import { createMemoryRateLimitStore } from '../state/limits/limiter-memory.ts';
import { createRedisRateLimitStore } from '../state/limits/limiter-redis.ts';
import { createMemoryNonceStore } from '../state/nonce/nonce-memory.ts';
import { createRedisNonceStore } from '../state/nonce/nonce-redis.ts';
import type { DoctorCheck } from './doctor-report.ts';

export interface ExaminedRedis {
  readonly redis: Redis;
  readonly prefix: string;
}

const PING_TIMEOUT_MS = 5_000;
/** The exchange accepts nonces of `window` mode up to this far from its own time (specification 5, rule 1). */
const WINDOW_MS = 5_000;
const NOTABLE_SKEW_MS = 1_000;

/** Examines the exchange, all at the same time: addresses, clocks, keys, permissions, markets, budgets. */
export async function examineExchange(
  config: CompiledConfig,
  shared: ExaminedRedis | undefined,
  signal: AbortSignal,
): Promise<readonly DoctorCheck[]> {
  const found = await Promise.all([
    examineAddresses(config, signal),
    examineAccounts(config, shared, signal),
  ]);
  const sharing = countSharing(config);
  return [...found.flat(), ...config.accounts.map((account) => examineBudget(account, config, sharing))];
}

/** Examines each base URL through each egress proxy. */
async function examineAddresses(
  config: CompiledConfig,
  signal: AbortSignal,
): Promise<readonly DoctorCheck[]> {
  const groups = [...new Set(config.accounts.map(({ egress }) => egress))];
  const proxies = new Map(groups.map((group) => [proxyOf(group, config) ?? '', group]));
  const found = await Promise.all(
    [...proxies].flatMap(([proxy, group]) =>
      config.exchange.baseUrls.map((baseUrl) => {
        const about = proxies.size === 1 ? baseUrl : `${baseUrl} (egress ${group})`;
        return examineAddress(config, { baseUrl, proxy, about }, signal);
      }),
    ),
  );
  return found.flat();
}

interface Way {
  readonly baseUrl: string;
  readonly proxy: string;
  readonly about: string;
}

async function examineAddress(
  { exchange, accounts }: CompiledConfig,
  { baseUrl, proxy, about }: Way,
  signal: AbortSignal,
): Promise<readonly DoctorCheck[]> {
  const limits = createMemoryRateLimitStore(systemClock);
  const client = createExchangeClient({
    baseUrls: [baseUrl],
    credentials: NO_KEY,
    version: readVersion(),
    nonce: { mode: 'unique', store: createMemoryNonceStore(systemClock) },
    limiter: { store: limits, fallback: limits },
    timeouts: { attemptMs: PING_TIMEOUT_MS, callMs: PING_TIMEOUT_MS },
    retry: { maxAttempts: 2 },
    ...(proxy === '' ? {} : { proxy }),
    ...(exchange.certificateAuthorities === undefined ? {} : { ca: exchange.certificateAuthorities }),
  });
  try {
    const outcome = await client.ping({ signal });
    if (outcome.kind === 'failed') {
      const cure = 'Check the address, the network, proxy and firewall; the live exchange has two addresses.';
      return [{ name: 'exchange', status: 'failed', about, why: wordsOf(outcome.error), cure }];
    }
    const { timing } = outcome;
    const tookMs = Math.ceil(timing.receivedAtMs - timing.sentAtMs);
    const windows = accounts.some(({ settings }) => settings.nonceMode === 'window');
    return [
      { name: 'exchange', status: 'passed', about, why: `it answers within ${tookMs} ms` },
      examineClock(about, timing, windows),
    ];
  } finally {
    await client.close();
  }
}

/** The least skew that explains the Date header: it has whole seconds, and is from between sending and receiving. */
function examineClock(about: string, reply: ReplyTiming, windows: boolean): DoctorCheck {
  const { sentAtMs, receivedAtMs, serverDateMs } = reply;
  if (serverDateMs === undefined) {
    const why = 'the reply has no Date header, so that clocks cannot be compared';
    return { name: 'clock', status: 'warning', about, why };
  }
  const toWallMs = systemClock.nowMs() - systemClock.monotonicMs();
  const least = serverDateMs - (receivedAtMs + toWallMs);
  const most = serverDateMs + 1_000 - (sentAtMs + toWallMs);
  const skewMs = Math.round(least > 0 ? least : Math.min(0, most));
  const words = `this clock is ${durationInWords(Math.abs(skewMs))} ${skewMs > 0 ? 'behind' : 'ahead of'} the exchange's`;
  if (Math.abs(skewMs) <= NOTABLE_SKEW_MS) {
    const why = skewMs === 0 ? 'no difference to the clock of the exchange' : words;
    return { name: 'clock', status: 'passed', about, why };
  }
  const isTooMuch = windows && Math.abs(skewMs) >= WINDOW_MS;
  const cure = 'Let the clock be set by NTP.';
  return { name: 'clock', status: isTooMuch ? 'failed' : 'warning', about, why: words, cure };
}

async function examineAccounts(
  config: CompiledConfig,
  shared: ExaminedRedis | undefined,
  signal: AbortSignal,
): Promise<readonly DoctorCheck[]> {
  const able = config.accounts.filter(hasKey);
  const skipped = config.accounts.filter((account) => !hasKey(account));
  const refusals = new Map<string, number>();
  const fallback = createMemoryRateLimitStore(systemClock);
  const sharedNonces = shared === undefined ? undefined : createRedisNonceStore(shared);
  const accounts = new ConfiguredAccounts({
    clock: systemClock,
    random: Math.random,
    nonces: sharedNonces ?? createMemoryNonceStore(systemClock),
    limits: shared === undefined ? fallback : createRedisRateLimitStore(shared),
    fallbackLimits: fallback,
    telemetry: { emit: (event: DaemonEvent) => countRefusals(event, refusals) },
    ordinal: DOCTOR_ORDINAL,
  });
  try {
    accounts.adopt({ ...config, accounts: able });
    const found = await Promise.all(
      able.map(async (account) => {
        const exchange = accounts.get(account.id)?.exchange;
        return exchange === undefined ? [] : await examineAccount(account, exchange, refusals, signal);
      }),
    );
    const why = 'its key or secret is not at hand';
    return [
      ...found.flat(),
      ...skipped.map(({ id }): DoctorCheck => ({ name: 'credentials', status: 'skipped', about: id, why })),
    ];
  } finally {
    await accounts.close();
    await sharedNonces?.close();
  }
}

function countRefusals(event: DaemonEvent, refusals: Map<string, number>): void {
  if (event.kind !== 'call') return;
  refusals.set(event.accountId, (refusals.get(event.accountId) ?? 0) + event.call.noncesRefused);
}

async function examineAccount(
  account: CompiledAccount,
  exchange: ExchangeReads,
  refusals: ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<readonly DoctorCheck[]> {
  const about = account.id;
  const positions = await exchange.openPositions({}, { signal });
  if (positions.kind === 'failed') {
    return [failedRead('credentials', about, positions.error)];
  }
  const { records } = positions.value;
  const why = `open positions can be read (${records.length})`;
  const others = account.watch.sources.filter((source) => source !== 'positions');
  const reads = await Promise.all(others.map((source) => examineSource(source, about, exchange, signal)));
  return [
    { name: 'credentials', status: 'passed', about, why },
    ...reads,
    examineNonce(account, refusals.get(account.id) ?? 0),
    examineMarkets(account, positions),
  ];
}

async function examineSource(
  source: Exclude<SourceName, 'positions'>,
  about: string,
  exchange: ExchangeReads,
  signal: AbortSignal,
): Promise<DoctorCheck> {
  const outcome = await readSource(source, exchange, signal);
  const name = `read.${source}`;
  if (outcome.kind === 'failed') return failedRead(name, about, outcome.error);
  if (source !== 'creditLine') return { name, status: 'passed', about, why: 'it can be read' };
  return { name, status: 'passed', about, why: creditLineWords(outcome.value as RecordList<unknown>) };
}

/** Specification 4.6b shows a single object: an exchange that replies so shows only one of several credit lines. */
function creditLineWords({ records }: RecordList<unknown>): string {
  if (records.length === 0) return 'there is none';
  if (records.length > 1) return `${records.length} are open`;
  return 'one is open; if you have more of them at the exchange, it does not show them to programs';
}

function readSource(
  source: Exclude<SourceName, 'positions'>,
  exchange: ExchangeReads,
  signal: AbortSignal,
): Promise<ReadOutcome<unknown>> {
  switch (source) {
    case 'creditLine':
      return exchange.creditLines({ signal });
    case 'mainBalance':
      return exchange.mainBalance({ signal });
    case 'transfers':
      return exchange.transfers({ maxRecords: 1 }, { signal });
    case 'spotOrders':
      return exchange.spotOrders({ maxRecords: 1 }, { signal });
  }
}

const CURES: Readonly<Record<string, string>> = {
  unauthenticated:
    'Check key and secret, and that the key is active: idle ones are switched off after 14 days.',
  permissionDenied: 'Give the key the permission for this endpoint.',
  addressNotAllowed:
    'Allow the address of this host in the settings of the key, its IPv6 address too; or name the other base address.',
  gatewayRefused:
    'Not the exchange refused but something in front of it: try the other base address, and see whether a browser gets through from this host.',
  loansNotAvailable: 'Have support enable credit lines for the key, or do not watch them.',
  nonceRefused: 'Check `exchange.nonce` against the nonce mode of the key, and that nobody else uses it.',
  rateLimited: 'Lower `egress.*.share`, or use fewer programs behind this address.',
};

function failedRead(name: string, about: string, error: ExchangeError): DoctorCheck {
  const cure = CURES[error.name];
  const why = wordsOf(error);
  return { name, status: 'failed', about, why, ...(cure === undefined ? {} : { cure }) };
}

function wordsOf({ name, message, httpStatus }: ExchangeError): string {
  return `${message} (${name}${httpStatus === undefined ? '' : `, HTTP ${httpStatus}`})`;
}

function examineNonce({ id, settings }: CompiledAccount, refused: number): DoctorCheck {
  const about = id;
  const mode = settings.nonceMode;
  if (refused === 0) return { name: 'nonce', status: 'passed', about, why: `mode ${mode} is accepted` };
  const why = `${refused} nonces of mode ${mode} were refused before one was accepted`;
  const cure =
    'Somebody else may use the key, or used it with nonces of another kind: give the daemon its own.';
  return { name: 'nonce', status: 'warning', about, why, cure };
}

type Positions = Extract<ReadOutcome<RecordList<PositionRecord>>, { kind: 'ok' }>;

function examineMarkets({ id, settings }: CompiledAccount, { value }: Positions): DoctorCheck {
  const open = [...new Set(value.records.map(({ market }) => market))];
  const missing = open.filter((market) => settings.marketSettings(market) === undefined);
  const base = { name: 'markets', about: id };
  if (value.setAside.length > 0) {
    const [first] = value.setAside;
    const place = first === undefined ? '' : `: ${first.path}: expected ${first.expected}, got ${first.got}`;
    const why = `${countSetAside(value)} position records are not as documented${place}`;
    const cure = 'They cannot be judged: compare with the documentation of the API.';
    return { ...base, status: 'failed', why, cure };
  }
  if (missing.length > 0) {
    const why = `positions are open in markets without an entry in the config: ${missing.join(', ')}`;
    const cure = 'Add them under `markets`: without one, positions there are watched but never reduced.';
    return { ...base, status: 'failed', why, cure };
  }
  const odd = value.records.find(({ market, amount }) => {
    const step = settings.marketSettings(market)?.amountStep;
    return step !== undefined && !toDecimal(amount).mod(toDecimal(step)).eq(ZERO);
  });
  if (odd !== undefined) {
    const step = settings.marketSettings(odd.market)?.amountStep ?? '';
    const why = `a position of ${odd.amount} is open in ${odd.market}, which is no multiple of its amountStep of ${step}`;
    const cure =
      'Correct the step under `markets`: with one too coarse it reduces by too much, or not at all.';
    return { ...base, status: 'failed', why, cure };
  }
  const why = open.length === 0 ? 'no position is open' : `every open position has one (${open.join(', ')})`;
  return { ...base, status: 'passed', why };
}

function examineBudget(
  account: CompiledAccount,
  config: CompiledConfig,
  sharing: ReadonlyMap<string, number>,
): DoctorCheck {
  const { calmMs, alertMs } = account.settings.cadence;
  const leastMs = Math.ceil(leastInterval(account, config, sharing));
  const about = account.id;
  const words = `the request budget of egress group ${account.egress} allows a poll every ${durationInWords(leastMs)}`;
  if (leastMs <= alertMs) {
    const why = `it allows the alert cadence of ${durationInWords(alertMs)}`;
    return { name: 'budget', status: 'passed', about, why };
  }
  const cure = 'Spread the accounts over more egress groups, or make the cadence longer.';
  const isTooLittle = leastMs > calmMs;
  const limit = isTooLittle
    ? `calm cadence of ${durationInWords(calmMs)}`
    : `alert cadence of ${durationInWords(alertMs)}`;
  const why = `${words}, which is less often than the ${limit}`;
  return { name: 'budget', status: isTooLittle ? 'failed' : 'warning', about, why, cure };
}
