import type { Clock, Timers } from '../core/ports/clock.ts';
import type { Disk } from '../core/ports/disk.ts';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import { BUCKETS, bucketOf } from '../core/ports/state-store.ts';
import { TALLY_FIELD } from '../state/account/documents.ts';
import { readTally } from '../state/account/header.ts';
import { HISTORY_SAMPLES } from '../state/state.ts';
import { type DiskFault, Journal, nothingKnown, readJournal } from './journal.ts';
import type { JournalImage } from './journal-lines.ts';
import { Keeper } from './keeper.ts';
import { OwnBackend } from './own-backend.ts';
import { OwnValues } from './own-values.ts';
import { TrailFiles } from './trail-files.ts';

export interface OwnStateParts {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly trust: Pick<OperatorTrust, 'recordSeal'>;
  readonly randomText: (length: number) => string;
  readonly onState: (failing: { readonly error: unknown } | undefined) => void;
}

/** The state of this process, empty until it is opened. `mayAct`: false once another process has the disk. */
export function createOwnState(parts: OwnStateParts, mayAct: () => boolean) {
  const { disk, clock, timers, trust } = parts;
  const backend = new OwnBackend(clock, HISTORY_SAMPLES, mayAct);
  const trail = new TrailFiles({ disk, trust, maxSamples: HISTORY_SAMPLES });
  const values = new OwnValues(clock);
  const keeper = new Keeper({ backend, values, trail, timers, onState: parts.onState });
  return {
    backend,
    values,
    /** Goes on with what an earlier process left on the disk. Returns what of it could not be used. */
    async open(): Promise<readonly DiskFault[]> {
      const found = await readJournal(parts).catch((error: Error) => ({
        image: nothingKnown(parts.randomText),
        faults: [{ file: '', words: error.message }],
      }));
      const { image, faults } = found;
      // Where the disk fails, this is said by the first write.
      await trail.open(lastNumbersOf(image), image.run).catch(() => undefined);
      restore(backend, image);
      values.restore(image.values);
      values.onChanged = (name) => keeper.valueChanged(name);
      backend.readFrom(trail);
      backend.keepBy(keeper);
      await keeper.start(new Journal({ ...parts, run: image.run, snapshot: keeper.snapshot }));
      return faults;
    },
    close: () => keeper.close(),
  };
}

/** The same for a process that only looks: it changes nothing on the disk. */
export async function readOwnState({ disk, ...parts }: Omit<OwnStateParts, 'timers' | 'onState'>) {
  const nothing = async (): Promise<void> => undefined;
  const onlyRead: Disk = { ...disk, write: nothing, append: nothing, remove: nothing, rename: nothing };
  const { image, faults } = await readJournal({ ...parts, disk: onlyRead });
  const backend = new OwnBackend(parts.clock, HISTORY_SAMPLES, () => false);
  const trail = new TrailFiles({ disk: onlyRead, trust: parts.trust, maxSamples: HISTORY_SAMPLES });
  await trail.open(lastNumbersOf(image), image.run);
  restore(backend, image);
  backend.readFrom(trail);
  return { backend, faults };
}

function restore(backend: OwnBackend, { run, buckets, accounts }: JournalImage): void {
  for (let index = 0; index < BUCKETS; index++) {
    const { epoch = null, controls = '' } = buckets.get(index) ?? {};
    const own = [...accounts].filter(([accountId]) => bucketOf(accountId) === index);
    backend.adopt(index, { run, epoch, controls, accounts: new Map(own) });
  }
}

function lastNumbersOf({ accounts }: JournalImage): ReadonlyMap<string, number> {
  return new Map(
    Array.from(accounts, ([accountId, fields]) => [
      accountId,
      readTally(fields.get(TALLY_FIELD) ?? '').lastNumber,
    ]),
  );
}
