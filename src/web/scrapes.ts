import { setImmediate } from 'node:timers/promises';
import { createGzip, type Gzip } from 'node:zlib';
import { inTime } from './in-time.ts';

/** The text of one scrape in parts; each holds until the next one is asked for. */
export type Scrape = () => Promise<Iterable<Uint8Array>>;

/** Who ask for metrics at the same time, from one client and from all. */
const MOST_PER_CLIENT = 8;
const MOST = 32;
/** A scrape so old is not joined: what it shows is of the past. */
const JOINED_FOR_MS = 1000;
/** After a scrape nothing is made for a multiple of the time that it took, but not for longer than this. */
const REST_FACTOR = 3;
const LONGEST_REST_MS = 1000;
const TIMEOUT_MS = 8000;
/** Text in which names repeat shrinks to a twentieth at the quickest level too. */
const GZIP_LEVEL = 1;

/**
 * One scrape at a time, shared by all who ask meanwhile: what they cost does not grow with their number, and making
 * scrapes takes a quarter of the time at most.
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

  /** A place among those who ask; undefined: there is none. The place is given back by calling what it resolves to. */
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

  /** The scrape that is being made, or the next one. */
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
    const parts = await inTime(this.#scrape(), TIMEOUT_MS);
    const text = new SharedText(compressed(parts, this.#onError), () => {
      const endedMs = performance.now();
      this.#restUntilMs = endedMs + Math.min(LONGEST_REST_MS, REST_FACTOR * (endedMs - beganMs));
    });
    this.#current = text;
    return text;
  }
}

/**
 * A text that is compressed once and read by several. A part is made when the quickest of them has read all before
 * it; the others read what is kept. None is made when all have left.
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

  /** The compressed text. @throws what making a part threw */
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

  /** False: there is no more. */
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

/** Begins when it is asked for first. */
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
