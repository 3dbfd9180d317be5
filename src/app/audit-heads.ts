import { appendFile, open, stat } from 'node:fs/promises';
import type { CompiledConfig } from '../config/compiled-config.ts';
import { type ChainHead, OPERATOR_CHAIN } from '../core/audit/audit-record.ts';
import type { AuditReader } from '../core/ports/audit-reader.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { DaemonEvent, Telemetry } from '../core/ports/telemetry.ts';
import { parsedJson } from '../core/text/parsed-json.ts';

export interface HeadsPlace {
  readonly audit: Pick<AuditReader, 'head'>;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly config: () => Pick<CompiledConfig, 'accounts' | 'audit'>;
}

/** The end of a file of heads that is read at the start. Every hour all heads are appended. */
const MOST_READ = 16_000_000;
/** Named in one notice. */
const MOST_NAMED = 5;

/**
 * Notes the ends of audit chains outside of Redis, in the log and in `audit.headsFile`: somebody who can write to Redis
 * cannot change them. A chain that is shorter than it was noted has lost records, or somebody removed them.
 */
export class AuditHeads implements Telemetry {
  readonly #acted = new Set<string>();
  /** As last noted, by chain. */
  readonly #noted = new Map<string, ChainHead>();
  #place: HeadsPlace | undefined;

  emit(event: DaemonEvent): void {
    if (event.kind === 'step' && event.outcome === 'accepted') this.#acted.add(event.accountId);
  }

  /**
   * Compares the chains with the file, and notes all of them; once. Rejects while Redis does not answer: nothing is
   * noted before. `isWatcher`: otherwise another process of this installation does that.
   */
  async start(place: HeadsPlace, isWatcher: boolean): Promise<void> {
    if (this.#place !== undefined) return;
    if (isWatcher) {
      for (const [id, head] of await headsIn(place.config().audit.headsFile)) this.#noted.set(id, head);
      await this.#note(place, true);
    }
    this.#place = place;
  }

  /** Notes the chains of accounts for which something was sent since the last call. */
  async noteActed(): Promise<void> {
    if (this.#place === undefined || this.#acted.size === 0) return;
    const acted = new Set(this.#acted);
    this.#acted.clear();
    await this.#note(this.#place, false, acted);
  }

  /** Notes all chains; or else those that have changed. */
  async noteAll(unchangedToo: boolean): Promise<void> {
    if (this.#place !== undefined) await this.#note(this.#place, unchangedToo);
  }

  async #note(place: HeadsPlace, unchangedToo: boolean, only?: ReadonlySet<string>): Promise<void> {
    const ids = [...place.config().accounts.map(({ id }) => id), OPERATOR_CHAIN];
    const cut: string[] = [];
    try {
      for (const accountId of ids) {
        if (only?.has(accountId) === false) continue;
        const head = await place.audit.head(accountId);
        const before = this.#noted.get(accountId);
        if (before !== undefined && isCut(before, head)) cut.push(cutWords(accountId, before, head));
        if (head === undefined) this.#noted.delete(accountId);
        else if (unchangedToo || head.hash !== before?.hash) await this.#tell(place, accountId, head);
      }
    } finally {
      // Also if Redis is lost on the way: what is noted from here on no longer shows it.
      if (cut.length > 0) place.telemetry.emit({ kind: 'auditCut', words: allWords(cut) });
    }
  }

  async #tell({ telemetry, clock, config }: HeadsPlace, accountId: string, head: ChainHead): Promise<void> {
    this.#noted.set(accountId, head);
    const { headsFile } = config().audit;
    const told = { kind: 'auditHead', accountId, head } as const;
    const written = headsFile === undefined ? {} : await write(headsFile, accountId, head, clock.nowMs());
    telemetry.emit({ ...told, ...written });
  }
}

function isCut(noted: ChainHead, head: ChainHead | undefined): boolean {
  return head === undefined || head.seq < noted.seq || (head.seq === noted.seq && head.hash !== noted.hash);
}

function cutWords(accountId: string, noted: ChainHead, head: ChainHead | undefined): string {
  return `${accountId} (noted up to ${noted.seq}, now ${head === undefined ? 'nothing' : `up to ${head.seq}`})`;
}

function allWords(cut: readonly string[]): string {
  const more = cut.length > MOST_NAMED ? ` and ${cut.length - MOST_NAMED} more` : '';
  const named = cut.slice(0, MOST_NAMED).join(', ');
  return `audit trails are not what was noted: ${named}${more}. Newest records were removed, or Redis has lost them`;
}

/** Appends a line with the head as `audit verify --head` takes it. A head that is not written is still in the log. */
async function write(file: string, accountId: string, { seq, hash }: ChainHead, atMs: number) {
  const line = { time: new Date(atMs).toISOString(), account: accountId, head: `${seq}:${hash}` };
  try {
    await sizeOf(file);
    await appendFile(file, `${JSON.stringify(line)}\n`, { mode: 0o600 });
    return {};
  } catch (error) {
    return { unwritten: error };
  }
}

/** Bytes; 0 without the file. Rejects for what is no regular file: a pipe would hold up everything. */
async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found !== undefined && !found.isFile()) throw new TypeError(`${file} is no regular file`);
  return found?.size ?? 0;
}

/** The last head of each chain. A file that cannot be read gives none; writing to it fails later, and that is logged. */
async function headsIn(file: string | undefined): Promise<ReadonlyMap<string, ChainHead>> {
  const heads = new Map<string, ChainHead>();
  const text = file === undefined ? '' : await endOf(file).catch(() => '');
  for (const line of text.split('\n')) {
    const { account, head } = (parsedJson(line) ?? {}) as Readonly<Record<'account' | 'head', unknown>>;
    const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(String(head)) ?? [];
    if (typeof account === 'string' && hash !== undefined) heads.set(account, { seq: Number(seq), hash });
  }
  return heads;
}

async function endOf(file: string): Promise<string> {
  const size = await sizeOf(file);
  if (size === 0) return '';
  const opened = await open(file, 'r');
  try {
    const length = Math.min(size, MOST_READ);
    const { buffer, bytesRead } = await opened.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await opened.close();
  }
}
