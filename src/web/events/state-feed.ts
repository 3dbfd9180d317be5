import { setTimeout as sleep } from 'node:timers/promises';
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
  /** Something may have changed. */
  wake(): void;
}

const TICK_MS = 500;
/** Every so many ticks all accounts are read, not only those that somebody listens to. */
const ALL_EVERY = 4;
/** With so few accounts all are read at every tick. */
const FEW = 200;

/** `onlyWhen` of the overview. */
export const OVERVIEW_TIMES: readonly string[] = ['atMs'];

/**
 * The state as it changes, read once for all listeners, and only while there are any. A listener compares it with what
 * it has sent when it has time.
 */
export class StateFeed {
  readonly #options: StateFeedOptions;
  readonly #listeners = new Set<Listener>();
  readonly #accounts = new Map<string, { readonly view: object; readonly encoded: Encoded }>();
  #overview: Encoded | undefined;
  #over: AbortController | undefined;

  constructor(options: StateFeedOptions) {
    this.#options = options;
  }

  get overview(): Encoded | undefined {
    return this.#overview;
  }

  /** `null`: not in the config; undefined: not read yet. */
  account(accountId: string): Encoded | null | undefined {
    const known = this.#accounts.get(accountId)?.encoded;
    return known ?? (this.#options.views.ids().includes(accountId) ? undefined : null);
  }

  /** Returns what ends it. */
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
    this.#wake();
    if (!all) return;
    const [now] = await Promise.all([overview.now(), actions.refresh(found)]);
    if (signal.aborted) return;
    this.#overview = encode(now, this.#overview);
    this.#wake();
  }

  #wake(): void {
    for (const listener of this.#listeners) listener.wake();
  }
}
