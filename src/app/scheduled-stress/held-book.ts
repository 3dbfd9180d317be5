import { formatProblem } from '../../config/problem.ts';
import type { AccountLoad, StateStore } from '../../core/ports/state-store.ts';
import { MS_PER_MINUTE } from '../../core/quantities/units.ts';
import type { WatchedAccount } from '../../pipeline/pipeline-context.ts';
import { accountFromReply } from '../../replay/positions/call-output.ts';
import type { StartingBook } from '../../replay/positions/starting-account.ts';
import { readBuckets } from '../web/shared-view.ts';

export interface HeldBookParts {
  readonly store: Pick<StateStore, 'readBucket'>;
  /** As configured now. */
  readonly accounts: readonly WatchedAccount[];
  readonly nowMs: number;
}

/** Older data do not count as holdings. */
const OLDEST_MS = 600_000;
/** Consecutive reads that may be missing at a slow cadence. */
const MISSED_READS = 3;

/**
 * Holdings of the accounts as the daemon last read them, in the order of the config; the exchange is not asked. Rejects if
 * the store is lost.
 */
export async function readHeldBook({ store, accounts, nowMs }: HeldBookParts) {
  const byId = new Map(accounts.map((account) => [account.id, account]));
  const held = new Map<string, HeldAccount>();
  for await (const shared of readBuckets(store, [...byId.keys()], { remember: false })) {
    for (const { accountId, load } of shared) held.set(accountId, heldBy(byId.get(accountId)!, load, nowMs));
  }
  const found = accounts.flatMap(({ id }) => held.get(id) ?? []);
  return {
    accounts: found.flatMap(({ account }) => account ?? []),
    /** Why other accounts that hold something, or may, are left out: whole sentences. */
    leftOut: found.flatMap(({ leftOut }) => leftOut),
    /** Number of those that may hold positions which are unknown or invalid, and so cannot be played. */
    unknown: found.filter(({ isUnknown }) => isUnknown).length,
  };
}

export type HeldBook = Awaited<ReturnType<typeof readHeldBook>>;

interface HeldAccount {
  readonly account?: StartingBook;
  readonly leftOut: readonly string[];
  readonly isUnknown: boolean;
}

function heldBy({ id, rules }: WatchedAccount, load: AccountLoad, nowMs: number): HeldAccount {
  const leaveOut = (why: string): HeldAccount => ({ leftOut: [`Account ${id}: ${why}.`], isUnknown: true });
  if (load.kind === 'refused') return leaveOut('its stored state cannot be read');
  const { figures } = load.account.documents;
  if (figures === undefined) return leaveOut('it has not been read yet');
  const { positions, creditLine, at } = figures;
  const leftOut =
    creditLine?.kind === 'read'
      ? creditLine.value.records.map(
          ({ amount, asset }) =>
            `Account ${id}: its loan of ${amount} ${asset} is left out, as the exchange does not say what secures it.`,
        )
      : [];
  if (positions === undefined) return { leftOut, isUnknown: false };
  if (positions.kind !== 'read') return leaveOut('its positions could not be read');
  const ageMs = nowMs - at.wallMs + positions.ageMs;
  const { settings } = rules;
  if (ageMs > Math.max(OLDEST_MS, MISSED_READS * settings.cadence.calmMs))
    return leaveOut(`its positions were last read ${Math.round(ageMs / MS_PER_MINUTE)} min ago`);
  if (!positions.value.complete) return leaveOut('records of its positions were not valid');
  const { account, problems, hidden } = accountFromReply({ id, settings }, positions.value);
  return {
    ...(account === undefined ? {} : { account }),
    leftOut: [...leftOut, ...hidden, ...problems.map((problem) => `${formatProblem(problem)}.`)],
    isUnknown: problems.length > 0 || (account === undefined && hidden.length > 0),
  };
}
