import type { Controls } from '../../core/controls/controls.ts';
import type { Clock } from '../../core/ports/clock.ts';
import {
  type AccountLoad,
  bucketOf,
  type ReadOptions,
  type StateStore,
} from '../../core/ports/state-store.ts';
import type { Instant } from '../../core/quantities/snapshot.ts';

/** A configured account as stored in the shared state; every process shows it alike. */
export interface SharedAccount {
  readonly accountId: string;
  readonly load: AccountLoad;
  /** Controls of its bucket; see `controlsInForce`. */
  readonly controls: Controls;
}

/** Buckets read at once. Few, so that a commit in between does not wait behind all of them. */
const AT_ONCE = 4;

/** Reads accounts, due or not, in the given order, without claiming them. Rejects if the store is lost. */
export async function readSharedView(
  store: Pick<StateStore, 'readBucket'>,
  accountIds: readonly string[],
): Promise<readonly SharedAccount[]> {
  const found = new Map<string, SharedAccount>();
  for await (const accounts of readBuckets(store, accountIds)) {
    for (const account of accounts) found.set(account.accountId, account);
  }
  return accountIds.flatMap((id) => found.get(id) ?? []);
}

/** Yields the accounts bucket by bucket, in no particular order, so that no account need be kept. */
export async function* readBuckets(
  store: Pick<StateStore, 'readBucket'>,
  accountIds: readonly string[],
  options?: ReadOptions,
): AsyncGenerator<readonly SharedAccount[]> {
  const byBucket = [...Map.groupBy(accountIds, bucketOf)];
  for (let index = 0; index < byBucket.length; index += AT_ONCE) {
    const views = await Promise.all(
      byBucket.slice(index, index + AT_ONCE).map(([bucket, ids]) => store.readBucket(bucket, ids, options)),
    );
    for (const { accounts, controls } of views) {
      yield accounts.map((load) => ({ accountId: accountIdOf(load), load, controls }));
    }
  }
}

/** Ages judgements by the monotonic clock of this process: wall clocks step, and differ between hosts. */
export class JudgedClocks {
  readonly #clock: Clock;
  /** By account: its last judgement, how old it was when last looked at, and when that was (monotonic). */
  readonly #seen = new Map<
    string,
    { readonly at: Instant; readonly ageMs: number; readonly lookMs: number }
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The time on the clock by which the account was judged, Unix milliseconds. */
  nowMs(shared: SharedAccount | undefined): number {
    const { load } = shared ?? {};
    const at = load?.kind === 'loaded' ? load.account.documents.evaluation?.passage?.at : undefined;
    if (shared === undefined || at === undefined) return this.#clock.nowMs();
    const lookMs = this.#clock.monotonicMs();
    const before = this.#seen.get(shared.accountId);
    const sinceMs = lookMs - (before?.lookMs ?? Number.NEGATIVE_INFINITY);
    const isSame = before?.at.wallMs === at.wallMs && before.at.monotonicMs === at.monotonicMs;
    // A new judgement was made since the last look.
    const newMs = Math.min(sinceMs, Math.max(0, this.#clock.nowMs() - at.wallMs));
    const ageMs = isSame ? before.ageMs + sinceMs : newMs;
    this.#seen.set(shared.accountId, { at, ageMs, lookMs });
    return at.wallMs + ageMs;
  }
}

function accountIdOf(load: AccountLoad): string {
  return load.kind === 'loaded' ? load.account.accountId : load.problem.accountId;
}

/** Calls within `maxAgeMs` share one answer, even a failure. */
export function remembering<T>(clock: Clock, maxAgeMs: number, find: () => Promise<T>): () => Promise<T> {
  let last: { readonly atMs: number; readonly found: Promise<T> } | undefined;
  return () => {
    const nowMs = clock.monotonicMs();
    if (last !== undefined && nowMs - last.atMs < maxAgeMs) return last.found;
    const found = find();
    last = { atMs: nowMs, found };
    return found;
  };
}
