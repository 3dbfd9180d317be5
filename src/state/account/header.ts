/**
 * What the store knows of an account besides its documents, as one short text: the compare-and-set of a commit
 * compares it whole, so scripts need not understand more of it than who wrote it.
 */
export interface Header {
  /** The store that committed last; `WRITER_LENGTH` characters. */
  readonly writer: string;
  readonly version: number;
  readonly epoch: string;
  readonly danger: number;
  /** The audit chain: last record, its hash, first record that is still there. */
  readonly seq: number;
  readonly head: string;
  readonly firstSeq: number;
  /** Rises whenever attachments are removed. */
  readonly sweep: number;
  /** Evaluations since the last record that only repeated their decisions. */
  readonly quiet: number;
  readonly quietSinceMs: number;
  readonly historyMs: number;
}

export const WRITER_LENGTH = 12;
const FORM = '1';
const PARTS = 12;

export function writeHeader(header: Header): string {
  const { writer, version, epoch, danger, seq, head, firstSeq, sweep, quiet, quietSinceMs, historyMs } =
    header;
  const chain = `${seq}|${head}|${firstSeq}|${sweep}|${quiet}|${quietSinceMs}`;
  return `${FORM}|${writer}|${version}|${epoch}|${danger}|${chain}|${historyMs}`;
}

/** A header of another form, or none at all, comes back as its form. */
export function readHeader(text: string): Header | { readonly form: string } {
  const parts = text.split('|');
  const [form = '', writer = '', version, epoch = '', danger, seq, head = '', ...rest] = parts;
  const numbers = [version, danger, seq, ...rest].map(Number);
  if (form !== FORM || parts.length !== PARTS || numbers.some((value) => !Number.isFinite(value))) {
    return { form };
  }
  const [versionNumber, dangerNumber, seqNumber, firstSeq, sweep, quiet, quietSinceMs, historyMs] =
    numbers as [number, number, number, number, number, number, number, number];
  return {
    writer,
    version: versionNumber,
    epoch,
    danger: dangerNumber,
    seq: seqNumber,
    head,
    firstSeq,
    sweep,
    quiet,
    quietSinceMs,
    historyMs,
  };
}
