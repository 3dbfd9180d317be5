import type { ServerResponse } from 'node:http';
import type { ActionFeed } from './action-feed.ts';
import { changedText, type Encoded, frame } from './changes.ts';
import { OVERVIEW_TIMES, type StateFeed } from './state-feed.ts';

export interface EventClientOptions {
  readonly response: ServerResponse;
  readonly feed: StateFeed;
  readonly actions: ActionFeed;
  readonly accountIds: readonly string[];
  readonly hello: { readonly version: string; readonly atMs: number };
  readonly times?: EventTimes;
}

export interface EventTimes {
  readonly heartbeatMs: number;
  /** A connection that takes nothing for so long is closed. */
  readonly stalledMs: number;
}

const TIMES: EventTimes = { heartbeatMs: 15_000, stalledMs: 20_000 };

/**
 * One listener. While its connection takes no more, nothing is written or put aside; afterwards it gets the difference
 * to what it got last. So a slow one costs what its connection buffers and one event, and is closed if it stays slow.
 */
export class EventClient {
  readonly accountIds: readonly string[];
  readonly #options: EventClientOptions;
  readonly #times: EventTimes;
  readonly #sent = new Map<string, Encoded | null>();
  #overview: Encoded | undefined;
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
    // One that is not taking anything is timed by what it was sent.
    if (!this.#pumping) void this.#write(': still here\n\n');
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    while (this.#again && !this.#closed) {
      this.#again = false;
      await this.#writeOverview();
      for (const accountId of this.accountIds) await this.#writeAccount(accountId);
      await this.#writeActions();
    }
    this.#pumping = false;
  }

  async #writeOverview(): Promise<void> {
    const now = this.#options.feed.overview;
    if (now === undefined) return;
    const changed = changedText(this.#overview, now, OVERVIEW_TIMES);
    if (changed === undefined) return;
    this.#overview = now;
    await this.#write(frame('overview', `{"changed":${changed}}`));
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

  /** Resolves when the connection takes more, or is closed. */
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
