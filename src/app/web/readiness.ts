import { EVERY_POLL } from '../../core/fields/field-catalogue.ts';
import type { StoredAccount } from '../../core/ports/state-store.ts';
import { within } from '../../core/ports/within.ts';
import { isInPart } from '../../core/view/blindness.ts';
import { systemTimers } from '../../exchange/system-clock.ts';
import type { WatchedAccount } from '../../pipeline/pipeline-context.ts';
import type { Readiness } from '../../web/sources.ts';
import type { Base } from '../open-base.ts';
import { JudgedClocks, readSharedView, remembering, type SharedAccount } from './shared-view.ts';

/** Repeated requests share one read of Redis. */
const MAX_AGE_MS = 1_000;

/** Readiness as this process determines it, independently of its web server. */
export function readinessIn(base: ReadyBase): () => Promise<Readiness> {
  const parts = readinessParts(base);
  return () => readinessOf(parts);
}

type ReadyBase = Pick<Base, 'state' | 'accounts' | 'shared' | 'clock'>;

function readinessParts({ state, accounts, shared, clock }: ReadyBase) {
  const ids = (): readonly string[] => accounts.all().map(({ id }) => id);
  return {
    /** Absent: there is no Redis. */
    ping: shared && ((): Promise<unknown> => shared.redis.ping()),
    /** Whether this process goes on from its own memory. */
    isAlone: () => state.standby?.isAlone === true,
    /** Why it does not act while alone, in words; undefined: it may. */
    watchesOnly: () => state.standby?.watchesOnly,
    view: remembering(clock, MAX_AGE_MS, () => readSharedView(state.store, ids())),
    /** As configured now. */
    accounts: () => accounts.all(),
    clocks: new JudgedClocks(clock),
  };
}

type ReadinessParts = ReturnType<typeof readinessParts>;

type Check = Readiness['checks'][number];

const ALONE =
  'it is lost: this process goes on from its own memory, and a pause made here holds this process alone';
const REDIS_TIMEOUT_MS = 1_000;
const VIEW_TIMEOUT_MS = 2_500;

/** Whether any process watches the accounts: Redis answers or is not needed, each account is judged on fresh data. */
export async function readinessOf(parts: ReadinessParts): Promise<Readiness> {
  const redis = parts.ping === undefined ? [] : [await askRedis(parts.ping, parts)];
  const isRead = redis.every(({ ok }) => ok);
  const checks = [...redis, ...(isRead ? await examineAccounts(parts) : UNKNOWN)];
  return { ready: checks.every(({ ok }) => ok), checks };
}

const UNKNOWN: readonly Check[] = ['firstEvaluation', 'dataFresh'].map((name) => ({
  name,
  ok: false,
  why: 'the shared state cannot be read',
}));

async function askRedis(
  ping: () => Promise<unknown>,
  { isAlone, watchesOnly }: ReadinessParts,
): Promise<Check> {
  const why = watchesOnly();
  if (why !== undefined)
    return { name: 'redis', ok: false, why: `it is not in use: this process does not act: ${why}` };
  if (isAlone()) return { name: 'redis', ok: true, why: ALONE };
  try {
    await within(systemTimers, REDIS_TIMEOUT_MS, ping());
    return { name: 'redis', ok: true, why: 'it answers' };
  } catch {
    return { name: 'redis', ok: false, why: 'it does not answer' };
  }
}

async function examineAccounts(parts: ReadinessParts): Promise<readonly Check[]> {
  const view = await within(systemTimers, VIEW_TIMEOUT_MS, parts.view()).catch(() => undefined);
  if (view === undefined) return UNKNOWN;
  const found = new Map(view.map((account) => [account.accountId, account]));
  const watched = parts.accounts();
  const unjudged = watched.flatMap(({ id }) => whyUnjudged(id, found.get(id)));
  // Only a person can change an account's key, and is notified. Such an account must not make the others unready.
  const able = watched.filter(({ id }) => !isKeyRefused(found.get(id)));
  const due = able.length === 0 ? watched : able;
  const stale = due.flatMap((account) => whyStale(account, found.get(account.id), parts.clocks));
  const refused = watched.filter((account) => !due.includes(account)).map(({ id }) => id);
  const isOne = watched.length === 1;
  return [
    checkOf(
      'firstEvaluation',
      unjudged,
      isOne ? 'the account has been judged' : `all of ${watched.length} accounts have been judged`,
    ),
    checkOf(
      'dataFresh',
      stale,
      isOne
        ? 'its data are fresh'
        : [
            `the data of ${refused.length === 0 ? '' : `${due.length} of `}${watched.length} accounts are fresh`,
            ...refusedWords(refused),
          ].join('; '),
    ),
  ];
}

/** More names would not help; the metrics have each account. */
const MOST_NAMED = 5;

function checkOf(name: string, problems: readonly string[], fine: string): Check {
  if (problems.length === 0) return { name, ok: true, why: fine };
  return { name, ok: false, why: someOf(problems, '; ') };
}

function someOf(all: readonly string[], between: string): string {
  const more = all.length - MOST_NAMED;
  const named = all.slice(0, MOST_NAMED).join(between);
  return more > 0 ? `${named}${between}and ${more} more` : named;
}

function refusedWords(ids: readonly string[]): readonly string[] {
  return ids.length === 0 ? [] : [`the exchange refuses the key of ${someOf(ids, ', ')}`];
}

/** Errors of the key itself, from any process and address. */
const OF_THE_KEY: ReadonlySet<string> = new Set(['unauthenticated', 'permissionDenied', 'loansNotAvailable']);

function isKeyRefused(shared: SharedAccount | undefined): boolean {
  const failures = storedOf(shared)?.documents.figures?.failures ?? [];
  return failures.some(({ source, error }) => source === 'positions' && OF_THE_KEY.has(error));
}

function whyUnjudged(id: string, account: SharedAccount | undefined): readonly string[] {
  if (account?.load.kind === 'refused') return [`${id}: ${account.load.problem.message}`];
  return storedOf(account)?.documents.evaluation?.passage === undefined ? [`${id} has not been judged`] : [];
}

function storedOf(account: SharedAccount | undefined): StoredAccount | undefined {
  return account?.load.kind === 'loaded' ? account.load.account : undefined;
}

/** A process that dies is replaced within 5 s; until then nothing is wrong. */
const LEAST_BOUND_MS = 10_000;
const MISSED_POLLS = 3;

/** Age from which the data of an account are no longer fresh, ms: that of a few missed polls. */
function freshForMs({ rules, leastIntervalMs }: WatchedAccount): number {
  return Math.max(LEAST_BOUND_MS, MISSED_POLLS * Math.max(rules.settings.cadence.calmMs, leastIntervalMs));
}

function whyStale(
  account: WatchedAccount,
  shared: SharedAccount | undefined,
  clocks: JudgedClocks,
): readonly string[] {
  const nowMs = clocks.nowMs(shared);
  const { evaluation, figures } = storedOf(shared)?.documents ?? {};
  if (evaluation?.passage === undefined) return [`${account.id} has no data`];
  const boundMs = freshForMs(account);
  const sinceMs = Math.max(0, nowMs - evaluation.passage.at.wallMs);
  const old = (ageMs: number): string => `${seconds(ageMs)} s old, ${seconds(boundMs)} s at most`;
  if (sinceMs > boundMs)
    return [`${account.id} was last judged ${seconds(sinceMs)} s ago, ${seconds(boundMs)} s at most`];
  const unseen = (figures?.failures ?? [])
    .filter((failure) => isInPart(failure) && nowMs - failure.sinceMs > boundMs)
    .map(({ words }) => `${account.id}: ${words}`);
  const unread = EVERY_POLL.filter((source) => account.sources.includes(source)).flatMap((source) => {
    const ageMs = evaluation.ages[source];
    // A source that was never read has an age, too: it counts from the start of watching.
    if (ageMs === undefined || figures?.[source]?.kind !== 'read')
      return [`${account.id}: ${WORDS[source]} have not been read`];
    return ageMs + sinceMs > boundMs ? [`${account.id}: ${WORDS[source]} are ${old(ageMs + sinceMs)}`] : [];
  });
  return [...unread, ...unseen];
}

const WORDS = { positions: 'positions', creditLine: 'credit lines' } as const;

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
