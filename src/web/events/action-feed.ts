import type { AuditReader } from '../../core/ports/audit-reader.ts';
import { type ActionLine, ActionLog } from '../../core/view/action-log.ts';
import type { SourcedView } from '../sources.ts';

/** Lines kept over all accounts; older ones are only in the audit trail. */
const KEPT = 1000;
/** Records of an account that are read at first. */
const FIRST_RECORDS = 200;
const PAGE = 200;
const AT_ONCE = 8;

interface Followed {
  readonly log: ActionLog;
  /** Id of the store epoch. A new epoch may have lost records, and restarts their numbers. */
  readonly epoch: string | undefined;
  readonly acted: number;
  /** Number of the last record read. */
  readonly last: number;
}

/** A line with the rising number under which it was learnt; a reader has not seen lines after its own cursor. */
interface Learnt {
  readonly line: ActionLine;
  readonly cursor: number;
}

/**
 * The requests sent to the exchange for all accounts. They are read from the audit trails, so that every process shows
 * the same. Only accounts that have acted since the last refresh are read.
 */
export class ActionFeed {
  readonly #audit: Pick<AuditReader, 'read' | 'tail'>;
  readonly #followed = new Map<string, Followed>();
  readonly #lines = new Map<string, Learnt>();
  #cursor = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(audit: Pick<AuditReader, 'read' | 'tail'>) {
    this.#audit = audit;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Follows these accounts up to now; one refresh at a time. */
  refresh(views: readonly SourcedView[]): Promise<void> {
    const due = (): readonly SourcedView[] =>
      views.filter(({ view, acted }) => acted > (this.#followed.get(view.accountId)?.acted ?? 0));
    if (due().length === 0) return this.#running.catch(() => undefined);
    const next = this.#running.catch(() => undefined).then(() => this.#readAll([...due()]));
    this.#running = next;
    return next;
  }

  /** Returns the newest lines first, by the time of the request. */
  newest(limit: number): readonly ActionLine[] {
    const lines = [...this.#lines.values()].map(({ line }) => line);
    return lines.sort((a, b) => b.atMs - a.atMs || (a.id < b.id ? 1 : -1)).slice(0, limit);
  }

  /** Returns the lines learnt after a cursor, oldest first. */
  after(cursor: number): readonly ActionLine[] {
    if (cursor >= this.#cursor) return [];
    return [...this.#lines.values()].filter((learnt) => learnt.cursor > cursor).map(({ line }) => line);
  }

  async #readAll(due: SourcedView[]): Promise<void> {
    const found: ActionLine[][] = [];
    const worker = async (): Promise<void> => {
      for (let next = due.pop(); next !== undefined; next = due.pop()) found.push(await this.#follow(next));
    };
    const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker));
    // Followed accounts are not read again, so learn their lines even if another account failed.
    for (const line of found.flat().sort((a, b) => endOf(a) - endOf(b))) this.#learn(line);
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
  }

  async #follow({ view: { accountId, epoch }, acted }: SourcedView): Promise<ActionLine[]> {
    const before = this.#before(accountId, epoch?.id);
    const log = before?.log ?? new ActionLog(accountId);
    const lines: ActionLine[] = [];
    let last = before?.last ?? 0;
    for (;;) {
      const records =
        before === undefined && last === 0
          ? await this.#audit.tail(accountId, FIRST_RECORDS)
          : await this.#audit.read(accountId, { from: last + 1, limit: PAGE });
      lines.push(...log.add(records));
      last = records.at(-1)?.number ?? last;
      if (records.length < PAGE) break;
    }
    this.#followed.set(accountId, { log, epoch: epoch?.id, acted, last });
    return lines;
  }

  #before(accountId: string, epoch: string | undefined): Followed | undefined {
    const before = this.#followed.get(accountId);
    if (before === undefined || before.epoch === epoch) return before;
    this.#followed.delete(accountId);
    for (const [id, { line }] of this.#lines) if (line.accountId === accountId) this.#lines.delete(id);
    return undefined;
  }

  #learn(line: ActionLine): void {
    this.#cursor += 1;
    // A changed line moves to the end, because the first ones are dropped.
    this.#lines.delete(line.id);
    this.#lines.set(line.id, { line, cursor: this.#cursor });
    const [oldest] = this.#lines.keys();
    if (this.#lines.size > KEPT && oldest !== undefined) this.#lines.delete(oldest);
  }
}

function endOf({ atMs, tookMs }: ActionLine): number {
  return atMs + (tookMs ?? 0);
}
