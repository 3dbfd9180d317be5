import { z } from 'zod';
import { sha256Hex } from '../core/audit/sha256.ts';
import type { Disk } from '../core/ports/disk.ts';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import { parsedJson } from '../core/text/parsed-json.ts';
import type { HistoryRange, RawRecord, RawSample, RecordRange } from '../state/account/account-backend.ts';
import { sealedLine, unsealed } from './journal-lines.ts';

// Audit records, their attachments and history samples of accounts, which need not stay in memory.

export interface TrailParts {
  readonly disk: Disk;
  readonly trust: Pick<OperatorTrust, 'recordSeal'>;
  /** Samples kept per account; some more may stay. */
  readonly maxSamples: number;
}

export interface TrailPart {
  readonly records: readonly RawRecord[];
  readonly files: ReadonlyMap<string, string>;
  readonly history: readonly RawSample[];
}

/** Records or samples per file: old ones go with whole files. */
const PER_FILE = 500;
const MOST_BYTES = 64_000_000;

interface Chapter {
  readonly name: string;
  /** Number of its first record; of samples a running number. */
  readonly first: number;
  count: number;
}

interface Chapters {
  readonly list: Chapter[];
  /** Whether the newest one may be continued: nothing is appended after half a line. undefined: not known yet. */
  isOpen: boolean | undefined;
}

interface Trail {
  readonly records: Chapters;
  readonly samples: Chapters;
  readonly files: Set<string>;
  lastNumber: number;
}

const recordSchema = z.tuple([z.string(), z.int().min(1), z.string(), z.string()]);
/** Any line: account, and number or time. */
const lineSchema = z.tuple([z.string(), z.number()]).rest(z.unknown());
const sampleSchema = z.tuple([z.string(), z.number(), z.array(z.tuple([z.string(), z.string()]))]);

/** One call that writes at a time. Every call rejects if the disk fails. */
export class TrailFiles {
  readonly #parts: TrailParts;
  readonly #trails = new Map<string, Trail>();
  /** Trails by the part of a file's name that stands for the account. */
  readonly #byMark = new Map<string, Trail>();

  constructor(parts: TrailParts) {
    this.#parts = parts;
  }

  /**
   * `lastNumbers`: of each known account. Later records do not count: they were on their way when the process died, or the
   * journal was damaged. Files of them alone, and of accounts that are not known, get another name that ends with `run`.
   */
  async open(lastNumbers: ReadonlyMap<string, number>, run: string): Promise<void> {
    const { disk } = this.#parts;
    const setAside = (name: string): Promise<void> => disk.rename(name, `${name}.unused-${run}`);
    const names = (await disk.names()).toSorted();
    for (const name of names) {
      const [, kind, mark = '', rest = ''] =
        /^(trail|past|attached)-([0-9a-f]{40})-([0-9a-f]+)\.jsonl?$/.exec(name) ?? [];
      if (kind === undefined) continue;
      const trail = this.#byMark.get(mark) ?? newTrail();
      this.#byMark.set(mark, trail);
      if (kind === 'attached') trail.files.add(rest);
      else
        (kind === 'trail' ? trail.records : trail.samples).list.push({
          name,
          first: Number(rest),
          count: PER_FILE,
        });
    }
    for (const [accountId, lastNumber] of lastNumbers) {
      const trail = this.#of(accountId);
      trail.lastNumber = lastNumber;
      const { list } = trail.records;
      for (let last = list.at(-1); last !== undefined && last.first > lastNumber; last = list.at(-1)) {
        await setAside(last.name);
        list.pop();
      }
    }
    const known = new Set([...lastNumbers.keys()].map(markOf));
    for (const [mark, { records, samples }] of this.#byMark) {
      if (known.has(mark)) continue;
      const unused = [...records.list.splice(0), ...samples.list.splice(0)];
      for (const { name } of unused) await setAside(name);
    }
  }

  /** Records with a known number are left out. `isSynced`: it survives a power loss. */
  async append(accountId: string, { records, files, history }: TrailPart, isSynced: boolean): Promise<void> {
    const { disk } = this.#parts;
    const trail = this.#of(accountId);
    const written: string[] = [];
    for (const [hash, text] of files) {
      if (trail.files.has(hash)) continue;
      const name = attachedName(accountId, hash);
      await disk.write(name, text);
      written.push(name);
      trail.files.add(hash);
    }
    const fresh = records.filter(({ number }) => number > trail.lastNumber);
    if (fresh.length > 0) written.push(await this.#appendRecords(accountId, trail, fresh));
    if (history.length > 0) written.push(await this.#appendSamples(accountId, trail, history));
    if (isSynced) await disk.settle(written);
  }

  async #appendRecords(accountId: string, trail: Trail, fresh: readonly RawRecord[]): Promise<string> {
    const { records: chapters, lastNumber } = trail;
    const [{ number: first } = { number: 0 }] = fresh;
    chapters.isOpen ??= await this.#endsWith(accountId, chapters, (number) => number === lastNumber);
    const lines = fresh.map(({ number, text, hash }) => this.#line([accountId, number, text, hash]));
    const next = { name: `trail-${markOf(accountId)}-${padded(first)}.jsonl`, first };
    const written = await this.#write(chapters, lines, next);
    trail.lastNumber = fresh.at(-1)?.number ?? lastNumber;
    return written;
  }

  async #appendSamples(accountId: string, trail: Trail, fresh: readonly RawSample[]): Promise<string> {
    const { samples: chapters } = trail;
    const { list } = chapters;
    const first = (list.at(-1)?.first ?? 0) + 1;
    chapters.isOpen ??= await this.#endsWith(accountId, chapters, () => true);
    const lines = fresh.map(({ atMs, values }) => this.#line([accountId, atMs, [...values]]));
    const next = { name: `past-${markOf(accountId)}-${padded(first)}.jsonl`, first };
    const written = await this.#write(chapters, lines, next);
    const enough = Math.ceil(this.#parts.maxSamples / PER_FILE) + 1;
    for (const oldest of list.splice(0, Math.max(0, list.length - enough)))
      await this.#parts.disk.remove(oldest.name);
    return written;
  }

  /** Whether the newest chapter from before the start ends with a whole line that is the last. */
  async #endsWith(
    accountId: string,
    { list }: Chapters,
    isLast: (number: number) => boolean,
  ): Promise<boolean> {
    const last = list.at(-1);
    if (last === undefined) return false;
    const written = (await this.#parts.disk.read(last.name, MOST_BYTES)) ?? '';
    const lines = this.#linesOf(accountId, written, lineSchema);
    last.count = lines.length;
    const [, number] = lines.at(-1) ?? [];
    return written.endsWith('\n') && number !== undefined && isLast(number);
  }

  /** A file of that name that is left from a process that died is replaced. */
  async #write(
    chapters: Chapters,
    lines: readonly string[],
    next: Pick<Chapter, 'name' | 'first'>,
  ): Promise<string> {
    const { disk } = this.#parts;
    const { list } = chapters;
    const last = list.at(-1);
    const goesOn = last !== undefined && chapters.isOpen === true && last.count < PER_FILE;
    const chapter = goesOn ? last : { ...next, count: 0 };
    if (!goesOn && last?.name === chapter.name) list.pop();
    if (!goesOn) list.push(chapter);
    chapters.isOpen = false;
    chapter.count += lines.length;
    await (goesOn ? disk.append(chapter.name, lines.join('')) : disk.write(chapter.name, lines.join('')));
    chapters.isOpen = true;
    return chapter.name;
  }

  async records(accountId: string, { from, to, count, newest }: RecordRange): Promise<readonly RawRecord[]> {
    const { records: chapters, lastNumber } = this.#of(accountId);
    const parts = chapters.list.map((chapter, index) => ({
      chapter,
      from: Math.max(from, chapter.first),
      to: Math.min(to, lastNumber, (chapters.list[index + 1]?.first ?? Number.POSITIVE_INFINITY) - 1),
    }));
    const wanted = parts.filter((part) => part.from <= part.to);
    const found: RawRecord[] = [];
    for (const part of newest ? wanted.toReversed() : wanted) {
      const inPart = (await this.#readRecords(accountId, part.chapter)).filter(
        ({ number }) => number >= part.from && number <= part.to,
      );
      if (newest) found.unshift(...inPart);
      else found.push(...inPart);
      if (found.length >= count) break;
    }
    return newest ? found.slice(Math.max(0, found.length - count)) : found.slice(0, count);
  }

  async history(accountId: string, { fromMs, toMs, count }: HistoryRange): Promise<readonly RawSample[]> {
    const found: RawSample[] = [];
    for (const chapter of this.#of(accountId).samples.list.toReversed()) {
      const lines = await this.#read(accountId, chapter, sampleSchema);
      const samples = lines.map(([, atMs, values]): RawSample => ({ atMs, values: new Map(values) }));
      found.unshift(...samples.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs));
      if (found.length >= count || (samples[0]?.atMs ?? Number.POSITIVE_INFINITY) < fromMs) break;
    }
    return found.slice(Math.max(0, found.length - count));
  }

  /** null: there is none, or not as it was written. */
  async file(accountId: string, hash: string): Promise<string | null> {
    if (!this.#of(accountId).files.has(hash)) return null;
    return (await this.#parts.disk.read(attachedName(accountId, hash), MOST_BYTES)) ?? null;
  }

  async fileHashes(accountId: string): Promise<readonly string[]> {
    return [...this.#of(accountId).files];
  }

  async removeFiles(accountId: string, hashes: readonly string[]): Promise<void> {
    for (const hash of hashes) {
      await this.#parts.disk.remove(attachedName(accountId, hash));
      this.#of(accountId).files.delete(hash);
    }
  }

  /** Removes the files that have no record of this number or later. */
  async trim(accountId: string, before: number): Promise<void> {
    const { list } = this.#of(accountId).records;
    for (let next = list[1]; next !== undefined && next.first <= before; next = list[1]) {
      const [oldest] = list.splice(0, 1);
      if (oldest !== undefined) await this.#parts.disk.remove(oldest.name);
    }
  }

  async forget(accountId: string): Promise<void> {
    const { records, samples } = this.#of(accountId);
    for (const { name } of [...records.list, ...samples.list]) await this.#parts.disk.remove(name);
    await this.removeFiles(accountId, await this.fileHashes(accountId));
    this.#trails.delete(accountId);
    this.#byMark.delete(markOf(accountId));
  }

  #of(accountId: string): Trail {
    const known = this.#trails.get(accountId);
    if (known !== undefined) return known;
    const trail = this.#byMark.get(markOf(accountId)) ?? newTrail();
    this.#trails.set(accountId, trail);
    return trail;
  }

  #line(contents: readonly unknown[]): string {
    return sealedLine(this.#parts.trust, JSON.stringify(contents));
  }

  /** Of records with one number the last was acknowledged. */
  async #readRecords(accountId: string, chapter: Chapter): Promise<readonly RawRecord[]> {
    const lines = await this.#read(accountId, chapter, recordSchema);
    const byNumber = new Map(lines.map(([, number, text, hash]) => [number, { number, text, hash }]));
    return [...byNumber.values()].toSorted((a, b) => a.number - b.number);
  }

  /** Lines that are torn, not sealed or of another account are left out: verification finds what is missing. */
  async #read<T extends readonly [string, ...unknown[]]>(
    accountId: string,
    { name }: Chapter,
    schema: z.ZodType<T>,
  ): Promise<readonly T[]> {
    const written = (await this.#parts.disk.read(name, MOST_BYTES)) ?? '';
    return this.#linesOf(accountId, written, schema);
  }

  #linesOf<T extends readonly [string, ...unknown[]]>(
    accountId: string,
    written: string,
    schema: z.ZodType<T>,
  ): readonly T[] {
    return written.split('\n').flatMap((line) => {
      const json = line === '' ? undefined : unsealed(this.#parts.trust, line);
      const read = json === undefined ? undefined : schema.safeParse(parsedJson(json)).data;
      return read === undefined || read[0] !== accountId ? [] : [read];
    });
  }
}

function newTrail(): Trail {
  return {
    records: { list: [], isOpen: undefined },
    samples: { list: [], isOpen: undefined },
    files: new Set(),
    lastNumber: 0,
  };
}

function markOf(accountId: string): string {
  return sha256Hex(accountId).slice(0, 40);
}

function padded(number: number): string {
  return String(number).padStart(12, '0');
}

function attachedName(accountId: string, hash: string): string {
  return `attached-${markOf(accountId)}-${hash}.json`;
}
