import type { MirroredAccount, MirroredProcess, MirroredSegment } from '../mirror/mirror-text.ts';
import type { RawBatch, RawChange, RawCommitReply, RawStand, RawView } from './account-backend.ts';
import { type BucketImage, type HeldAccount, type MemoryBackend, writeFields } from './backend-memory.ts';
import { HEADER_FIELD, laneHeaderField, TALLY_FIELD } from './documents.ts';
import { isSameChain } from './header.ts';
import type { Committed } from './settle-change.ts';

/** What this process last knew of a bucket of the shared store. */
export interface StandbyImage {
  run: string;
  epoch: string | null;
  controls: string;
  readonly accounts: Map<string, Map<string, string>>;
  /** Accounts that others have changed since their fields were last sent here. */
  readonly overtaken: Set<string>;
}

/** If some of the bucket may not be the newest, `run` names another server, so that the store begins a new epoch. */
export function runOf({ run, epoch, controls, overtaken }: StandbyImage) {
  return { run: overtaken.size === 0 ? run : `${run}, overtaken`, epoch, controls };
}

/** What a mirror keeps of the known buckets. */
export function bucketsToKeep(
  images: readonly StandbyImage[],
  alone: MemoryBackend | undefined,
): MirroredProcess['buckets'] {
  return images.flatMap((image, index) => {
    const { run, epoch, controls } = alone?.stateOf(index) ?? runOf(image);
    if (epoch === null && controls === '') return [];
    const base = alone ? { run: image.run, epoch: image.epoch, controls: image.controls } : null;
    return [{ index, run, epoch, controls, base }];
  });
}

/** What a mirror keeps of an account: `known` from the shared store, and `held` alone. */
export function toKeep(
  accountId: string,
  known: ReadonlyMap<string, string> | undefined,
  held: HeldAccount | undefined,
): (Pick<MirroredAccount, 'accountId' | 'fields' | 'base'> & MirroredSegment) | undefined {
  if (held === undefined)
    return known && { accountId, fields: [...known], base: null, records: [], files: new Map() };
  const { fields, records, files } = held;
  return { accountId, fields: [...fields], base: headersOf(known), records, files };
}

/** The fields that a merge compares; empty for an account that was first seen alone. */
function headersOf(fields: ReadonlyMap<string, string> = new Map()): [string, string][] {
  return [...fields].filter(
    ([field]) => field === HEADER_FIELD || field === TALLY_FIELD || field.startsWith(laneHeaderField('')),
  );
}

/** Adds the accounts that this process first met when it was alone, without any earlier state. */
export function withFirstSeen(image: StandbyImage, accountIds: readonly string[]): BucketImage {
  const firstSeen = accountIds.map((accountId) => [accountId, new Map<string, string>()] as const);
  return { ...image, accounts: new Map([...firstSeen, ...image.accounts]) };
}

/** `onSent`: called for each account whose fields were sent. */
export function noteView(
  image: StandbyImage,
  { run, epoch, controls, accounts }: RawView,
  onSent: (accountId: string) => void,
): void {
  image.run = run;
  image.epoch = epoch;
  if (controls !== null) image.controls = controls;
  for (const { accountId, header, tally, fields } of accounts) {
    if (fields !== null) {
      image.accounts.set(accountId, new Map(fields));
      onSent(accountId);
    }
    const known = image.accounts.get(accountId);
    const isCurrent =
      header === '' || (known?.get(HEADER_FIELD) === header && (known.get(TALLY_FIELD) ?? '') === tally);
    if (isCurrent) image.overtaken.delete(accountId);
    else image.overtaken.add(accountId);
  }
}

/** Whether others have decided something for the account since it was last sent here. */
export function isNews(
  { accounts, overtaken }: StandbyImage,
  { accountId, header, tally }: RawStand,
): boolean {
  if (header === '') return false;
  if (overtaken.has(accountId)) return true;
  const known = accounts.get(accountId);
  return known?.get(TALLY_FIELD) !== tally || !isSameChain(header, known.get(HEADER_FIELD) ?? '');
}

export function noteCommit(image: StandbyImage, batch: RawBatch, reply: RawCommitReply): void {
  if (reply.kind !== 'answered') return;
  const outcomes = batch.changes.map((change, place) => ({ change, outcome: reply.outcomes[place] }));
  for (const { change, outcome } of outcomes) {
    if (outcome?.kind === 'committed') noteChange(image, change, outcome);
  }
  const { controls } = batch;
  if (controls !== null && outcomes.every(({ outcome }) => outcome?.kind === 'committed')) {
    image.controls = controls.next;
  }
}

function noteChange(image: StandbyImage, change: RawChange, { tally, leftOut }: Committed): void {
  const { accountId } = change;
  const fields = image.accounts.get(accountId) ?? new Map<string, string>();
  image.accounts.set(accountId, fields);
  const isNewest = tally === null || (fields.get(TALLY_FIELD) ?? '') === tally.before;
  writeFields(
    fields,
    change,
    change.lanes.filter(({ market }) => !leftOut.includes(market)),
  );
  if (tally !== null) fields.set(TALLY_FIELD, tally.after);
  if (!isNewest) image.overtaken.add(accountId);
}

export function blankImage(): StandbyImage {
  return { run: '', epoch: null, controls: '', accounts: new Map(), overtaken: new Set() };
}

export function accountIdsOf(images: readonly BucketImage[]): readonly string[] {
  return images.flatMap(({ accounts }) => [...accounts.keys()]);
}

/** Whether nothing was ever known of the bucket. */
export function isBlank({ epoch, controls, accounts }: BucketImage): boolean {
  return epoch === null && controls === '' && accounts.size === 0;
}
