import type { HandedBack } from '../account/hand-back.ts';
import type { MirrorPlace } from './mirror-place.ts';
import {
  isAccountFile,
  type MirroredAccount,
  type MirroredProcess,
  type MirroredSegment,
  type MirrorOwner,
  MOST_FILE_BYTES,
  PROCESS_FILE,
  readAccount,
  readProcess,
  readSegment,
  segmentFile,
  unattachedFile,
} from './mirror-text.ts';

/** Everything that a process had written down when it ended. */
export interface ReadMirror {
  readonly process: MirroredProcess;
  readonly accounts: readonly (MirroredAccount & MirroredSegment)[];
  /** Records that were handed back and are in no chain yet. */
  readonly unattached: readonly HandedBack[];
  /** Files that could not be used, in words; their contents are unknown. */
  readonly faults: readonly string[];
}

const NO_SEGMENT: MirroredSegment = { records: [], files: new Map() };

/** Reads a mirror; `undefined`: there is none. Rejects if its process file cannot be read. */
export async function readMirror(place: MirrorPlace, owner: MirrorOwner): Promise<ReadMirror | undefined> {
  const written = await place.read(PROCESS_FILE, MOST_FILE_BYTES);
  if (written === undefined) return undefined;
  const process = readProcess(owner, written);
  const accounts: (MirroredAccount & MirroredSegment)[] = [];
  const unattached: HandedBack[] = [];
  const faults: string[] = [];
  const noting = async (read: () => Promise<unknown>): Promise<void> => {
    try {
      await read();
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error));
    }
  };
  for (const name of (await place.names()).filter(isAccountFile)) {
    await noting(async () => {
      const account = readAccount(owner, (await place.read(name, MOST_FILE_BYTES)) ?? '', name);
      const segment = process.isAlone
        ? await segmentOf(place, owner, segmentFile(account.accountId))
        : NO_SEGMENT;
      accounts.push({ ...account, ...segment });
    });
  }
  for (const { accountId, how } of process.unattached ?? []) {
    await noting(async () => {
      const { records } = await segmentOf(place, owner, unattachedFile(accountId));
      unattached.push({ accountId, how, segment: records });
    });
  }
  return { process, accounts, unattached, faults };
}

async function segmentOf(place: MirrorPlace, owner: MirrorOwner, name: string): Promise<MirroredSegment> {
  const written = await place.read(name, MOST_FILE_BYTES);
  return written === undefined ? NO_SEGMENT : await readSegment(owner, written, name);
}
