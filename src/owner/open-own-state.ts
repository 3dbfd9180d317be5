import type { Clock, Timers } from '../core/ports/clock.ts';
import type { Disk } from '../core/ports/disk.ts';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import { BUCKETS, bucketOf } from '../core/ports/state-store.ts';
import { TALLY_FIELD } from '../state/account/documents.ts';
import { readTally } from '../state/account/header.ts';
import { HISTORY_SAMPLES } from '../state/state.ts';
import { Journal, nothingKnown, readJournal } from './journal.ts';
import type { JournalImage } from './journal-lines.ts';
import { Keeper } from './keeper.ts';
import { OwnBackend } from './own-backend.ts';
import { OwnValues } from './own-values.ts';
import { TrailFiles } from './trail-files.ts';

export interface OwnStateParts {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly timers: Pick<Timers, 'after'>;
  readonly trust: Pick<OperatorTrust, 'recordSeal'>;
  readonly randomText: (length: number) => string;
  readonly onState: (failing: { readonly error: unknown } | undefined) => void;
}

/** The state that an earlier process left on this disk, which from now on is this process's. */
export async function openOwnState(parts: OwnStateParts, mayAct: () => boolean) {
  const { disk, clock, timers, trust } = parts;
  const found = await readJournal(parts).catch((error: Error) => ({
    image: nothingKnown(parts.randomText),
    faults: [{ file: '', words: error.message }],
  }));
  const { image, faults } = found;
  const backend = new OwnBackend(clock, HISTORY_SAMPLES, mayAct);
  const trail = new TrailFiles({ disk, trust, maxSamples: HISTORY_SAMPLES });
  // Where the disk fails, this is said by the first write.
  await trail.open(lastNumbersOf(image)).catch(() => undefined);
  restore(backend, image);
  const values = new OwnValues(clock, image.values);
  const keeper = new Keeper({ backend, values, trail, timers, onState: parts.onState });
  backend.keepBy(keeper);
  backend.readFrom(trail);
  values.onChanged = (name) => keeper.valueChanged(name);
  await keeper.start(new Journal({ ...parts, run: image.run, snapshot: keeper.snapshot }));
  return { backend, values, faults, close: () => keeper.close() };
}

/** The same for a process that only looks: it changes nothing on the disk. */
export async function readOwnState({ disk, ...parts }: Omit<OwnStateParts, 'timers' | 'onState'>) {
  const nothing = async (): Promise<void> => undefined;
  const onlyRead: Disk = { ...disk, write: nothing, append: nothing, remove: nothing, rename: nothing };
  const { image, faults } = await readJournal({ ...parts, disk: onlyRead });
  const backend = new OwnBackend(parts.clock, HISTORY_SAMPLES, () => false);
  const trail = new TrailFiles({ disk: onlyRead, trust: parts.trust, maxSamples: HISTORY_SAMPLES });
  await trail.open(lastNumbersOf(image));
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
