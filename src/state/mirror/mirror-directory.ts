import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { MirrorPlace } from './mirror-place.ts';

const ONLY_OWNER = { directory: 0o700, file: 0o600 };
const TEMPORARY = '.new';

/** A mirror in a directory, which is made with the first write. Only its owner may read what is in it. */
export function createMirrorDirectory(directory: string): MirrorPlace {
  const pathOf = (name: string): string => path.join(directory, name);
  let made: Promise<unknown> | undefined;
  const write = async (file: string, flag: 'w' | 'a', text: string): Promise<void> => {
    made ??= mkdir(directory, { recursive: true, mode: ONLY_OWNER.directory });
    try {
      await made;
    } catch (error) {
      made = undefined;
      throw error;
    }
    const handle = await open(file, flag, ONLY_OWNER.file);
    try {
      await handle.writeFile(text);
    } finally {
      await handle.close();
    }
  };
  return {
    async write(name, text) {
      const file = pathOf(name);
      await write(file + TEMPORARY, 'w', text);
      await rename(file + TEMPORARY, file);
    },
    append: (name, text) => write(pathOf(name), 'a', text),
    async read(name, mostBytes) {
      const handle = await open(pathOf(name), 'r').catch(unlessAbsent);
      if (handle === undefined) return undefined;
      try {
        const { size } = await handle.stat();
        if (size > mostBytes) throw new Error(`${name} has ${size} bytes, more than ${mostBytes}`);
        return await handle.readFile('utf8');
      } finally {
        await handle.close();
      }
    },
    async names() {
      const names = (await readdir(directory).catch(unlessAbsent)) ?? [];
      return names.filter((name) => !name.endsWith(TEMPORARY));
    },
    remove: (name) => rm(pathOf(name), { force: true }),
    async settle(names) {
      for (const name of names) {
        const handle = await open(pathOf(name), 'r').catch(unlessAbsent);
        if (handle === undefined) continue;
        try {
          await handle.datasync();
        } finally {
          await handle.close();
        }
      }
    },
  };
}

function unlessAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
