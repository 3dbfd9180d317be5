import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Makes a folder and those above it. Node's `recursive` never ends where a folder exists in which none can be made, such
 * as /proc, and a thread of the process is lost.
 */
export async function makeFolder(folder: string, mode = 0o777): Promise<void> {
  if (await isFolder(folder)) return;
  const parent = path.dirname(folder);
  if (parent !== folder) await makeFolder(parent, mode);
  await mkdir(folder, mode).catch(async (error: NodeJS.ErrnoException) => {
    // Another process may have made it meanwhile.
    if (error.code !== 'EEXIST' || !(await isFolder(folder))) throw error;
  });
}

async function isFolder(folder: string): Promise<boolean> {
  return await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
