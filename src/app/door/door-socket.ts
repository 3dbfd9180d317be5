import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { connect } from 'node:net';
import path from 'node:path';
import { keepOthersOut } from '../../owner/disk-directory.ts';
import { makeFolder } from '../../owner/make-folder.ts';
import { type DoorFolders, foldersOf, markOf, temporaryFolder } from './door-folders.ts';

export interface DoorSocketOptions {
  readonly folders: DoorFolders;
  /** Unique name of this process. */
  readonly instance: string;
  readonly ordinal: number;
  /** Commands ask processes that act before others. */
  readonly acts: boolean;
  readonly handler: RequestListener;
  /** Called for each folder that cannot be used. */
  readonly onSkipped: (error: Error) => void;
}

export type DoorSocket = Awaited<ReturnType<typeof listenIn>>;

/** The system's bound for a socket is 104 or 108. */
const MOST_BYTES = 100;

/** Listens for commands of this machine. undefined: in none of the folders that is possible. */
export async function openDoorSocket(options: DoorSocketOptions): Promise<DoorSocket | undefined> {
  for (const folder of foldersOf(options.folders)) {
    try {
      return await listenIn(folder, options);
    } catch (error) {
      const words = `commands on this machine do not find this process in ${folder}`;
      options.onSkipped(new Error(`${words}: ${(error as Error).message}`, { cause: error }));
    }
  }
  return await listenIn(await mkdtemp(`${temporaryFolder()}-`), options).catch(() => undefined);
}

async function listenIn(folder: string, { folders, instance, ordinal, acts, handler }: DoorSocketOptions) {
  const mark = markOf(folders.configFile);
  const file = path.join(folder, `${mark}-${acts ? 'acts' : 'looks'}-${instance}-${process.pid}`);
  if (Buffer.byteLength(file) > MOST_BYTES)
    throw new Error(`a socket's path has at most ${MOST_BYTES} bytes`);
  await makeFolder(folder, 0o700);
  await keepOthersOut(folder);
  for (const name of await readdir(folder)) {
    const isOwn = name.startsWith(`${mark}-`) && name.includes(`-i${ordinal}-`);
    if (isOwn && (await isStale(path.join(folder, name)))) await rm(path.join(folder, name));
  }
  const server = createServer({ requestTimeout: 10_000 }, handler);
  await once(server.listen(file), 'listening');
  await chmod(file, 0o600);
  return {
    file,
    async close(): Promise<void> {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Left behind by a process of this number that was killed: nobody listens. */
async function isStale(file: string): Promise<boolean> {
  const socket = connect(file);
  try {
    return await once(socket, 'connect').then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
    );
  } finally {
    socket.destroy();
  }
}
