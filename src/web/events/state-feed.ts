import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { accountRow } from '../../core/lines/account-row.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import type { OverviewSource } from '../overview.ts';
import type { ViewSource } from '../sources.ts';
import type { ActionFeed } from './action-feed.ts';
import { type Encoded, encode } from './changes.ts';

export interface StateFeedOptions {
  readonly views: ViewSource;
  readonly overview: OverviewSource;
  readonly actions: ActionFeed;
  readonly onError: (error: unknown) => void;
}

export interface Listener {
  /** Accounts that it listens to. */
  readonly accountIds: readonly string[];
  /** Whether it wants a row of every account. */
  readonly wantsRows: boolean;
  /** Called when something may have changed. */
  wake(): void;
}

interface FeedRow {
  readonly view: object;
  readonly text: string;
  /** Number of its last change. */
  readonly change: number;
}

const TICK_MS = 500;
/** All accounts are read every so many ticks; in between only those with a listener. */
const ALL_EVERY = 4;
/** Up to this number of accounts, all are read at every tick. */
const FEW = 200;

/** Keys of the overview that do not cause an event on their own: `onlyWhen` of `changedText`. */
export const OVERVIEW_TIMES: readonly string[] = ['atMs', 'oldestJudgedAtMs'];

/**
 * The current state, read once for all listeners, and only while there are any. Each listener compares it at its own
 * pace with what it has sent.
 */
export class StateFeed {
  readonly #options: StateFeedOptions;
  readonly #listeners = new Set<Listener>();
  readonly #accounts = new Map<string, { readonly view: object; readonly encoded: Encoded }>();
  readonly #rows = new Map<string, FeedRow>();
  #rowChanges = 0;
  /** Random; a new one each time the rows start from scratch. */
  #rowsId = '';
  #overview: Encoded | undefined;
  #over: AbortController | undefined;

  constructor(options: StateFeedOptions) {
    this.#options = options;
  }

  get overview(): Encoded | undefined {
    return this.#overview;
  }

  /** The rows of all accounts, by id; empty until they were read. */
  get rows(): ReadonlyMap<string, FeedRow> {
    return this.#rows;
  }

  /** The cursor of a listener that has all current rows. */
  get rowsCursor(): string {
    return `${this.#rowsId}.${this.#rowChanges}`;
  }

  /** Returns the newest change that a listener with this cursor has; undefined if it has none of these rows. */
  changeAt(cursor: string): number | undefined {
    const [id, change = ''] = cursor.split('.');
    return id === this.#rowsId && /^\d+$/.test(change) ? Number(change) : undefined;
  }

  /** Returns an account; null if it is not in the config, undefined if it was not read yet. */
  account(accountId: string): Encoded | null | undefined {
    const known = this.#accounts.get(accountId)?.encoded;
    return known ?? (this.#options.views.ids().includes(accountId) ? undefined : null);
  }

  /** Adds a listener; the returned function removes it. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#over === undefined) {
      this.#over = new AbortController();
      void this.#run(this.#over.signal);
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  #stop(): void {
    this.#over?.abort();
    this.#over = undefined;
    this.#accounts.clear();
    this.#rows.clear();
    this.#overview = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let tick = 0; !signal.aborted; tick++) {
      try {
        await this.#tick(tick, signal);
      } catch (error) {
        this.#options.onError(error);
      }
      await sleep(TICK_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #tick(tick: number, signal: AbortSignal): Promise<void> {
    const { views, overview, actions } = this.#options;
    const wanted = [...new Set([...this.#listeners].flatMap(({ accountIds }) => accountIds))];
    const all = tick % ALL_EVERY === 0 || views.ids().length <= FEW;
    const found = await views.read(all ? undefined : wanted);
    if (signal.aborted) return;
    const wantedNow = new Set([...this.#listeners].flatMap(({ accountIds }) => accountIds));
    for (const { view } of found) {
      if (!wantedNow.has(view.accountId)) continue;
      const before = this.#accounts.get(view.accountId);
      if (before?.view === view) continue;
      this.#accounts.set(view.accountId, { view, encoded: encode(view, before?.encoded) });
    }
    const configured = new Set(views.ids());
    for (const id of this.#accounts.keys()) {
      if (!wantedNow.has(id) || !configured.has(id)) this.#accounts.delete(id);
    }
    if (all) this.#readRows(found.map(({ view }) => view));
    this.#wake();
    if (!all) return;
    const [now] = await Promise.all([overview(), actions.refresh(found)]);
    if (signal.aborted) return;
    this.#overview = encode(now, this.#overview);
    this.#wake();
  }

  #readRows(views: readonly AccountView[]): void {
    if (![...this.#listeners].some(({ wantsRows }) => wantsRows)) {
      this.#rows.clear();
      return;
    }
    if (this.#rows.size === 0) this.#rowsId = randomBytes(6).toString('hex');
    for (const view of views) {
      const before = this.#rows.get(view.accountId);
      if (before?.view === view) continue;
      const text = JSON.stringify(accountRow(view));
      if (text !== before?.text) this.#rowChanges += 1;
      const change = text === before?.text ? before.change : this.#rowChanges;
      this.#rows.set(view.accountId, { view, text, change });
    }
    const ids = new Set(views.map(({ accountId }) => accountId));
    for (const id of this.#rows.keys()) if (!ids.has(id)) this.#rows.delete(id);
  }

  #wake(): void {
    for (const listener of this.#listeners) listener.wake();
  }
}
