import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';
import type { AuditExporter } from '../../core/ports/audit-reader.ts';
import { CliError } from '../errors.ts';
import type { CliIo } from '../io.ts';

/** A file of lines, durable after `end`. It appears with its first line and replaces nothing. */
export class LineFile implements AuditExporter {
  readonly #path: string;
  readonly #digest = createHash('sha256');
  #file: FileHandle | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async write(line: string): Promise<void> {
    this.#file ??= await create(this.#path);
    this.#digest.update(`${line}\n`, 'utf8');
    await this.#file.appendFile(`${line}\n`, 'utf8');
  }

  async end(): Promise<void> {
    await this.#file?.sync();
  }

  /** The hash of everything written so far, in hexadecimal. */
  sha256(): string {
    return this.#digest.copy().digest('hex');
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }
}

async function create(path: string): Promise<FileHandle> {
  try {
    // For the owner only: records hold positions and balances.
    return await open(path, 'wx', 0o600);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') {
      const cure = 'Name another file.';
      throw new CliError('file-exists', `${path} is there already; nothing was written.`, { cure });
    }
    const cure = 'Name a file in a folder that you can write to.';
    throw new CliError('file-not-writable', `cannot write ${path} (${code}).`, { cause: error, cure });
  }
}

/** Exports to standard output; waits if its reader is slower than Redis. */
export function lineOutput({ stdout, signal }: Pick<CliIo, 'stdout' | 'signal'>): AuditExporter {
  return {
    async write(line) {
      signal.throwIfAborted();
      if (!stdout.write(`${line}\n`)) await once(stdout, 'drain', { signal });
    },
    end: async () => undefined,
  };
}

/** The lines of a file, one at a time. @throws CliError if it cannot be read */
export async function* linesOf(path: string): AsyncGenerator<string> {
  const file = await open(path).catch(({ code = 'unknown' }: NodeJS.ErrnoException) => {
    const cure = 'Name a readable file.';
    throw new CliError('file-unreadable', `cannot read ${path} (${code}).`, { cure });
  });
  try {
    yield* file.readLines();
  } finally {
    await file.close();
  }
}
