import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The program of a thread, beside the module `from`, with the same extension: .ts in the sources, .js when compiled. */
export function threadProgram(name: string, from: string): URL {
  return new URL(`./${name}${path.extname(fileURLToPath(from))}`, from);
}
