import type { Timers } from '../core/ports/clock.ts';
import type { Disk } from '../core/ports/disk.ts';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import { type JournalEntry, type JournalImage, LineWriter, readLines } from './journal-lines.ts';

export interface JournalParts {
  readonly disk: Disk;
  readonly trust: Pick<OperatorTrust, 'recordSeal'>;
  readonly randomText: (length: number) => string;
}

/** A file that could not be used, for people. */
export interface DiskFault {
  readonly file: string;
  readonly words: string;
}

export interface FoundJournal {
  readonly image: JournalImage;
  readonly faults: readonly DiskFault[];
}

const RUN_LENGTH = 16;
/** Far above what a thousand positions take. */
const MOST_BYTES = 512_000_000;
const LEAST_ROTATED_BYTES = 4_000_000;
/** A file that has grown to so many snapshots is replaced. */
const ROTATED_SNAPSHOTS = 4;
/** Characters that are written out before other work gets a turn. */
const AT_A_STRETCH = 1_000_000;
const BEHIND = '.behind';
const DAMAGED = '.damaged';

/**
 * Reads what the last process left. What may lack something that was done begins a new run: a file that fell behind, or
 * that is damaged. A file whose seals are wrong is not used at all. Rejects if the folder cannot be used.
 */
export async function readJournal({ disk, trust, randomText }: JournalParts): Promise<FoundJournal> {
  const newRun = (image: JournalImage): JournalImage => ({ ...image, run: randomText(RUN_LENGTH) });
  const faults: DiskFault[] = [];
  const files = journalFiles(await disk.names());
  for (const { name, number, isBehind } of files) {
    const written = await disk.read(name, MOST_BYTES);
    // The process that writes has just replaced it.
    if (written === undefined) return await readJournal({ disk, trust, randomText });
    const { image, damage } = readLines(trust, number, written);
    if (damage !== undefined) {
      faults.push({ file: name, words: damage });
      await disk.rename(name, `${name}${DAMAGED}`);
    }
    if (image === undefined) continue;
    const isDoubtful = isBehind || faults.length > 0;
    return { image: isDoubtful ? newRun(image) : image, faults };
  }
  return { image: nothingKnown(randomText), faults };
}

export function nothingKnown(randomText: JournalParts['randomText']): JournalImage {
  return { run: randomText(RUN_LENGTH), buckets: new Map(), accounts: new Map(), values: new Map() };
}

/** Newest first. */
function journalFiles(names: readonly string[]) {
  return names
    .flatMap((name) => {
      const [, number, behind] = /^journal-(\d{1,12})\.jsonl(\.behind)?$/.exec(name) ?? [];
      return number === undefined ? [] : [{ name, number: Number(number), isBehind: behind !== undefined }];
    })
    .toSorted((a, b) => b.number - a.number);
}

/**
 * An append-only file, which begins with a snapshot. One caller at a time. Where a write fails, the file counts as behind
 * until a new one is whole: nothing is ever appended after half a line. What cannot be known at the next start: if the
 * disk takes neither the write nor the mark that the file is behind, and works again later, the file looks complete
 * although a decision is missing. Positions and orders are read anew before anything is sent.
 */
export class Journal {
  readonly #parts: JournalParts & JournalSource;
  #number = 0;
  #lines: LineWriter;
  #bytes = 0;
  #snapshotBytes = 0;
  #isBehind = true;

  constructor(parts: JournalParts & JournalSource) {
    this.#parts = parts;
    this.#lines = new LineWriter(parts.trust, 0);
  }

  /** The file lacks what was to be written. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Resolves when the entries are written; `isSynced`: and survive a power loss. Rejects if the disk fails. */
  async append(entries: readonly JournalEntry[], isSynced: boolean): Promise<void> {
    const { disk } = this.#parts;
    const isLarge = this.#bytes > Math.max(LEAST_ROTATED_BYTES, ROTATED_SNAPSHOTS * this.#snapshotBytes);
    // The snapshot has these entries, too.
    if (this.#isBehind || isLarge) return await this.#begin();
    if (entries.length === 0) return;
    const text = entries.map((entry) => this.#lines.line(entry)).join('');
    this.#bytes += text.length;
    await disk.append(this.#file, text);
    if (isSynced) await disk.settle([this.#file]);
  }

  /** Marks the file, so that another start does not take it for complete. */
  async fallBehind(): Promise<void> {
    if (this.#isBehind) return;
    this.#isBehind = true;
    await this.#parts.disk.rename(this.#file, `${this.#file}${BEHIND}`).catch(() => undefined);
  }

  get #file(): string {
    return `journal-${this.#number}.jsonl`;
  }

  /** Begins a new file, and removes the others once it is whole. */
  async #begin(): Promise<void> {
    const { disk, trust, timers, run, snapshot } = this.#parts;
    const entries = await snapshot();
    const files = journalFiles(await disk.names());
    const number = Math.max(this.#number, files[0]?.number ?? 0) + 1;
    const lines = new LineWriter(trust, number);
    const pieces = [lines.line({ kind: 'head', version: 1, run })];
    let sinceRest = 0;
    for (const entry of entries) {
      const line = lines.line(entry);
      pieces.push(line);
      sinceRest += line.length;
      if (sinceRest < AT_A_STRETCH) continue;
      sinceRest = 0;
      await new Promise<void>((resolve) => void timers.afterTurn(resolve));
    }
    pieces.push(lines.line({ kind: 'whole' }));
    const text = pieces.join('');
    const name = `journal-${number}.jsonl`;
    await disk.write(name, text);
    await disk.settle([name]);
    this.#number = number;
    this.#lines = lines;
    this.#bytes = text.length;
    this.#snapshotBytes = text.length;
    this.#isBehind = false;
    // One that stays does no harm: the newest counts.
    for (const old of files) await disk.remove(old.name).catch(() => undefined);
  }
}

export interface JournalSource {
  readonly timers: Pick<Timers, 'afterTurn'>;
  readonly run: string;
  /** All entries that make up the present state, taken in the turn in which it resolves. Rejects if the disk fails. */
  readonly snapshot: () => Promise<readonly JournalEntry[]>;
}
