import type { RawChange } from './account-backend.ts';
import { type BucketImage, writeFields } from './backend-memory.ts';
import { HEADER_FIELD, laneHeaderField, TALLY_FIELD } from './documents.ts';

/** What this process last knew of a bucket of the shared store. */
export interface StandbyImage {
  run: string;
  epoch: string | null;
  controls: string;
  readonly accounts: Map<string, Map<string, string>>;
  /** Accounts that others have changed since they were last sent here. */
  readonly overtaken: Set<string>;
}

/** Of another server, as far as the store can tell, where nothing here is certain to be the newest. */
export function runOf({
  run,
  epoch,
  controls,
  overtaken,
}: StandbyImage): Pick<BucketImage, 'run' | 'epoch' | 'controls'> {
  return { run: overtaken.size === 0 ? run : `${run}, overtaken`, epoch, controls };
}

/** What a merge compares of an account; nothing of one that was first seen alone. */
export function headersOf(fields: ReadonlyMap<string, string> = new Map()): [string, string][] {
  return [...fields].filter(
    ([field]) => field === HEADER_FIELD || field === TALLY_FIELD || field.startsWith(laneHeaderField('')),
  );
}

/** With the accounts that this process met only when it was alone: nothing is known of them from before. */
export function withFirstSeen(image: StandbyImage, accountIds: readonly string[]): BucketImage {
  const firstSeen = accountIds.map((accountId) => [accountId, new Map<string, string>()] as const);
  return { ...image, accounts: new Map([...firstSeen, ...image.accounts]) };
}

interface NotedWith {
  readonly tally: { readonly before: string; readonly after: string } | null;
  readonly leftOut: readonly string[];
}

export function noteChange(image: StandbyImage, change: RawChange, { tally, leftOut }: NotedWith): void {
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

/** Nothing was ever known of the bucket. */
export function isBlank({ epoch, controls, accounts }: BucketImage): boolean {
  return epoch === null && controls === '' && accounts.size === 0;
}
