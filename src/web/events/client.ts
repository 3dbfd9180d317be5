import type { ServerResponse } from 'node:http';
import type { ActionFeed } from './action-feed.ts';
import { changedText, type Encoded, frame } from './changes.ts';
import { OVERVIEW_TIMES, type StateFeed } from './state-feed.ts';

export interface EventClientOptions {
  readonly response: ServerResponse;
  readonly feed: StateFeed;
  readonly actions: ActionFeed;
  readonly accountIds: readonly string[];
  /** `true`, or the cursor of the rows that the client has; undefined: it wants none. */
  readonly rows?: string | undefined;
  readonly hello: { readonly version: string; readonly atMs: number };
  readonly times?: typeof TIMES;
}

/** Minimum interval of overview events in which only times changed. */
const TIMES_EVERY_MS = 5_000;
const ROWS_AT_ONCE = 200;

/** `stalledMs`: a connection that accepts no data for this long is closed. */
const TIMES = { heartbeatMs: 15_000, stalledMs: 20_000 };

/**
 * One client of the event stream. While its connection accepts no data, nothing is written or queued; afterwards the
 * client gets the difference to the last state sent. So a slow client costs one event and what its connection buffers.
 * It is closed if it stays slow.
 */
export class EventClient {
  readonly accountIds: readonly string[];
  readonly wantsRows: boolean;
  readonly #options: EventClientOptions;
  readonly #times: typeof TIMES;
  readonly #sent = new Map<string, Encoded | null>();
  /** The newest change of rows that was sent; undefined: none yet. */
  #change: number | undefined;
  #ids = '';
  #overview: Encoded | undefined;
  #overviewAtMs = Number.NEGATIVE_INFINITY;
  #cursor: number;
  #pumping = false;
  #again = false;
  #closed = false;
  #heartbeat: NodeJS.Timeout | undefined;
  #leave: () => void = () => undefined;

  constructor(options: EventClientOptions) {
    this.#options = options;
    this.#times = options.times ?? TIMES;
    this.accountIds = options.accountIds;
    this.wantsRows = options.rows !== undefined;
    this.#cursor = options.actions.cursor;
  }

  start(): void {
    const { response, feed, hello } = this.#options;
    response.once('close', () => this.close());
    response.on('error', () => this.close());
    this.#heartbeat = setInterval(() => this.#beat(), this.#times.heartbeatMs);
    this.#leave = feed.listen(this);
    response.write(frame('hello', JSON.stringify(hello)));
    this.wake();
  }

  wake(): void {
    if (this.#closed) return;
    this.#again = true;
    if (!this.#pumping) void this.#pump();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#heartbeat);
    this.#leave();
    this.#sent.clear();
    this.#options.response.destroy();
  }

  #beat(): void {
    // A blocked connection needs no heartbeat: its pending write has a timeout.
    if (!this.#pumping) void this.#write(': still here\n\n');
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    while (this.#again && !this.#closed) {
      this.#again = false;
      await this.#writeOverview();
      if (this.wantsRows) await this.#writeRows();
      for (const accountId of this.accountIds) await this.#writeAccount(accountId);
      await this.#writeActions();
    }
    this.#pumping = false;
  }

  async #writeOverview(): Promise<void> {
    const now = this.#options.feed.overview;
    if (now === undefined) return;
    const atMs = performance.now();
    const isDue = atMs - this.#overviewAtMs >= TIMES_EVERY_MS;
    const changed = changedText(this.#overview, now, isDue ? ['atMs'] : OVERVIEW_TIMES);
    if (changed === undefined) return;
    this.#overview = now;
    this.#overviewAtMs = atMs;
    await this.#write(frame('overview', `{"changed":${changed}}`));
  }

  /** Writes rows in parts, so that a slow connection does not buffer all of them. */
  async #writeRows(): Promise<void> {
    const { feed, rows: cursor = '' } = this.#options;
    if (feed.rows.size === 0) return;
    const after = this.#change ?? feed.changeAt(cursor) ?? -1;
    const changed = [...feed.rows.values()]
      .filter(({ change }) => change > after)
      .toSorted((a, b) => a.change - b.change);
    const ids = JSON.stringify([...feed.rows.keys()]);
    const isFresh = ids !== this.#ids;
    const all = feed.rowsCursor;
    this.#ids = ids;
    this.#change = feed.changeAt(all);
    const parts = Math.max(Math.ceil(changed.length / ROWS_AT_ONCE), isFresh ? 1 : 0);
    for (let part = 0; part < parts; part += 1) {
      const rows = changed.slice(part * ROWS_AT_ONCE, (part + 1) * ROWS_AT_ONCE);
      const more = [
        ...(part === 0 && isFresh ? [`"ids":${ids}`] : []),
        ...(part === parts - 1 ? [`"cursor":"${all}"`] : []),
      ];
      const texts = rows.map(({ text }) => text).join(',');
      await this.#write(frame('rows', `{${[`"rows":[${texts}]`, ...more].join(',')}}`));
      if (this.#closed) return;
    }
  }

  async #writeAccount(accountId: string): Promise<void> {
    if (this.#closed) return;
    const now = this.#options.feed.account(accountId);
    const before = this.#sent.get(accountId);
    if (now === undefined || now === before) return;
    const id = JSON.stringify(accountId);
    this.#sent.set(accountId, now);
    if (now === null) {
      await this.#write(frame('gone', `{"accountId":${id}}`));
      return;
    }
    const changed = changedText(before ?? undefined, now);
    if (changed !== undefined) {
      await this.#write(frame('account', `{"accountId":${id},"changed":${changed}}`));
    }
  }

  async #writeActions(): Promise<void> {
    const { actions } = this.#options;
    const { cursor } = actions;
    const lines = actions.after(this.#cursor);
    this.#cursor = cursor;
    for (const line of lines) await this.#write(frame('action', JSON.stringify(line)));
  }

  /** Resolves when the connection accepts more data, or is closed. */
  async #write(text: string): Promise<void> {
    const { response } = this.#options;
    if (this.#closed || response.write(text)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(stalled);
        response.off('drain', done);
        response.off('close', done);
        resolve();
      };
      const stalled = setTimeout(() => {
        this.close();
        done();
      }, this.#times.stalledMs);
      response.once('drain', done);
      response.once('close', done);
    });
  }
}
