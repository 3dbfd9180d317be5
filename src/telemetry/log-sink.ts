import { fstatSync, write as writeToFile } from 'node:fs';
import type { Writable } from 'node:stream';

/** Why a log line is lost: too many bytes are waiting, or the write failed. Also a label value. */
export type LogLoss = 'full' | 'failed';

export interface LogSinkOptions {
  readonly onLost: (why: LogLoss) => void;
  /** Called with the first write that succeeds after `lost` lines were lost. */
  readonly onResumed: (lost: number) => void;
  /** Defaults to `fs.write`. */
  readonly writeFile?: FileWrite;
}

type FileWrite = (
  fd: number,
  bytes: Buffer,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void;

/** Limit of waiting lines: twice what a start with a thousand accounts logs at once. */
const MOST_WAITING_BYTES = 512 * 1024;
const FLUSH_WITHIN_MS = 1_000;

/** The destination of lines. `write` calls back in order. */
interface Outlet {
  readonly isOpen: boolean;
  readonly waitingBytes: number;
  write(text: string, done: Done): void;
}

/** Takes lines without blocking the caller. */
export function createLogSink(stream: Writable, options: LogSinkOptions) {
  const outlet = outletOf(stream, options.writeFile ?? writeToFile);
  let unsaid = 0;
  const lose = (why: LogLoss): void => {
    unsaid += 1;
    options.onLost(why);
  };
  const written = (error?: Error | null): void => {
    if (error !== undefined && error !== null) return lose('failed');
    if (unsaid === 0) return;
    const lost = unsaid;
    unsaid = 0;
    options.onResumed(lost);
  };
  return {
    write(line: string): void {
      if (!outlet.isOpen) lose('failed');
      else if (outlet.waitingBytes > MOST_WAITING_BYTES) lose('full');
      else outlet.write(line, written);
    },
    /** Resolves when everything taken so far is written, or after a second. */
    flush: () =>
      new Promise<void>((resolve) => {
        if (!outlet.isOpen) return resolve();
        const bound = setTimeout(resolve, FLUSH_WITHIN_MS);
        outlet.write('', () => {
          clearTimeout(bound);
          resolve();
        });
      }),
  };
}

/**
 * Files and terminals are written in the background. Node's standard streams write to them synchronously, so a stopped
 * terminal or a hanging disk would stop the process.
 */
function outletOf(stream: Writable, writeFile: FileWrite): Outlet {
  const { fd } = stream as { readonly fd?: unknown };
  if (typeof fd === 'number' && !isPipe(fd)) return new FileOutlet(fd, writeFile);
  // The callback receives a failed write; without a listener the error would also end the process.
  stream.on('error', () => undefined);
  return {
    get isOpen() {
      return stream.writable;
    },
    get waitingBytes() {
      return stream.writableLength;
    },
    write: (text, done) => void stream.write(text, done),
  };
}

function isPipe(fd: number): boolean {
  try {
    const stats = fstatSync(fd);
    return stats.isFIFO() || stats.isSocket();
  } catch {
    return false;
  }
}

type Done = (error?: Error | null) => void;

const LARGEST_WRITE_BYTES = 64 * 1024;
const BUSY_MS = 100;
const LINE_END = Buffer.from('\n');

/** A file or a terminal, written to in the background, one write at a time. */
class FileOutlet implements Outlet {
  readonly isOpen = true;
  waitingBytes = 0;
  readonly #fd: number;
  readonly #writeFile: FileWrite;
  #waiting: { readonly bytes: Buffer; readonly done: Done }[] = [];
  #isWriting = false;
  /** A failed write left a partial line. */
  #isTorn = false;

  constructor(fd: number, writeFile: FileWrite) {
    this.#fd = fd;
    this.#writeFile = writeFile;
  }

  write(text: string, done: Done): void {
    const bytes = Buffer.from(text);
    this.#waiting.push({ bytes, done });
    this.waitingBytes += bytes.length;
    if (!this.#isWriting) this.#next();
  }

  #next(): void {
    let size = 0;
    let count = 0;
    for (const { bytes } of this.#waiting) {
      if (count > 0 && size + bytes.length > LARGEST_WRITE_BYTES) break;
      size += bytes.length;
      count += 1;
    }
    const batch = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    this.#isWriting = batch.length > 0;
    if (batch.length === 0) return;
    const parts = batch.map(({ bytes }) => bytes);
    this.#write(Buffer.concat(this.#isTorn && size > 0 ? [LINE_END, ...parts] : parts), (error, isPart) => {
      if (size > 0) this.#isTorn = error !== null && (this.#isTorn || isPart);
      this.waitingBytes -= size;
      for (const { done } of batch) done(error);
      this.#next();
    });
  }

  /** @param end `isPart`: the write failed after some of the bytes were written */
  #write(bytes: Buffer, end: (error: Error | null, isPart: boolean) => void, isPart = false): void {
    if (bytes.length === 0) return process.nextTick(end, null, false);
    this.#writeFile(this.#fd, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(() => this.#write(bytes, end, isPart), BUSY_MS);
      else if (error !== null) end(error, isPart);
      else if (written < bytes.length) this.#write(bytes.subarray(written), end, true);
      else end(null, false);
    });
  }
}
