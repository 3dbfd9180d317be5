import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const IMPORT = /(\bfrom |\bimport\(|\bimport )(['"])(\.{1,2}\/[^'"]+)\.ts\2/g;

/**
 * Copies the given declaration files and all that they import. Imports in the copies end in `.js`, as in the JavaScript
 * beside them: compilers of every version resolve those.
 * @param {string} from the folder that the compiler wrote to
 * @param {string} to
 * @param {readonly string[]} entries declaration files, relative to both
 * @returns {readonly string[]} the copied files
 */
export function copyDeclarations(from, to, entries) {
  const reached = new Set(entries.map((entry) => path.normalize(entry)));
  for (const file of reached) {
    const text = readFileSync(path.join(from, file), 'utf8');
    for (const [, , , target = ''] of text.matchAll(IMPORT)) {
      reached.add(path.join(path.dirname(file), `${target}.d.ts`));
    }
    mkdirSync(path.join(to, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(to, file), text.replaceAll(IMPORT, '$1$2$3.js$2'));
  }
  return [...reached];
}
