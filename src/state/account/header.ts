import { GENESIS_HASH } from '../../core/audit/audit-record.ts';
import type { EpochStart, StoreEpoch } from '../../core/ports/state-store.ts';

/**
 * What the store knows besides documents, as one text that commits compare and replace whole. Lanes have headers of
 * their own.
 */
export interface Header {
  /** The store that committed last: `WRITER_LENGTH` characters. */
  readonly writer: string;
  readonly version: number;
  readonly epoch: string;
  readonly danger: number;
  /** The account's own audit chain: last record and its hash. */
  readonly seq: number;
  readonly head: string;
  /** Number of the first audit record that still exists. */
  readonly firstNumber: number;
  /** Incremented whenever attachments are removed. */
  readonly sweep: number;
  /** Evaluations since the last record that only repeated earlier decisions. */
  readonly quiet: number;
  readonly quietSinceMs: number;
  readonly historyMs: number;
  /** Written by a version that had one version number and one chain per account. */
  readonly isOld: boolean;
}

const NO_COUNTS = { version: 0, danger: 0, seq: 0, sweep: 0, quiet: 0, quietSinceMs: 0, historyMs: 0 };
/** Header of an account that was never committed. */
export const NO_HEADER: Header = {
  ...NO_COUNTS,
  writer: '',
  epoch: '',
  head: GENESIS_HASH,
  firstNumber: 1,
  isOld: false,
};

export const WRITER_LENGTH = 12;
const FORM = '2';
/** The same parts as `FORM`, but numbers of records were also places in the chain. */
const OLD_FORM = '1';
const PARTS = 12;
type Numbers = [number, number, number, number, number, number, number, number];

export function writeHeader(header: Omit<Header, 'isOld'>): string {
  const { writer, version, epoch, danger, seq, head, firstNumber, sweep, quiet, quietSinceMs, historyMs } =
    header;
  const chain = `${seq}|${head}|${firstNumber}|${sweep}|${quiet}|${quietSinceMs}`;
  return `${FORM}|${writer}|${version}|${epoch}|${danger}|${chain}|${historyMs}`;
}

const MOST_FORM = 20;

/** Parses a header; returns only the form of one that this program does not read. */
export function readHeader(text: string): Header | { readonly form: string } {
  const parts = text.split('|');
  // Others may have written a text of any length.
  const [form = '', writer = '', versionText, epoch = '', dangerText, seqText, head = '', ...rest] = parts;
  const numbers = [versionText, dangerText, seqText, ...rest].map(Number);
  const isKnown = form === FORM || form === OLD_FORM;
  const unknown = { form: form.slice(0, MOST_FORM) };
  if (!isKnown || parts.length !== PARTS || !numbers.every(Number.isFinite)) return unknown;
  const [version, danger, seq, firstNumber, sweep, quiet, quietSinceMs, historyMs] = numbers as Numbers;
  // These name records and places in a chain.
  if (![version, seq, firstNumber, sweep].every(Number.isSafeInteger)) return unknown;
  const isOld = form === OLD_FORM;
  const chain = { seq, head, firstNumber, sweep, quiet, quietSinceMs };
  return { writer, version, epoch, danger, ...chain, historyMs, isOld };
}

/** Whether nothing was decided in between: polls that record nothing change only the version. */
export function isSameChain(stored: string, before: string): boolean {
  if (stored === before) return true;
  const [there, known] = [readHeader(stored), readHeader(before)];
  if (!('writer' in there) || !('writer' in known)) return false;
  return there.seq === known.seq && there.head === known.head && there.epoch === known.epoch;
}

/** Header of one lane: its version, and the end of its audit chain. */
export interface LaneHeader {
  readonly version: number;
  readonly seq: number;
  readonly head: string;
}

const LANE_FORM = '1';
const NO_LANE: LaneHeader = { version: 0, seq: 0, head: GENESIS_HASH };

export function writeLaneHeader({ version, seq, head }: LaneHeader): string {
  return `${LANE_FORM}|${version}|${seq}|${head}`;
}

/** An absent text, or one of another form, reads as a lane without records. */
export function readLaneHeader(text = ''): LaneHeader {
  const [form, versionText, seqText, head = '', ...more] = text.split('|');
  const [version, seq] = [Number(versionText), Number(seqText)];
  const isKnown = form === LANE_FORM && more.length === 0 && Number.isSafeInteger(version + seq);
  return isKnown ? { version, seq, head } : NO_LANE;
}

/**
 * Last writer, number of commits, and number of the last audit record: shows whether the remembered state is
 * complete.
 */
export interface AuditTally {
  readonly writer: string;
  readonly count: number;
  readonly lastNumber: number;
}

/** An empty or malformed text has counted nothing. */
export function readTally(text: string): AuditTally {
  const [writer = '', countText = 0, numberText = 0] = text.split('|');
  const [count, lastNumber] = [Number(countText), Number(numberText)];
  const isCount = [count, lastNumber].every((each) => Number.isSafeInteger(each) && each >= 0);
  return isCount ? { writer, count, lastNumber } : { writer: '', count: 0, lastNumber: 0 };
}

export function writeTally({ writer, count, lastNumber }: AuditTally): string {
  return `${writer}|${count}|${lastNumber}`;
}

/** A store epoch as it is stored, with the identity of the server on which it began. */
export interface StoredEpoch {
  readonly epoch: StoreEpoch;
  readonly run: string;
  readonly text: string;
}

const STARTS: readonly string[] = ['empty', 'serverChanged', 'rolledBack'] satisfies EpochStart[];

export function writeEpoch({ id, why, sinceMs }: StoreEpoch, run: string): string {
  return `${id}|${why}|${sinceMs}|${run}`;
}

/** `undefined`: absent, or not written by this program. */
export function readEpoch(text: string | null): StoredEpoch | undefined {
  const [id = '', why = '', since = '', run = '', ...rest] = text?.split('|') ?? [];
  if (text === null || !/^[a-z0-9]+$/.test(id) || !STARTS.includes(why) || rest.length > 0) return undefined;
  return { epoch: { id, why: why as EpochStart, sinceMs: Number(since) }, run, text };
}
