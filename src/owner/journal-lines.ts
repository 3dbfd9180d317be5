import { z } from 'zod';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import { BUCKETS } from '../core/ports/state-store.ts';
import type { OutputOf } from '../core/schema/parts.ts';
import { parsedJson } from '../core/text/parsed-json.ts';

// A line is `<seal or -> <json>`. The JSON has the number of the file and of the line, so that a line that was moved,
// repeated or taken out is seen. Everything is checked on reading: others may have written it.

const text = z.string().max(6_000_000);
const name = z.string().min(1).max(500);
const moment = z.number().min(0).max(8.64e15);

const entrySchema = z.discriminatedUnion('kind', [
  /** The first line. `run`: the uninterrupted history that the file goes on with. */
  z.strictObject({ kind: z.literal('head'), version: z.literal(1), run: name }),
  z.strictObject({
    kind: z.literal('bucket'),
    index: z
      .int()
      .min(0)
      .max(BUCKETS - 1),
    epoch: z.string().max(500).nullable(),
    controls: z.string().max(1_000_000),
  }),
  /** All fields of an account. */
  z.strictObject({
    kind: z.literal('account'),
    accountId: name,
    fields: z.array(z.tuple([name, text])).max(10_000),
  }),
  /** Fields that differ from before. */
  z.strictObject({
    kind: z.literal('change'),
    accountId: name,
    set: z.array(z.tuple([name, text])).max(10_000),
    remove: z.array(name).max(10_000),
  }),
  z.strictObject({ kind: z.literal('forget'), accountId: name }),
  /** Anything else that a process must find again. `text` null: it is gone. `expiresAtMs` null: never. */
  z.strictObject({
    kind: z.literal('value'),
    name,
    text: text.nullable(),
    expiresAtMs: moment.nullable(),
  }),
  /** Ends the snapshot with which a file begins. A file without it does not count. */
  z.strictObject({ kind: z.literal('whole') }),
]);

const lineSchema = z.tuple([z.int().min(0), z.int().min(0), entrySchema]);

type Line = OutputOf<typeof entrySchema>;
export type JournalEntry = Exclude<Line, { readonly kind: 'head' | 'whole' }>;

/** What a journal holds: its entries up to the end, applied. */
export interface JournalImage {
  /** Identity of the uninterrupted history: a new one whenever something that was done may be missing. */
  readonly run: string;
  readonly buckets: ReadonlyMap<number, { readonly epoch: string | null; readonly controls: string }>;
  readonly accounts: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly values: ReadonlyMap<string, { readonly text: string; readonly expiresAtMs: number | null }>;
}

/** What a file holds. `damage`: what is wrong with it, in words; the image ends before it. */
export interface ReadFile {
  /** Absent: the snapshot is not whole. */
  readonly image?: JournalImage;
  readonly damage?: string;
}

type Sealing = Pick<OperatorTrust, 'recordSeal'>;

export function sealedLine({ recordSeal }: Sealing, json: string): string {
  return `${recordSeal(json) ?? '-'} ${json}\n`;
}

/** Returns the JSON of a line; undefined: it lacks the seal. */
export function unsealed({ recordSeal }: Sealing, line: string): string | undefined {
  const end = line.indexOf(' ');
  const json = line.slice(end + 1);
  const wanted = recordSeal(json);
  return wanted === undefined || wanted === line.slice(0, end) ? json : undefined;
}

/** Writes the lines of one file. */
export class LineWriter {
  readonly #trust: Sealing;
  readonly #file: number;
  #next = 0;

  constructor(trust: Sealing, file: number) {
    this.#trust = trust;
    this.#file = file;
  }

  line(entry: Line): string {
    return sealedLine(this.#trust, JSON.stringify([this.#file, this.#next++, entry]));
  }
}

/** Reads a file up to its end, or to the first line that is not as it was written. A torn last line is dropped. */
export function readLines(trust: Sealing, file: number, written: string): ReadFile {
  const found = new Collected();
  const lines = written.slice(0, written.lastIndexOf('\n') + 1).split('\n');
  lines.pop();
  for (const [number, line] of lines.entries()) {
    const json = unsealed(trust, line);
    if (json === undefined) return { damage: `line ${number + 1} lacks the seal of operators.key` };
    const read = lineSchema.safeParse(parsedJson(json)).data;
    if (read === undefined) return found.upTo(`line ${number + 1} cannot be read`);
    if (read[0] !== file || read[1] !== number)
      return found.upTo(`line ${number + 1} belongs somewhere else`);
    found.take(read[2]);
  }
  return found.upTo(undefined);
}

class Collected {
  #run = '';
  #isWhole = false;
  readonly #buckets = new Map<number, { epoch: string | null; controls: string }>();
  readonly #accounts = new Map<string, Map<string, string>>();
  readonly #values = new Map<string, { text: string; expiresAtMs: number | null }>();

  take(entry: Line): void {
    switch (entry.kind) {
      case 'head':
        this.#run = entry.run;
        break;
      case 'whole':
        this.#isWhole = true;
        break;
      case 'bucket':
        this.#buckets.set(entry.index, { epoch: entry.epoch, controls: entry.controls });
        break;
      case 'account':
        this.#accounts.set(entry.accountId, new Map(entry.fields));
        break;
      case 'change': {
        const fields = this.#accounts.get(entry.accountId) ?? new Map<string, string>();
        this.#accounts.set(entry.accountId, fields);
        for (const [field, value] of entry.set) fields.set(field, value);
        for (const field of entry.remove) fields.delete(field);
        break;
      }
      case 'forget':
        this.#accounts.delete(entry.accountId);
        break;
      case 'value':
        if (entry.text === null) this.#values.delete(entry.name);
        else this.#values.set(entry.name, { text: entry.text, expiresAtMs: entry.expiresAtMs });
        break;
    }
  }

  upTo(damage: string | undefined): ReadFile {
    if (!this.#isWhole || this.#run === '')
      return { damage: damage ?? 'it ends before its beginning is whole' };
    const parts = damage === undefined ? {} : { damage };
    const image = {
      run: this.#run,
      buckets: this.#buckets,
      accounts: this.#accounts,
      values: this.#values,
    };
    return { ...parts, image };
  }
}
