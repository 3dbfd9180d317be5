import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { lstat, open, readdir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { isLoopback } from '../../core/text/loopback.ts';
import { createMirrorDirectory } from '../../state/mirror/mirror-directory.ts';
import { readJson } from '../../state/read-json.ts';
import { makeToken } from '../../web/token.ts';

// The daemon writes where its door is, and a token for it, into a file that only its own user can read. So a command on
// this machine needs no more than the config: who can read the file could as well replace the daemon.

const doorSchema = z.strictObject({ url: z.url(), token: z.string().min(16).max(100) });

/** Where a daemon listens, and the token that it takes from this machine. */
export type FoundDoor = z.output<typeof doorSchema>;

export interface DoorFilePlace {
  readonly configFile: string;
  /** The config's `redis.mirror`. */
  readonly mirror: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** systemd names this directory to the service alone. */
const STATE_DIRECTORY = '/var/lib/breakwater';
const FOLDER = 'door';
const MOST_BYTES = 1000;
const OTHERS_MAY = 0o077;

interface Folder {
  readonly path: string;
  /** Root reads there what the daemon's user wrote. Elsewhere everybody may make a folder. */
  readonly isKept: boolean;
}

/** The first one that can be written is used: what is kept, else what the system clears. */
function foldersOf({ mirror, env }: DoorFilePlace, further: readonly string[] = []): readonly Folder[] {
  const { STATE_DIRECTORY: kept = '', XDG_RUNTIME_DIR: runtime = '' } = env;
  const parents = [mirror, kept.split(':')[0], ...further].filter((one) => one !== undefined && one !== '');
  const own = process.getuid?.() ?? 'own';
  return [
    ...parents.map((parent) => ({ path: path.join(parent ?? '', FOLDER), isKept: true })),
    ...(runtime === '' ? [] : [{ path: path.join(runtime, 'breakwater-door'), isKept: false }]),
    { path: path.join(tmpdir(), `breakwater-door-${own}`), isKept: false },
  ];
}

function markOf(configFile: string): string {
  return createHash('sha256').update(configFile).digest('hex').slice(0, 16);
}

/** A server that listens everywhere is reached on this machine. */
export function reachable(url: string): string {
  return url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, '//127.0.0.1:');
}

/** The file of one process. Its token is made anew at each start. */
export class DoorFile {
  readonly token = makeToken().token;
  readonly #place: DoorFilePlace;
  readonly #name: string;
  #written: string | undefined;

  constructor(place: DoorFilePlace, ordinal: number) {
    this.#place = place;
    this.#name = `${markOf(path.resolve(place.configFile))}-${ordinal}.json`;
  }

  /** @throws the error of the last folder, if none can be written */
  async write(url: string): Promise<void> {
    let failure: unknown;
    for (const { path: folder } of foldersOf(this.#place)) {
      try {
        await createMirrorDirectory(folder).write(
          this.#name,
          JSON.stringify({ url: reachable(url), token: this.token }),
        );
        this.#written = folder;
        return;
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** A process that was started meanwhile with the same number keeps its own file. */
  async remove(): Promise<void> {
    if (this.#written === undefined) return;
    const folder = createMirrorDirectory(this.#written);
    const text = await folder.read(this.#name, MOST_BYTES);
    if (text?.includes(this.token) === true) await folder.remove(this.#name);
  }
}

export interface DoorFiles {
  readonly doors: readonly FoundDoor[];
  /** Files that are not used, each with the reason, for people. */
  readonly faults: readonly string[];
}

/** The doors that processes with this config have written down. Nothing that another user put there is an obstacle. */
export async function readDoorFiles(place: DoorFilePlace): Promise<DoorFiles> {
  const written = path.resolve(place.configFile);
  const marks = [written, await realpath(written).catch(() => written)].map(markOf);
  const doors: FoundDoor[] = [];
  const faults: string[] = [];
  for (const folder of foldersOf(place, [STATE_DIRECTORY])) {
    if (!(await isPrivate(folder))) continue;
    const names = await readdir(folder.path).catch(() => []);
    for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
      if (!marks.some((mark) => name.startsWith(`${mark}-`)) || !name.endsWith('.json')) continue;
      const file = path.join(folder.path, name);
      const text = await readPrivate(file, folder);
      const door = text === undefined ? undefined : readJson(doorSchema, text);
      if (door !== undefined && isLoopback(new URL(door.url).hostname)) doors.push(door);
      else faults.push(`${file} is not used: it is not a file with a token that only its owner can read`);
    }
  }
  return { doors, faults };
}

type Owned = Pick<Stats, 'uid' | 'mode'>;

/** Whether this user owns it, or root reads what a daemon keeps; and nobody else can read or replace it. */
function isOwn({ uid, mode }: Owned, { isKept }: Folder): boolean {
  const own = process.getuid?.();
  return own === undefined || ((uid === own || (own === 0 && isKept)) && (mode & OTHERS_MAY) === 0);
}

async function isPrivate(folder: Folder): Promise<boolean> {
  const found = await lstat(folder.path).catch(() => undefined);
  return found?.isDirectory() === true && isOwn(found, folder);
}

/** undefined: it is gone, no file, or others can read it. */
async function readPrivate(file: string, folder: Folder): Promise<string | undefined> {
  // Neither follows a link nor waits for what is no file.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(file, flags).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const found = await handle.stat();
    if (!found.isFile() || !isOwn(found, folder) || found.size > MOST_BYTES) return undefined;
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
