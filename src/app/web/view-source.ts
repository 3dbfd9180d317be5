import { type Controls, hasExpired, NO_CONTROLS } from '../../core/controls/controls.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { AccountLoad, StateStore } from '../../core/ports/state-store.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import { lostView, viewAccount } from '../../core/view/view-account.ts';
import type { SourcedView, ViewSource } from '../../web/sources.ts';
import type { ConfiguredAccounts } from '../configured-accounts.ts';
import { JudgedClocks, readSharedView, remembering, type SharedAccount } from './shared-view.ts';

export interface ViewSourceParts {
  readonly store: Pick<StateStore, 'readBucket' | 'remembered'>;
  readonly accounts: Pick<ConfiguredAccounts, 'all' | 'get' | 'balancesOf'>;
  readonly clock: Clock;
}

/** Requests for all accounts within this time share one read. */
const SHARED_MS = 300;
/** Figures that depend on time alone, such as ages, are recomputed after this. */
const STALE_MS = 5_000;

/** A view with what it was made from, and when. */
interface Made extends SourcedView {
  readonly from: Origin;
  /** By the monotonic clock. */
  readonly atMs: number;
}

interface Origin {
  readonly load: unknown;
  readonly controls: Controls;
  readonly rules: unknown;
  readonly lanes: readonly unknown[];
  readonly storeLink: 'ok' | 'lost';
}

/** Views of the configured accounts, computed once for each of their states. */
export function createViewSource({ store, accounts, clock }: ViewSourceParts): ViewSource {
  const made = new Map<string, Made>();
  const clocks = new JudgedClocks(clock);
  const ids = (): readonly string[] => accounts.all().map(({ id }) => id);
  const view = (shared: SharedAccount, storeLink: 'ok' | 'lost' = 'ok'): SourcedView => {
    const before = made.get(shared.accountId);
    const times = { nowMs: clocks.nowMs(shared), monotonicMs: clock.monotonicMs() };
    const next = viewOnce(shared, before, { accounts, ...times, storeLink });
    made.set(shared.accountId, next);
    return next;
  };
  const readAll = remembering(clock, SHARED_MS, () => readSharedView(store, ids()));
  return {
    ids,
    ruleIds(accountId) {
      const asked = accountId === null ? accounts.all() : [accounts.get(accountId)];
      return [...new Set(asked.flatMap((account) => Array.from(account?.rules.byId.keys() ?? [])))];
    },
    async read(wanted) {
      const asked = wanted?.filter((id) => accounts.get(id) !== undefined) ?? ids();
      try {
        const shared = await (wanted === undefined ? readAll() : readSharedView(store, asked));
        if (wanted === undefined) forgetOthers(made, asked);
        return shared.map((one) => view(one));
      } catch {
        // Readiness and degraded report the lost store; the last view is still worth showing.
        return asked.flatMap((accountId): readonly SourcedView[] => {
          const account = store.remembered(accountId);
          const known = made.get(accountId);
          const controls = known?.from.controls ?? NO_CONTROLS;
          if (account !== undefined)
            return [view({ accountId, load: { kind: 'loaded', account }, controls }, 'lost')];
          const last = known?.view ?? lostView(accountId);
          return [{ acted: known?.acted ?? 0, view: { ...last, state: lostView(accountId).state } }];
        });
      }
    },
  };
}

function forgetOthers(made: Map<string, Made>, ids: readonly string[]): void {
  if (made.size <= ids.length) return;
  const kept = new Set(ids);
  for (const id of made.keys()) if (!kept.has(id)) made.delete(id);
}

interface ViewContext {
  readonly accounts: ViewSourceParts['accounts'];
  readonly nowMs: number;
  readonly monotonicMs: number;
  readonly storeLink: 'ok' | 'lost';
}

function viewOnce(shared: SharedAccount, before: Made | undefined, context: ViewContext): Made {
  const { accountId, load, controls } = shared;
  const { accounts, nowMs, monotonicMs, storeLink } = context;
  const rules = accounts.get(accountId)?.rules;
  const stored = load.kind === 'loaded' ? load.account : load.problem.message;
  const isSame =
    before?.from.load === stored &&
    before.from.controls === controls &&
    before.from.rules === rules &&
    before.from.storeLink === storeLink;
  if (isSame && monotonicMs - before.atMs < STALE_MS && !hasEnded(before.view, nowMs)) return before;
  const lanes = lanesOf(load);
  const hasActed = !sameItems(lanes, before?.from.lanes ?? []);
  return {
    view: viewAccount({ load, rules, controls, nowMs, storeLink, balances: accounts.balancesOf(accountId) }),
    acted: (before?.acted ?? 0) + (hasActed ? 1 : 0),
    from: { load: stored, controls, rules, lanes, storeLink },
    atMs: monotonicMs,
  };
}

function hasEnded({ pause, silences }: AccountView, nowMs: number): boolean {
  return (pause !== null && hasExpired(pause, nowMs)) || silences.some((one) => hasExpired(one, nowMs));
}

/** The store keeps the object of an unchanged lane. */
function lanesOf(load: AccountLoad): readonly unknown[] {
  if (load.kind === 'refused') return [];
  const { lanes, documents } = load.account;
  return documents.accountLane === undefined
    ? [...lanes.values()]
    : [...lanes.values(), documents.accountLane];
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
