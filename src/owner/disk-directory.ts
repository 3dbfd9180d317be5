import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { type Disk, DiskError } from '../core/ports/disk.ts';
import { makeFolder } from './make-folder.ts';

const ONLY_OWNER = { directory: 0o700, file: 0o600 };
const OTHERS_MAY = 0o077;
const EVERYBODY_WRITES = 0o002;
const STICKY = 0o1000;
const TEMPORARY = '.new';

/** Does not follow a symbolic link, and does not block on a non-file such as a pipe. */
const { O_RDONLY, O_WRONLY, O_CREAT, O_TRUNC, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
const READ = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
const WRITE = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK;

/**
 * A disk in a directory, which the first write creates. Only its owner may read it, and files of other users are
 * neither read nor written. `ownUid`: the user that this process runs as; undefined: the platform has none.
 */
export function createDiskDirectory(directory: string, ownUid = process.getuid?.()): Disk {
  const pathOf = (name: string): string => path.join(directory, name);
  let checked: Promise<void> | undefined;
  const check = async (prepare: () => Promise<void>): Promise<void> => {
    checked ??= prepare();
    try {
      await checked;
    } catch (error) {
      checked = undefined;
      throw error;
    }
  };
  const existing = (): Promise<void> => check(() => keepOthersOut(directory, ownUid));
  const made = (): Promise<void> =>
    check(async () => {
      await makeFolder(directory, ONLY_OWNER.directory);
      await keepOthersOut(directory, ownUid);
    });
  const openToRead = async (name: string): Promise<FileHandle | undefined> => {
    try {
      await existing();
      return await open(pathOf(name), READ);
    } catch (error) {
      return unlessAbsent(error as NodeJS.ErrnoException);
    }
  };
  const write = async (name: string, flag: number, text: string): Promise<void> => {
    await made();
    const handle = await open(pathOf(name), WRITE | flag, ONLY_OWNER.file);
    try {
      await requireOwn(handle, { name, ownUid });
      await handle.writeFile(text);
    } finally {
      await handle.close();
    }
  };
  return {
    async write(name, text) {
      await write(name + TEMPORARY, O_TRUNC, text);
      await rename(pathOf(name + TEMPORARY), pathOf(name));
    },
    append: (name, text) => write(name, O_APPEND, text),
    async read(name, mostBytes) {
      const handle = await openToRead(name);
      if (handle === undefined) return undefined;
      try {
        const size = await requireOwn(handle, { name, ownUid });
        if (size > mostBytes) throw new DiskError(`${name} has ${size} bytes, more than ${mostBytes}`);
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
    async rename(name, next) {
      await existing();
      await rename(pathOf(name), pathOf(next)).catch(unlessAbsent);
    },
    async settle(names) {
      // The folder too, without which a power loss could take the name of a new file.
      for (const name of [...names, '.']) {
        const handle = await openToRead(name);
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

/** Lets only the owner in. @throws DiskError if another user owns it, or anybody could replace it */
export async function keepOthersOut(directory: string, ownUid = process.getuid?.()): Promise<void> {
  const found = await lstat(directory);
  if (!found.isDirectory()) throw new DiskError(`${directory} is no directory`);
  if (ownUid === undefined) return;
  if (found.uid !== ownUid) throw new DiskError(`${directory} belongs to another user (${found.uid})`);
  const above = path.dirname(directory);
  const { mode } = await stat(above);
  // Others could replace the directory at any time.
  if ((mode & EVERYBODY_WRITES) !== 0 && (mode & STICKY) === 0)
    throw new DiskError(`everybody may write to ${above}: chmod o-w ${above}`);
  if ((found.mode & OTHERS_MAY) !== 0) await chmod(directory, ONLY_OWNER.directory);
}

/** Returns the length in bytes. @throws DiskError unless it is a file of this user */
async function requireOwn(
  handle: FileHandle,
  { name, ownUid }: { readonly name: string; readonly ownUid: number | undefined },
): Promise<number> {
  const found = await handle.stat();
  if (!found.isFile()) throw new DiskError(`${name} is no file`);
  if (ownUid !== undefined && found.uid !== ownUid)
    throw new DiskError(`${name} belongs to another user (${found.uid})`);
  return found.size;
}

function unlessAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
