import { randomInt } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { AuditReader } from '../core/ports/audit-reader.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { HistoryPoint, HistoryReader } from '../core/ports/history-reader.ts';
import type { OperatorControls } from '../core/ports/operator-controls.ts';
import { type OperatorTrust, TRUSTING } from '../core/ports/operator-trust.ts';
import { bucketOf } from '../core/ports/state-store.ts';
import { currentConcealer } from '../core/redaction/conceal.ts';
import { parsedJson } from '../core/text/parsed-json.ts';
import type { Backend } from './account/account-backend.ts';
import { AccountStore } from './account/account-store.ts';
import { MemoryBackend } from './account/backend-memory.ts';
import { RedisBackend } from './account/backend-redis.ts';
import { StandbyBackend } from './account/backend-standby.ts';
import { createAuditLog } from './audit/audit-log.ts';
import { pruneChain } from './audit/audit-prune.ts';
import { StoredControls } from './controls/operator-controls.ts';

export interface StateOptions {
  readonly clock: Clock;
  /** Current secret values, which are kept out of audit records. Default: none. */
  readonly secrets?: () => readonly string[];
  /** Least time between two samples of an account's history; default 10 s. */
  readonly historyEveryMs?: number;
  /** Samples kept per account; default 2880, eight hours at the default rate. */
  readonly historySamples?: number;
  /** Records kept per account, default 10,000; a tenth above, the oldest go even unexported, with a checkpoint. */
  readonly maxAuditRecords?: number;
  /** Accounts kept in the memory of this process; default 20,000. */
  readonly remembered?: number;
  /** Whole number in [0, bound); for worlds that must replay. Default: the system's generator. */
  readonly randomBelow?: (bound: number) => number;
  /** Seals what operators say, and checks what others have written; default: everything is trusted. */
  readonly operators?: OperatorTrust;
  /** Called with the reason when a control is not in force. */
  readonly onRefusedControl?: (words: string) => void;
}

export interface State {
  readonly store: AccountStore;
  readonly audit: AuditReader;
  readonly controls: OperatorControls;
  readonly history: HistoryReader;
  /** Absent: there is no operation without the store. */
  readonly standby?: StandbyBackend;
  /** Removes listeners from the connection, which stays the caller's. */
  close(): void;
}

export interface RedisStateOptions extends StateOptions {
  /** A dedicated connection: these stores must not wait behind blocking commands. */
  readonly redis: Redis;
  readonly prefix?: string;
  /** A call that takes longer counts as a lost store; default 2 s. */
  readonly timeoutMs?: number;
  /** The shared clock, Unix milliseconds, for going on alone while Redis is lost. Absent: the process does not. */
  readonly sharedNowMs?: () => number;
}

export const HISTORY_SAMPLES = 2_880;

/** State in Redis, shared by all processes with the same prefix. */
export function createRedisState(options: RedisStateOptions): State {
  const { redis, prefix = 'breakwater', timeoutMs = 2_000, historySamples = HISTORY_SAMPLES } = options;
  const shared = new RedisBackend({ redis, prefix, timeoutMs, historySamples });
  const { sharedNowMs } = options;
  if (sharedNowMs === undefined) return assemble(shared, options, () => shared.close());
  const standby = createStandby(shared, { ...options, sharedNowMs });
  return { ...assemble(standby, options, () => shared.close()), standby };
}

/** A backend that goes on in the memory of this process while the shared one is lost. */
export function createStandby(
  shared: Backend,
  options: StateOptions & { readonly sharedNowMs: () => number },
): StandbyBackend {
  const { clock, historySamples = HISTORY_SAMPLES, randomBelow, sharedNowMs } = options;
  const sharedClock: Clock = {
    nowMs: sharedNowMs,
    monotonicMs: () => clock.monotonicMs(),
    sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
  };
  const randomText = textFrom(randomBelow);
  return new StandbyBackend({ shared, clock: sharedClock, historySamples, randomText });
}

/** State in the memory of one process, shared by the stores created on it. */
export interface MemoryPlace {
  readonly backend: Backend;
}

export function createMemoryPlace(options: Pick<StateOptions, 'clock' | 'historySamples'>): MemoryPlace {
  const { clock, historySamples = HISTORY_SAMPLES } = options;
  return { backend: new MemoryBackend(clock, historySamples) };
}

/** State in the memory of this process: for tests, and for a process that has lost Redis. */
export function createMemoryState(options: StateOptions, place = createMemoryPlace(options)): State {
  return assemble(place.backend, options, () => undefined);
}

const ignored = (): void => undefined;

/** Always the same array: for a new one the concealer would be built again. */
const NO_SECRETS: readonly string[] = [];

function assemble(backend: Backend, options: StateOptions, close: () => void): State {
  const { clock, secrets = () => NO_SECRETS } = options;
  const randomText = textFrom(options.randomBelow);
  const { historyEveryMs = 10_000, remembered = 20_000, maxAuditRecords = 10_000 } = options;
  const maxRecords = Math.max(10, maxAuditRecords);
  const redact = currentConcealer(secrets);
  const reader = { trust: options.operators ?? TRUSTING, onRefused: options.onRefusedControl ?? ignored };
  const store = new AccountStore({
    backend,
    clock,
    randomText,
    redact,
    controls: reader,
    historyEveryMs,
    remembered,
    mostAuditRecords: maxRecords * 1.1,
    async pruneAudit(account) {
      const reason = 'the bound was reached';
      const bounds = { keepRecords: maxRecords, reason, atMs: clock.nowMs(), exporter: null };
      return (await pruneChain(store, backend, account.accountId, bounds)).account;
    },
  });
  return {
    store,
    audit: createAuditLog({ store, backend, trust: reader.trust }),
    controls: new StoredControls({ store, backend, clock, randomText, redact, reader }),
    history: createHistory(backend),
    close,
  };
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** Letters and digits by the system's generator. */
export function randomText(length: number): string {
  return textFrom()(length);
}

function textFrom(below: (bound: number) => number = randomInt): (length: number) => string {
  return (length) => Array.from({ length }, () => ALPHABET[below(ALPHABET.length)]).join('');
}

const DEFAULT_POINTS = 1_000;
/** More than any account keeps. */
const ALL_SAMPLES = 1_000_000;

function createHistory(backend: Backend): HistoryReader {
  return {
    async read(accountId, subject, { fromMs = 0, limit = DEFAULT_POINTS } = {}) {
      if (limit <= 0) return [];
      const range = { fromMs, toMs: Number.POSITIVE_INFINITY, count: limit };
      const samples = await backend.history(bucketOf(accountId), accountId, range);
      return samples.flatMap(({ atMs, values }) => pointOf(atMs, values.get(subject)));
    },
    async readAll(accountId, { fromMs = 0, toMs = Number.POSITIVE_INFINITY, limit = ALL_SAMPLES } = {}) {
      const range = { fromMs, toMs, count: limit };
      const samples = await backend.history(bucketOf(accountId), accountId, range);
      return samples.map(({ atMs, values }) => ({
        atMs,
        samples: [...values].flatMap(([subject, text]) =>
          pointOf(atMs, text).map((point) => ({ subject, values: point.values })),
        ),
      }));
    },
  };
}

/** Unreadable points are left out: they only serve to draw curves, and decide nothing. */
function pointOf(atMs: number, text: string | undefined): readonly HistoryPoint[] {
  if (text === undefined || !Number.isSafeInteger(atMs) || atMs < 0) return [];
  const values = parsedJson(text);
  return isFigures(values) ? [{ atMs, values }] : [];
}

function isFigures(values: unknown): values is HistoryPoint['values'] {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) return false;
  return Object.values(values).every((value) => typeof value === 'number' || typeof value === 'string');
}
