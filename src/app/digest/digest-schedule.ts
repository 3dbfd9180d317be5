import { type ScheduledTask, schedule } from 'node-cron';
import type { CompiledDigest } from '../../config/digest.ts';
import type { Digest, Period } from '../../core/digest/digest.ts';
import type { Notifier } from '../../core/ports/notifier.ts';
import { unlessAborted } from '../../core/ports/within.ts';
import { MS_PER_DAY } from '../../core/quantities/units.ts';
import type { DigestClaims } from '../../state/digest/digest-claims.ts';
import type { Base } from '../open-base.ts';
import { SCHEDULE_OPTIONS } from '../schedule-options.ts';
import { type DueDigest, dueBy } from './digest-due.ts';
import { digestNotice } from './digest-notice.ts';

export interface DigestScheduleParts extends Pick<Base, 'instance' | 'clock' | 'telemetry'> {
  readonly claims: DigestClaims;
  readonly gather: (period: Period, signal: AbortSignal) => Promise<Digest>;
  readonly notifier: Notifier;
}

/** A digest later than this is skipped: the next one says more. */
const LATEST_MS = 3_600_000;
/** By then a process that has just started has read every account. */
const CATCH_UP_MS = 20_000;
/** Pause while another process sends it, or while the store is lost. */
const RETRY_MS = 60_000;
/** Bound on one attempt; its claim has expired by then. */
const LONGEST_MS = 5 * 60_000;

/** Sends a digest every day. One of several processes sends it; another takes over if that one dies. */
export class DigestSchedule {
  readonly #parts: DigestScheduleParts;
  #current: { readonly settings: CompiledDigest; readonly task: ScheduledTask } | undefined;
  #over = new AbortController();
  #sending: Promise<void> | undefined;

  constructor(parts: DigestScheduleParts) {
    this.#parts = parts;
  }

  /** Adopts the config. A digest that was due within the last hour and was not sent is sent now. */
  async adopt(settings: CompiledDigest | undefined): Promise<void> {
    if (JSON.stringify(settings) === JSON.stringify(this.#current?.settings)) return;
    await this.stop();
    if (settings === undefined) return;
    this.#over = new AbortController();
    let begun = '';
    const send = (atMs: number, afterMs: number): void => {
      const due = dueBy(atMs, settings);
      if (due.name === begun || this.#sending !== undefined) return;
      begun = due.name;
      this.#start(due, settings, afterMs);
    };
    // A pattern of hours skips the day on which its hour is skipped.
    const everyMinute = '* * * * *';
    const task = schedule(everyMinute, ({ date }) => send(date.getTime(), 0), {
      name: 'digest',
      ...SCHEDULE_OPTIONS,
    });
    this.#current = { settings, task };
    send(this.#parts.clock.nowMs(), CATCH_UP_MS);
  }

  /** Ends a sending under way; another process may take it over. */
  async stop(): Promise<void> {
    this.#over.abort(new Error('the schedule of the digest has ended'));
    const task = this.#current?.task;
    this.#current = undefined;
    await task?.destroy();
    await this.#sending;
  }

  #start(due: DueDigest, settings: CompiledDigest, afterMs: number): void {
    const { signal } = this.#over;
    this.#sending = this.#send(due, afterMs, settings, signal).finally(() => {
      this.#sending = undefined;
    });
  }

  /** Retries until some process has sent it, or it is too late. Does not reject. */
  async #send(due: DueDigest, afterMs: number, settings: CompiledDigest, signal: AbortSignal): Promise<void> {
    const { clock, telemetry } = this.#parts;
    if (clock.nowMs() - due.atMs >= LATEST_MS) return;
    let words = 'it was left to another process, which has not sent it';
    for (let waitMs = afterMs; clock.nowMs() - due.atMs < LATEST_MS; waitMs = RETRY_MS) {
      if (waitMs > 0) await clock.sleep(waitMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      try {
        if (await this.#bounded(due, settings, signal)) return;
      } catch (error) {
        if (signal.aborted) return;
        words = error instanceof Error ? error.message : String(error);
        telemetry.emit({ kind: 'digested', outcome: 'retried', name: due.name, words });
      }
    }
    telemetry.emit({ kind: 'digested', outcome: 'failed', name: due.name, words });
  }

  /** Makes one bounded attempt, as a lost store may never answer. */
  async #bounded(due: DueDigest, settings: CompiledDigest, signal: AbortSignal): Promise<boolean> {
    const late = AbortSignal.timeout(LONGEST_MS);
    const bound = AbortSignal.any([signal, late]);
    return await unlessAborted(bound, this.#attempt(due, settings, bound), () => {
      throw late.aborted ? new Error('it took longer than five minutes') : signal.reason;
    });
  }

  /** Resolves to true if nothing is left to do. */
  async #attempt(due: DueDigest, settings: CompiledDigest, signal: AbortSignal): Promise<boolean> {
    const { claims, gather, notifier, instance, telemetry } = this.#parts;
    const { name, atMs } = due;
    const claimed = await claims.claim(name, instance);
    if (claimed !== 'mine') return claimed === 'sent';
    try {
      const digest = await gather({ fromMs: atMs - MS_PER_DAY, toMs: atMs }, signal);
      const notice = digestNotice(digest, due, settings);
      await notifier.hand([notice]);
      telemetry.emit({ kind: 'digested', outcome: 'handed', name, words: notice.words });
    } catch (error) {
      await claims.release(name).catch(() => undefined);
      throw error;
    }
    await claims.finish(name).catch(() => undefined);
    return true;
  }
}
