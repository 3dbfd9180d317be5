/**
 * What the store knows of an account besides its documents, as one short text: the compare-and-set of a commit
 * compares it whole, so scripts need not understand more of it than who wrote it. It changes with every commit but
 * those of lanes alone.
 */
export interface Header {
  /** The store that committed last; `WRITER_LENGTH` characters. */
  readonly writer: string;
  readonly version: number;
  readonly epoch: string;
  readonly danger: number;
  /** The account's own audit chain: last record and its hash. */
  readonly seq: number;
  readonly head: string;
  /** Number of the first audit record that is still there. */
  readonly firstNumber: number;
  /** Rises whenever attachments are removed. */
  readonly sweep: number;
  /** Evaluations since the last record that only repeated their decisions. */
  readonly quiet: number;
  readonly quietSinceMs: number;
  readonly historyMs: number;
  /** Written by a program that knew one version and one chain per account. */
  readonly isOld: boolean;
}

export const WRITER_LENGTH = 12;
const FORM = '2';
/** The same parts; numbers of records and places in the chain were one. */
const OLD_FORM = '1';
const PARTS = 12;

export function writeHeader(header: Omit<Header, 'isOld'>): string {
  const { writer, version, epoch, danger, seq, head, firstNumber, sweep, quiet, quietSinceMs, historyMs } =
    header;
  const chain = `${seq}|${head}|${firstNumber}|${sweep}|${quiet}|${quietSinceMs}`;
  return `${FORM}|${writer}|${version}|${epoch}|${danger}|${chain}|${historyMs}`;
}

/** A header of another form, or none at all, comes back as its form. */
export function readHeader(text: string): Header | { readonly form: string } {
  const parts = text.split('|');
  const [form = '', writer = '', version, epoch = '', danger, seq, head = '', ...rest] = parts;
  const numbers = [version, danger, seq, ...rest].map(Number);
  const isKnown = form === FORM || form === OLD_FORM;
  if (!isKnown || parts.length !== PARTS || numbers.some((value) => !Number.isFinite(value))) {
    return { form };
  }
  const [versionNumber, dangerNumber, seqNumber, firstNumber, sweep, quiet, quietSinceMs, historyMs] =
    numbers as [number, number, number, number, number, number, number, number];
  return {
    writer,
    version: versionNumber,
    epoch,
    danger: dangerNumber,
    seq: seqNumber,
    head,
    firstNumber,
    sweep,
    quiet,
    quietSinceMs,
    historyMs,
    isOld: form === OLD_FORM,
  };
}

/** The same for one lane: its version, and the end of its audit chain. */
export interface LaneHeader {
  readonly version: number;
  readonly seq: number;
  readonly head: string;
}

const LANE_FORM = '1';

export function writeLaneHeader({ version, seq, head }: LaneHeader): string {
  return `${LANE_FORM}|${version}|${seq}|${head}`;
}

/** Undefined: of a form that this program does not know. */
export function readLaneHeader(text: string): LaneHeader | undefined {
  const [form, versionText, seqText, head = '', ...more] = text.split('|');
  const [version, seq] = [Number(versionText), Number(seqText)];
  const isKnown = form === LANE_FORM && more.length === 0 && Number.isSafeInteger(version + seq);
  return isKnown ? { version, seq, head } : undefined;
}

/**
 * What all commits but the quietest of polls leave behind, whatever they changed: who committed, how many did so far,
 * and the number of the last audit record. Scripts count it up, so nothing is refused because of it; it tells whether
 * what is remembered of an account is all there is.
 */
export interface AuditTally {
  readonly writer: string;
  readonly count: number;
  readonly lastNumber: number;
}

export function readTally(text: string): AuditTally {
  const [writer = '', count = 0, lastNumber = 0] = text.split('|');
  return { writer, count: Number(count), lastNumber: Number(lastNumber) };
}

/** Whether one and the same store has left both behind. */
export function areWrittenBy(writer: string, headerText: string, tallyText: string): boolean {
  const [, by] = headerText.split('|', 2);
  return by === writer && tallyText.startsWith(`${writer}|`);
}

export function writeTally({ writer, count, lastNumber }: AuditTally): string {
  return `${writer}|${count}|${lastNumber}`;
}
