import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { sha256Hex } from '../../core/audit/sha256.ts';
import type { OperatorTrust } from '../../core/ports/operator-trust.ts';
import { BUCKETS } from '../../core/ports/state-store.ts';
import { parsedJson } from '../../core/text/parsed-json.ts';
import type { RawRecord } from '../account/account-backend.ts';
import { MOST_TEXT } from '../account/documents.ts';
import type { HandedBack } from '../account/hand-back.ts';
import { readJson } from '../read-json.ts';

/** Contents of the files of a mirror. All of it is checked on reading: others may have written it. */

const text = z.string().max(MOST_TEXT);
const pairs = z.array(z.tuple([z.string().max(500), text])).max(10_000);
const moment = z.number().min(0).max(8.64e15);
const belongs = {
  version: z.literal(1),
  prefix: z.string().max(200),
  ordinal: z.int().min(0).max(99),
};
const controls = z.string().max(1_000_000);
const epoch = z.string().max(500).nullable();

/** `base`: the bucket as known when the shared store was lost, while the process is alone; otherwise null. */
const bucketSchema = z.strictObject({
  index: z
    .int()
    .min(0)
    .max(BUCKETS - 1),
  run: z.string().max(500),
  epoch,
  controls,
  base: z.strictObject({ run: z.string().max(500), epoch, controls }).nullable(),
});

const accountId = z.string().min(1).max(500);
const HOW = ['continued', 'merged', 'superseded'] as const satisfies readonly HandedBack['how'][];

const processSchema = z.strictObject({
  ...belongs,
  atMs: moment,
  clockOffsetMs: z.number().min(-8.64e15).max(8.64e15),
  isAlone: z.boolean(),
  hasCompany: z.boolean(),
  writers: z.array(z.string().max(100)).max(20),
  buckets: z.array(bucketSchema).max(BUCKETS),
  /**
   * Accounts with records that were handed back and are in no chain yet; the records are in a separate file. Absent:
   * none, or written by a version that does not know of them.
   */
  unattached: z.array(z.strictObject({ accountId, how: z.enum(HOW) })).optional(),
});

const accountSchema = z.strictObject({
  ...belongs,
  accountId,
  fields: pairs,
  base: pairs.nullable(),
});

const recordSchema = z.union([
  z.strictObject({ number: z.int().min(1), text, hash: z.string().max(200) }),
  z.strictObject({ file: text, hash: z.string().max(200) }),
]);

/** The process: its buckets, and when it last knew all this to be in force (wall clock, Unix milliseconds). */
export type MirroredProcess = z.output<typeof processSchema>;
/** The fields of an account. `base`: its headers and tally when the shared store was lost; null while it is not. */
export type MirroredAccount = z.output<typeof accountSchema>;

/** Audit records that only this process has, and their attachments by hash. */
export interface MirroredSegment {
  readonly records: readonly RawRecord[];
  readonly files: ReadonlyMap<string, string>;
}

/** The owner of a mirror: files of another process or installation are refused. */
export interface MirrorOwner {
  readonly prefix: string;
  readonly ordinal: number;
  readonly trust: Pick<OperatorTrust, 'recordSeal'>;
}

export class MirrorError extends Error {
  readonly code = 'mirror-unreadable';
  override name = 'MirrorError';
}

export const PROCESS_FILE = 'process.json';
/** The same contents: without them nothing may be acted on. */
export const PROCESS_COPY = 'process-copy.json';
/** Far above what a thousand positions take. */
export const MOST_FILE_BYTES = 64_000_000;
/** Most characters of a line, which is parsed in one go: a longer one would hold the process up. */
const MOST_LINE = 6_000_000;
/** Characters of lines that are parsed before other work gets a turn. */
const AT_A_STRETCH = 1_000_000;
const NO_SEAL = '-';

export function accountFile(accountId: string): string {
  return `account-${nameOf(accountId)}.json`;
}

export function isAccountFile(name: string): boolean {
  return /^account-[0-9a-f]{40}\.json$/.test(name);
}

export function segmentFile(accountId: string): string {
  return `audit-${nameOf(accountId)}.jsonl`;
}

export function unattachedFile(accountId: string): string {
  return `unattached-${nameOf(accountId)}.jsonl`;
}

/** Whether a file is of the account. */
export function isFileOf(accountId: string, name: string): boolean {
  return name.includes(nameOf(accountId));
}

function nameOf(accountId: string): string {
  return sha256Hex(accountId).slice(0, 40);
}

export type Contents<T> = Omit<T, keyof typeof belongs>;

/**
 * One line with the seal, or `-` without a key, and one with the contents.
 * @throws MirrorError for contents that could not be read again
 */
export function writeMirrored(
  owner: MirrorOwner,
  contents: Contents<MirroredProcess> | Contents<MirroredAccount>,
): string {
  const { prefix, ordinal } = owner;
  return sealedLine(owner, JSON.stringify({ version: 1, prefix, ordinal, ...contents }));
}

/** @throws MirrorError for a line that could not be read again */
function sealedLine({ trust }: MirrorOwner, line: string): string {
  if (line.length > MOST_LINE) throw new MirrorError(tooLong(line));
  return `${trust.recordSeal(line) ?? NO_SEAL}\n${line}\n`;
}

function tooLong(line: string): string {
  return `a line of ${line.length} characters, more than ${MOST_LINE}`;
}

export function readProcess(owner: MirrorOwner, written: string, name: string): MirroredProcess {
  return readSealed(owner, written, processSchema, name);
}

export function readAccount(owner: MirrorOwner, written: string, name: string): MirroredAccount {
  const account = readSealed(owner, written, accountSchema, name);
  if (accountFile(account.accountId) !== name) throw new MirrorError(`${name} is of another account`);
  return account;
}

/** @throws MirrorError */
function readSealed<T extends { readonly prefix: string; readonly ordinal: number }>(
  owner: MirrorOwner,
  written: string,
  schema: z.ZodType<T>,
  name: string,
): T {
  const [seal = '', line = ''] = written.split('\n', 2);
  requireSealed(owner, [seal, line], name, '');
  const read = schema.safeParse(parsedJson(line));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new MirrorError(`${name} cannot be read: ${issue?.path.join('.')} ${issue?.message}`);
  }
  const { prefix, ordinal } = read.data;
  if (prefix === owner.prefix && ordinal === owner.ordinal) return read.data;
  throw new MirrorError(`${name} is of another process (redis.prefix ${prefix}, --instance ${ordinal})`);
}

type SealedLine = readonly [seal: string, line: string];

/** `at`: place in the file, as the beginning of the words about the line. @throws MirrorError */
function requireSealed({ trust }: MirrorOwner, [seal, line]: SealedLine, name: string, at: string): void {
  if (line.length > MOST_LINE) throw new MirrorError(`${name} cannot be read: ${at}${tooLong(line)}`);
  const wanted = trust.recordSeal(line);
  if (wanted !== undefined && wanted !== seal)
    throw new MirrorError(`${name} lacks the seal of operators.key`);
}

export function writeSegment(owner: MirrorOwner, { records, files }: MirroredSegment): string {
  const attached = [...files].map(([hash, file]) => JSON.stringify({ file, hash }));
  const lines = [
    ...attached,
    ...records.map(({ number, text, hash }) => JSON.stringify({ number, text, hash })),
  ];
  return lines.map((line) => sealedLine(owner, line)).join('');
}

/** Reads up to the first incomplete line, which a process that died may have left. Rejects with a MirrorError. */
export async function readSegment(
  owner: MirrorOwner,
  written: string,
  name: string,
): Promise<MirroredSegment> {
  const records = new Map<number, RawRecord>();
  const files = new Map<string, string>();
  let sinceRest = 0;
  let number = 0;
  for (const [seal, line] of sealedLines(written)) {
    number += 2;
    requireSealed(owner, [seal, line], name, `line ${number}: `);
    const data = readJson(recordSchema, line);
    if (data === undefined) throw new MirrorError(`${name} cannot be read: line ${number}`);
    if ('file' in data) files.set(data.hash, data.file);
    else records.set(data.number, data);
    sinceRest += line.length;
    if (sinceRest < AT_A_STRETCH) continue;
    sinceRest = 0;
    await setImmediate();
  }
  return { records: [...records.values()], files };
}

/** Seal and contents of each complete pair of lines. */
function* sealedLines(written: string): Generator<SealedLine> {
  for (let from = 0; ; ) {
    const middle = written.indexOf('\n', from);
    const end = middle === -1 ? -1 : written.indexOf('\n', middle + 1);
    if (end === -1) return;
    yield [written.slice(from, middle), written.slice(middle + 1, end)];
    from = end + 1;
  }
}
