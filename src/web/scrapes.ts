import { setImmediate } from 'node:timers/promises';
import { createGzip, type Gzip } from 'node:zlib';
import { within } from '../core/ports/within.ts';
import { systemTimers } from '../exchange/system-clock.ts';

/** Returns the text of one scrape in parts. */
export type Scrape = () => Promise<Iterable<Uint8Array>>;

/** Maximum number of concurrent readers of metrics, per client and in all. */
const MOST_PER_CLIENT = 8;
const MOST = 32;
/** An older scrape is not joined, because its figures are stale. */
const JOINED_FOR_MS = 1000;
/** The pause after a scrape, as a multiple of the time it took, and the limit of that pause. */
const REST_FACTOR = 3;
const LONGEST_REST_MS = 1000;
const TIMEOUT_MS = 8000;
/** The fastest level: text with repeated names still shrinks to a twentieth. */
const GZIP_LEVEL = 1;

/**
 * Makes one scrape at a time and shares it with concurrent readers, so that the cost does not grow with their number.
 * The pause after each limits scraping to a quarter of the time, as long as a scrape takes at most a third of a second.
 */
export class SharedScrapes {
  readonly #scrape: Scrape;
  readonly #onError: (error: unknown) => void;
  readonly #readers = new Map<string, number>();
  #current: SharedText | undefined;
  #next: Promise<SharedText> | undefined;
  #restUntilMs = 0;

  constructor(scrape: Scrape, onError: (error: unknown) => void) {
    this.#scrape = scrape;
    this.#onError = onError;
  }

  /** Takes a place among the readers; the returned function frees it. Undefined if there is no place. */
  enter(client: string): (() => void) | undefined {
    const own = this.#readers.get(client) ?? 0;
    const total = [...this.#readers.values()].reduce((sum, count) => sum + count, 0);
    if (own >= MOST_PER_CLIENT || total >= MOST) return undefined;
    this.#readers.set(client, own + 1);
    return () => {
      const left = (this.#readers.get(client) ?? 1) - 1;
      if (left === 0) this.#readers.delete(client);
      else this.#readers.set(client, left);
    };
  }

  /** Returns the scrape in progress if it is recent, or the next one. */
  async text(): Promise<SharedText> {
    const current = this.#current;
    if (current?.isOver === false && current.isAsOf(JOINED_FOR_MS)) return current;
    this.#next ??= this.#make().finally(() => {
      this.#next = undefined;
    });
    return await this.#next;
  }

  async #make(): Promise<SharedText> {
    const restMs = this.#restUntilMs - performance.now();
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs).unref());
    const beganMs = performance.now();
    const parts = await within(systemTimers, TIMEOUT_MS, this.#scrape());
    const text = new SharedText(compressed(parts, this.#onError), () => {
      const endedMs = performance.now();
      this.#restUntilMs = endedMs + Math.min(LONGEST_REST_MS, REST_FACTOR * (endedMs - beganMs));
    });
    this.#current = text;
    return text;
  }
}

/**
 * A text that is compressed once for several readers. A part is made when the fastest reader needs it, and kept for the
 * others. It ends when all readers have left.
 */
export class SharedText {
  isOver = false;
  readonly #beganMs = performance.now();
  readonly #chunks: Buffer[] = [];
  readonly #source: AsyncGenerator<Buffer>;
  readonly #onOver: () => void;
  #readers = 0;
  #pulled: Promise<boolean> | undefined;

  constructor(source: AsyncGenerator<Buffer>, onOver: () => void) {
    this.#source = source;
    this.#onOver = onOver;
  }

  isAsOf(withinMs: number): boolean {
    return performance.now() - this.#beganMs < withinMs;
  }

  /** Yields the compressed text. @throws the error of making a part */
  async *read(): AsyncGenerator<Buffer> {
    this.#readers += 1;
    try {
      for (let at = 0; ; at += 1) {
        while (at >= this.#chunks.length) if (!(await (this.#pulled ??= this.#pull()))) return;
        yield this.#chunks[at] as Buffer;
      }
    } finally {
      this.#readers -= 1;
      if (this.#readers === 0 && !this.isOver) {
        this.#end();
        this.#pulled = Promise.reject(new Error('all who read it had left'));
        this.#pulled.catch(() => undefined);
        await this.#source.return(undefined);
      }
    }
  }

  /** Makes the next part; false if there is none. */
  async #pull(): Promise<boolean> {
    try {
      const { done, value } = await this.#source.next();
      if (done !== true) {
        this.#chunks.push(value);
        this.#pulled = undefined;
        return true;
      }
      this.#end();
      return false;
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  #end(): void {
    this.isOver = true;
    this.#onOver();
  }
}

/** Compresses the parts; starts with the first read. */
async function* compressed(
  parts: Iterable<Uint8Array>,
  onError: (error: unknown) => void,
): AsyncGenerator<Buffer> {
  const zip = createGzip({ level: GZIP_LEVEL });
  const written = writeAll(parts, zip).catch((error: unknown) => {
    onError(error);
    zip.destroy(new Error('the text broke off', { cause: error }));
  });
  try {
    yield* zip as AsyncIterable<Buffer>;
  } finally {
    zip.destroy();
    await written;
  }
}

async function writeAll(parts: Iterable<Uint8Array>, zip: Gzip): Promise<void> {
  for (const part of parts) {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        zip.off('close', done);
        resolve();
      };
      zip.once('close', done);
      zip.write(part, done);
    });
    await setImmediate();
    if (zip.destroyed) return;
  }
  zip.end();
}
