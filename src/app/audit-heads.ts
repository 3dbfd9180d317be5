import { appendFile, open } from 'node:fs/promises';
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

/** The newest lines of a file of heads that are read at the start. */
const MOST_READ = 1_000_000;

/**
 * Notes the ends of audit chains outside of Redis, in the log and in `audit.headsFile`: somebody who can write to Redis
 * cannot change them. Begins with what the file says: records that are gone since were removed.
 */
export class AuditHeads implements Telemetry {
  readonly #acted = new Set<string>();
  /** Sequence number last noted, by chain. */
  readonly #noted = new Map<string, number>();
  #place: HeadsPlace | undefined;

  emit(event: DaemonEvent): void {
    if (event.kind === 'step' && event.outcome === 'accepted') this.#acted.add(event.accountId);
  }

  /** Compares the chains with the file, then notes all of them. */
  async start(place: HeadsPlace): Promise<void> {
    this.#place = place;
    const { headsFile } = place.config().audit;
    if (headsFile !== undefined)
      for (const [accountId, noted] of await headsIn(headsFile)) await this.#compare(accountId, noted);
    await this.noteAll();
  }

  /** Notes the chains of accounts for which something was sent since the last call. */
  async noteActed(): Promise<void> {
    const acted = [...this.#acted];
    this.#acted.clear();
    for (const accountId of acted) await this.#note(accountId);
  }

  /** Notes every chain that has grown since it was last noted. */
  async noteAll(): Promise<void> {
    const accounts = this.#place?.config().accounts ?? [];
    for (const accountId of [...accounts.map(({ id }) => id), OPERATOR_CHAIN]) await this.#note(accountId);
  }

  async #compare(accountId: string, noted: ChainHead): Promise<void> {
    const head = await this.#place?.audit.head(accountId);
    const isThere =
      head !== undefined && (head.seq > noted.seq || (head.seq === noted.seq && head.hash === noted.hash));
    if (isThere) return;
    const found = head === undefined ? 'nothing is left of it' : `it ends with ${head.seq}`;
    const words = `the audit of ${accountId} ended with ${noted.seq} when that was last noted, and now ${found}: newest records were removed, or Redis has lost them`;
    this.#place?.telemetry.emit({ kind: 'auditCut', accountId, words });
  }

  async #note(accountId: string): Promise<void> {
    const { audit, telemetry, clock, config } = this.#place ?? {};
    const head = await audit?.head(accountId);
    if (head === undefined || config === undefined || clock === undefined) return;
    if (this.#noted.get(accountId) === head.seq) return;
    this.#noted.set(accountId, head.seq);
    const { headsFile } = config().audit;
    const told = { kind: 'auditHead', accountId, head } as const;
    const written = headsFile === undefined ? {} : await write(headsFile, accountId, head, clock.nowMs());
    telemetry?.emit({ ...told, ...written });
  }
}

/** Appends a line with the head as `audit verify --head` takes it. A head that is not written is still in the log. */
async function write(
  file: string,
  accountId: string,
  { seq, hash }: ChainHead,
  atMs: number,
): Promise<{ readonly unwritten?: unknown }> {
  const line = { time: new Date(atMs).toISOString(), account: accountId, head: `${seq}:${hash}` };
  try {
    await appendFile(file, `${JSON.stringify(line)}\n`, { mode: 0o600 });
    return {};
  } catch (error) {
    return { unwritten: error };
  }
}

/** The last head of each chain. Without the file, or in lines that are none, there is nothing to compare. */
async function headsIn(file: string): Promise<ReadonlyMap<string, ChainHead>> {
  const heads = new Map<string, ChainHead>();
  for (const line of (await endOf(file)).split('\n')) {
    const { account, head } = (parsedJson(line) ?? {}) as {
      readonly account?: unknown;
      readonly head?: unknown;
    };
    const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(String(head)) ?? [];
    if (typeof account === 'string' && hash !== undefined) heads.set(account, { seq: Number(seq), hash });
  }
  return heads;
}

async function endOf(file: string): Promise<string> {
  const opened = await open(file, 'r').catch(() => undefined);
  if (opened === undefined) return '';
  try {
    const { size } = await opened.stat();
    const length = Math.min(size, MOST_READ);
    const { buffer } = await opened.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('utf8');
  } finally {
    await opened.close();
  }
}
