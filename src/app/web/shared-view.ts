import type { Controls } from '../../core/controls/controls.ts';
import type { Clock } from '../../core/ports/clock.ts';
import {
  type AccountLoad,
  bucketOf,
  type ReadOptions,
  type StateStore,
} from '../../core/ports/state-store.ts';

/** The configured accounts as the shared state has them: what any process tells alike. */
export interface SharedView {
  /** When it was read, Unix milliseconds. */
  readonly atMs: number;
  /** In the order of the config. */
  readonly accounts: readonly SharedAccount[];
}

export interface SharedAccount {
  readonly accountId: string;
  readonly load: AccountLoad;
  /** Of its bucket; see `controlsInForce`. */
  readonly controls: Controls;
}

/** Buckets read at once: a commit that comes in between does not wait behind all of them. */
const AT_ONCE = 4;

/** Reads accounts, due or not, without claiming them. Rejects when the store is lost. */
export async function readSharedView(
  store: Pick<StateStore, 'readBucket'>,
  accountIds: readonly string[],
  clock: Clock,
): Promise<SharedView> {
  const atMs = clock.nowMs();
  const found = new Map<string, SharedAccount>();
  for await (const accounts of readBuckets(store, accountIds)) {
    for (const account of accounts) found.set(account.accountId, account);
  }
  return { atMs, accounts: accountIds.flatMap((id) => found.get(id) ?? []) };
}

/** The same, bucket by bucket in no particular order, for whoever needs none of them for long. */
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

function accountIdOf(load: AccountLoad): string {
  return load.kind === 'loaded' ? load.account.accountId : load.problem.accountId;
}

/** What was found out a moment ago is not found out again; whoever asks meanwhile shares the answer. */
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
