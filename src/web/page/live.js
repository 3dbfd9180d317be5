import { errorOf, readHeaders } from './api.js';
import { nowMs } from './clock.js';
import { EventParser } from './event-stream.js';

/**
 * The live stream: one request that does not end. It is taken up again with growing pauses when it breaks, and
 * when nothing, not even a heartbeat, has come for too long: a connection can be dead without saying so.
 */

const SILENCE_MS = 35_000;
const CONNECT_MS = 10_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
/** More than this the API does not take at once. */
const MAX_WATCHED = 100;

/** @import { Connection } from './contract.d.ts' */

/**
 * @typedef {object} LiveHandlers
 * @property {(event: { name: string, data: unknown }) => void} onEvent
 * @property {(connection: Connection) => void} onConnection
 * @property {() => string | undefined} rowsCursor of the rows that came before
 */

export class Live {
  /** @type {LiveHandlers} */
  #handlers;
  /** @type {readonly string[]} */
  #watched = [];
  #wantsRows = false;
  #attempt = 0;
  /** @type {number | null} */
  #lastByteMs = null;
  /** The stream whose events count; a successor replaces it once it is there. @type {AbortController | undefined} */
  #current;
  /** @type {AbortController | undefined} */
  #next;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;

  /** @param {LiveHandlers} handlers */
  constructor(handlers) {
    this.#handlers = handlers;
    addEventListener('online', () => this.retryNow());
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden && this.#retry !== undefined) this.retryNow();
    });
  }

  /**
   * Changes what the stream carries; the present one goes on until the new one is there.
   * @param {readonly string[]} accountIds
   * @param {boolean} wantsRows
   */
  watch(accountIds, wantsRows) {
    const wanted = [...new Set(accountIds)].sort().slice(0, MAX_WATCHED);
    const isSame =
      wantsRows === this.#wantsRows &&
      wanted.length === this.#watched.length &&
      wanted.every((id, i) => id === this.#watched[i]);
    if (isSame && (this.#current !== undefined || this.#next !== undefined || this.#retry !== undefined))
      return;
    this.#watched = wanted;
    this.#wantsRows = wantsRows;
    this.#open();
  }

  /** Unless it is live or on its way. */
  retryNow() {
    if (this.#current === undefined && this.#next === undefined) this.#open();
  }

  #open() {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#next?.abort();
    const controller = new AbortController();
    this.#next = controller;
    if (this.#current === undefined && this.#attempt === 0) {
      this.#handlers.onConnection({ kind: 'connecting', sinceMs: nowMs() });
    }
    void this.#run(controller).then(
      (why) => this.#ended(controller, why),
      (error) => this.#ended(controller, error instanceof Error ? error.message : String(error)),
    );
  }

  /** @param {AbortController} controller @returns {Promise<string>} why it ended */
  async #run(controller) {
    const guard = guardOf(controller);
    guard.expect(CONNECT_MS);
    try {
      const search = new URLSearchParams();
      if (this.#watched.length > 0) search.set('accounts', this.#watched.join(','));
      if (this.#wantsRows) search.set('rows', this.#handlers.rowsCursor() ?? 'true');
      const response = await fetch(`/api/v1/events?${search}`, {
        headers: { ...readHeaders(), accept: 'text/event-stream' },
        cache: 'no-store',
        credentials: 'same-origin',
        signal: controller.signal,
      });
      if (response.status === 401) {
        this.#refused(controller, errorOf(401, await response.json().catch(() => undefined)).message);
        return '';
      }
      if (!response.ok || response.body === null) return `the answer was ${response.status}`;
      return await this.#read(controller, response.body, guard);
    } finally {
      guard.end();
    }
  }

  /** @param {AbortController} controller @param {ReadableStream<Uint8Array>} body @param {ReturnType<typeof guardOf>} guard */
  async #read(controller, body, guard) {
    const parser = new EventParser();
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return 'the daemon closed it';
      guard.expect(SILENCE_MS);
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        this.#took(controller);
        if (this.#current === controller)
          this.#handlers.onEvent({ name: event.name, data: JSON.parse(event.data) });
      }
      if (this.#current === controller) this.#lastByteMs = nowMs();
    }
  }

  /** The first event: from now on this is the stream. @param {AbortController} controller */
  #took(controller) {
    if (this.#next !== controller) return;
    this.#next = undefined;
    const before = this.#current;
    this.#current = controller;
    before?.abort();
    this.#attempt = 0;
    if (before === undefined) this.#handlers.onConnection({ kind: 'live', sinceMs: nowMs() });
  }

  /** @param {AbortController} controller @param {string} why */
  #refused(controller, why) {
    if (this.#next !== controller) return;
    this.#next = undefined;
    this.#current?.abort();
    this.#current = undefined;
    this.#handlers.onConnection({ kind: 'refused', why });
  }

  /** @param {AbortController} controller @param {string} why */
  #ended(controller, why) {
    if (this.#current === controller) this.#current = undefined;
    else if (this.#next === controller) this.#next = undefined;
    else return;
    // A successor is under way: what it comes to decides.
    if (this.#next !== undefined) return;
    this.#attempt += 1;
    const grown = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#attempt - 1));
    const pauseMs = grown * (0.75 + Math.random() * 0.5);
    if (this.#current === undefined) {
      const reason = controller.signal.reason;
      const words = controller.signal.aborted && reason instanceof Silent ? reason.message : why;
      const lost = { lastByteMs: this.#lastByteMs, retryAtMs: nowMs() + pauseMs, attempt: this.#attempt };
      this.#handlers.onConnection({ kind: 'lost', why: words, ...lost });
    }
    this.#retry = setTimeout(() => this.#open(), pauseMs);
  }
}

class Silent extends Error {}

/** Ends a stream on which nothing comes in time. @param {AbortController} controller */
function guardOf(controller) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return {
    /** @param {number} withinMs */
    expect(withinMs) {
      clearTimeout(timer);
      const words = `nothing was heard for ${Math.round(withinMs / 1_000)} s`;
      timer = setTimeout(() => controller.abort(new Silent(words)), withinMs);
    },
    end: () => clearTimeout(timer),
  };
}
