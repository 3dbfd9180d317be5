import type { Disk } from '../../core/ports/disk.ts';
import type { HandedBack } from '../account/hand-back.ts';
import {
  isAccountFile,
  MirrorError,
  type MirroredAccount,
  type MirroredProcess,
  type MirroredSegment,
  type MirrorOwner,
  MOST_FILE_BYTES,
  PROCESS_COPY,
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
  readonly faults: readonly MirrorFault[];
}

/** Files that could not be used, the first as `words` say; their contents are unknown. */
export interface MirrorFault {
  readonly files: readonly [string, ...string[]];
  readonly words: string;
}

const MISSING = ' is missing';
const NO_SEGMENT: MirroredSegment = { records: [], files: new Map() };

/** Reads a mirror; `undefined`: there is none. Rejects if neither copy of its process file can be read. */
export async function readMirror(place: Disk, owner: MirrorOwner): Promise<ReadMirror | undefined> {
  const accounts: (MirroredAccount & MirroredSegment)[] = [];
  const unattached: HandedBack[] = [];
  const faults: MirrorFault[] = [];
  const noting = async <T>(files: MirrorFault['files'], read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      faults.push({ files, words: error instanceof Error ? error.message : String(error) });
      return undefined;
    }
  };
  const processIn = (name: string): Promise<MirroredProcess | undefined> =>
    noting([name], async () => {
      const written = await place.read(name, MOST_FILE_BYTES);
      if (written === undefined) throw new MirrorError(`${name}${MISSING}`);
      return readProcess(owner, written, name);
    });
  const process = (await processIn(PROCESS_FILE)) ?? (await processIn(PROCESS_COPY));
  if (process === undefined) {
    const fault = faults.find(({ words }) => !words.endsWith(MISSING));
    if (fault === undefined) return undefined;
    throw new MirrorError(fault.words);
  }
  for (const name of (await place.names()).filter(isAccountFile)) {
    const account = await noting([name, name.replace(/^account-(.*)json$/, 'audit-$1jsonl')], async () =>
      readAccount(owner, (await place.read(name, MOST_FILE_BYTES)) ?? '', name),
    );
    if (account === undefined) continue;
    const beside = segmentFile(account.accountId);
    const segment = process.isAlone
      ? await noting([beside, name], () => segmentOf(place, owner, beside))
      : NO_SEGMENT;
    if (segment !== undefined) accounts.push({ ...account, ...segment });
  }
  for (const { accountId, how } of process.unattached ?? []) {
    await noting([unattachedFile(accountId)], async () => {
      const { records } = await segmentOf(place, owner, unattachedFile(accountId));
      unattached.push({ accountId, how, segment: records });
    });
  }
  return { process, accounts, unattached, faults };
}

async function segmentOf(place: Disk, owner: MirrorOwner, name: string): Promise<MirroredSegment> {
  const written = await place.read(name, MOST_FILE_BYTES);
  return written === undefined ? NO_SEGMENT : await readSegment(owner, written, name);
}
