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
} from './mirror-text.ts';

/** All that a process had written down when it ended. */
export interface ReadMirror {
  readonly process: MirroredProcess;
  readonly accounts: readonly (MirroredAccount & MirroredSegment)[];
  /** Files that could not be used, in words. What was in them is not known. */
  readonly faults: readonly string[];
}

const NO_SEGMENT: MirroredSegment = { records: [], files: new Map() };

/** `undefined`: there is none. Rejects where it cannot be read as a whole. */
export async function readMirror(place: MirrorPlace, owner: MirrorOwner): Promise<ReadMirror | undefined> {
  const written = await place.read(PROCESS_FILE, MOST_FILE_BYTES);
  if (written === undefined) return undefined;
  const process = readProcess(owner, written);
  const accounts: (MirroredAccount & MirroredSegment)[] = [];
  const faults: string[] = [];
  for (const name of (await place.names()).filter(isAccountFile)) {
    try {
      const account = readAccount(owner, (await place.read(name, MOST_FILE_BYTES)) ?? '', name);
      accounts.push({
        ...account,
        ...(process.isAlone ? await segmentOf(place, owner, account) : NO_SEGMENT),
      });
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error));
    }
  }
  return { process, accounts, faults };
}

async function segmentOf(
  place: MirrorPlace,
  owner: MirrorOwner,
  { accountId }: MirroredAccount,
): Promise<MirroredSegment> {
  const name = segmentFile(accountId);
  const written = await place.read(name, MOST_FILE_BYTES);
  return written === undefined ? NO_SEGMENT : await readSegment(owner, written, name);
}
