import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

// Each daemon listens on a socket in a folder that only its own user can enter. So a command on this machine needs no
// more than the config, and nobody else can connect.

export interface DoorFolders {
  readonly configFile: string;
  /** The config's `stateDir`. */
  readonly stateDir: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Where systemd lets a service keep what it needs, if the unit says so. */
const OF_THE_SERVICE = ['/var/lib/breakwater/door', '/run/breakwater/door'];
const OTHERS_MAY = 0o077;
const OTHERS_WRITE = 0o022;
const EVERYBODY_WRITES = 0o002;
const STICKY = 0o1000;

/** Folders for the socket of a daemon; the first that can be used is. */
export function foldersOf({ stateDir, env }: DoorFolders): readonly string[] {
  const { STATE_DIRECTORY, RUNTIME_DIRECTORY, XDG_RUNTIME_DIR } = env;
  const parents = [stateDir, STATE_DIRECTORY?.split(':')[0], RUNTIME_DIRECTORY?.split(':')[0]];
  return [
    ...parents.flatMap((parent = '') => (parent === '' ? [] : path.join(parent, 'door'))),
    ...(XDG_RUNTIME_DIR ? [path.join(XDG_RUNTIME_DIR, 'breakwater')] : []),
    temporaryFolder(),
  ];
}

/** Another user may have made it first: then the daemon makes one whose name begins so. */
export function temporaryFolder(): string {
  return path.join(tmpdir(), `breakwater-${process.getuid?.() ?? 'own'}`);
}

/** More folders to search: a command may not have the environment that the daemon has. */
async function furtherFolders(): Promise<readonly string[]> {
  const own = process.getuid?.();
  const { dir, base } = path.parse(temporaryFolder());
  const isMade = (name: string): boolean =>
    name.startsWith(`${base}-`) && /^[A-Za-z\d]{6}$/.test(name.slice(base.length + 1));
  const similar = (await readdir(dir).catch(() => [])).filter(isMade);
  // Others may make any number of them.
  const owned = similar
    .map((name) => path.join(dir, name))
    .filter((folder) => lstatSync(folder, { throwIfNoEntry: false })?.uid === own);
  return [...owned, path.join('/run/user', String(own), 'breakwater'), ...OF_THE_SERVICE];
}

/** Begins the names of all sockets of one config. */
export function markOf(configFile: string): string {
  return createHash('sha256').update(path.resolve(configFile)).digest('hex').slice(0, 12);
}

/** The instance behind a socket, if it acts. */
export function actorOf(file: string): string | undefined {
  return /^[\da-f]+-acts-(.+)-\d+$/.exec(path.basename(file))?.[1];
}

/**
 * Sockets of daemons with this config that this user may trust; processes that act come first. Removes nothing.
 * `skipped`: what was stepped over, each with the reason, for people. `closed`: the same for whole folders, which may be
 * no business of this user.
 */
export async function findSockets(place: DoorFolders) {
  const marks = [place.configFile, await realpath(place.configFile).catch(() => '')].map(markOf);
  const sockets: string[] = [];
  const skipped: string[] = [];
  const closed: string[] = [];
  for (const folder of new Set([...foldersOf(place), ...(await furtherFolders())])) {
    const fault = await faultOf(folder);
    if (fault !== undefined) closed.push(fault);
    const names = fault === undefined ? await readdir(folder).catch(() => []) : [];
    for (const name of names.filter((one) => marks.some((mark) => one.startsWith(`${mark}-`)))) {
      const file = path.join(folder, name);
      const found = await lstat(file).catch(() => undefined);
      if (found === undefined) continue;
      if (found.isSocket() && (await isTrusted(found.uid, folder))) sockets.push(file);
      else skipped.push(`${file} is not used: it is no socket of the daemon's user`);
    }
  }
  const name = (file: string): string => path.basename(file).slice(markOf('').length);
  return { sockets: sockets.toSorted((a, b) => (name(a) < name(b) ? -1 : 1)), skipped, closed };
}

/** Why a folder is not used. undefined: only a trusted user can write there, or there is no such folder. */
async function faultOf(folder: string): Promise<string | undefined> {
  try {
    const found = await lstat(folder);
    const above = (await stat(path.dirname(folder))).mode;
    const isReplaceable = (above & EVERYBODY_WRITES) !== 0 && (above & STICKY) === 0;
    const isPrivate = found.isDirectory() && (found.mode & OTHERS_MAY) === 0 && !isReplaceable;
    if (isPrivate && (await isTrusted(found.uid, folder))) return undefined;
    return `${folder} is not used: it belongs to another user (${found.uid}), or others can change it`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? undefined : `${folder} is not used: this user may not look there (${code})`;
  }
}

/** True for this user. Root also trusts the user of a service, to whom root gave the folder. */
async function isTrusted(uid: number, folder: string): Promise<boolean> {
  const own = process.getuid?.();
  if (own === undefined || uid === own) return true;
  return own === 0 && path.basename(folder) === 'door' && uid === (await ownerOf(await realpath(folder)));
}

/** The owner of the topmost folder above that not only root can write to. */
async function ownerOf(folder: string): Promise<number> {
  const above = path.dirname(folder);
  const owner = above === folder ? 0 : await ownerOf(above);
  if (owner !== 0) return owner;
  const { uid, mode } = await stat(folder);
  return (mode & OTHERS_WRITE) === 0 ? uid : NOBODY;
}

const NOBODY = -1;
