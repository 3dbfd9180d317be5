import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { createMirrorDirectory } from '../../state/mirror/mirror-directory.ts';
import { readJson } from '../../state/read-json.ts';
import { makeToken } from '../../web/token.ts';
import { problem } from '../place-config.ts';

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

/** The first one that can be written is used: what is kept, else what the system clears. */
function foldersOf({ mirror, env }: DoorFilePlace, further: readonly string[] = []): readonly string[] {
  const { STATE_DIRECTORY: kept = '', XDG_RUNTIME_DIR: runtime = '' } = env;
  const parents = [mirror, kept.split(':')[0], ...further].filter((one) => one !== undefined && one !== '');
  const own = process.getuid?.() ?? 'own';
  return [
    ...parents.map((parent) => path.join(parent ?? '', FOLDER)),
    ...(runtime === '' ? [] : [path.join(runtime, 'breakwater-door')]),
    path.join(tmpdir(), `breakwater-door-${own}`),
  ];
}

function markOf(configFile: string): string {
  return createHash('sha256').update(configFile).digest('hex').slice(0, 16);
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
    for (const folder of foldersOf(this.#place)) {
      try {
        await createMirrorDirectory(folder).write(this.#name, JSON.stringify({ url, token: this.token }));
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

/** The doors that processes with this config have written down. @throws `door-file-open` if others can read one */
export async function readDoorFiles(place: DoorFilePlace): Promise<readonly FoundDoor[]> {
  const written = path.resolve(place.configFile);
  const marks = [written, await realpath(written).catch(() => written)].map(markOf);
  const doors: FoundDoor[] = [];
  for (const folder of foldersOf(place, [STATE_DIRECTORY])) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
      if (!marks.some((mark) => name.startsWith(`${mark}-`)) || !name.endsWith('.json')) continue;
      const text = await readOwn(path.join(folder, name));
      const door = text === undefined ? undefined : readJson(doorSchema, text);
      if (door !== undefined) doors.push(door);
    }
  }
  return doors;
}

/** undefined: it is gone, or of a user who keeps this one out. Root reads everybody's. */
async function readOwn(file: string): Promise<string | undefined> {
  // Neither follows a link nor waits for what is no file.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(file, flags).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const { uid, mode, size } = await handle.stat();
    const own = process.getuid?.();
    if (own !== undefined && ((own !== 0 && uid !== own) || (mode & OTHERS_MAY) !== 0)) {
      const cure = 'Remove it, and restart the daemon: it makes a new token.';
      throw problem('door-file-open', `others than you can read or have written the token in ${file}`, cure);
    }
    return size > MOST_BYTES ? undefined : await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
