import { type ScheduledTask, schedule } from 'node-cron';
import type { CompiledStress } from '../../config/stress.ts';
import {
  MOST_STRESSED_ACCOUNTS,
  type StoredStress,
  type StressedAccountCase,
  type StressedCase,
  type StressResult,
  type StressRun,
} from '../../core/view/stress-result.ts';
import type { StressCase } from '../../replay/stress/stress.ts';
import { totalsOf } from '../../replay/stress/stress-tables.ts';
import type { StressStore } from '../../state/stress/stress-store.ts';
import type { Base } from '../open-base.ts';
import { SCHEDULE_OPTIONS } from '../schedule-options.ts';
import type { HeldBook } from './held-book.ts';
import { runInThread } from './run-in-thread.ts';

export interface StressScheduleParts extends Pick<Base, 'instance' | 'clock' | 'telemetry'> {
  readonly store: StressStore;
  /** Holdings of the accounts, as last read. */
  readonly book: () => Promise<HeldBook>;
  readonly configFile: string;
}

/** By then a process that has just started has read every account. */
const CATCH_UP_MS = 60_000;

/** Runs stress tests on the config's schedule, one at a time. One of several processes runs each. */
export class StressSchedule {
  readonly #parts: StressScheduleParts;
  #current: { readonly settings: CompiledStress; readonly task: ScheduledTask } | undefined;
  #over = new AbortController();
  #running: Promise<void> | undefined;

  constructor(parts: StressScheduleParts) {
    this.#parts = parts;
  }

  /** Adopts the config; ends a run under way if its settings differ. */
  async adopt(settings: CompiledStress | undefined): Promise<void> {
    if (JSON.stringify(settings) === JSON.stringify(this.#current?.settings)) return;
    await this.stop();
    if (settings === undefined) return;
    const over = new AbortController();
    this.#over = over;
    const task = schedule(settings.at, ({ date }) => this.#start(`at:${date.toISOString()}`, settings), {
      name: 'stress',
      timezone: settings.timeZone,
      ...SCHEDULE_OPTIONS,
    });
    this.#current = { settings, task };
    void this.#catchUp(settings, over.signal);
  }

  get isScheduled(): boolean {
    return this.#current !== undefined;
  }

  /** The newest outcome, for these accounts; `undefined` without a schedule. Rejects if the store is lost. */
  async stored(accountIds: ReadonlySet<string>): Promise<StoredStress | undefined> {
    if (!this.isScheduled) return undefined;
    const stored = await this.#parts.store.read();
    if (stored?.result === undefined || stored.result === null) return stored;
    const accountCases = stored.result.accountCases.filter(({ accountId }) => accountIds.has(accountId));
    return { ...stored, result: { ...stored.result, accountCases } };
  }

  /** Ends a run under way and discards it. */
  async stop(): Promise<void> {
    this.#over.abort();
    const task = this.#current?.task;
    this.#current = undefined;
    await task?.destroy();
    await this.#running;
  }

  /** Runs a test that was missed while no process ran, and the very first test. */
  async #catchUp(settings: CompiledStress, signal: AbortSignal): Promise<void> {
    const { clock, store } = this.#parts;
    try {
      await clock.sleep(CATCH_UP_MS, signal);
      const stored = await store.read();
      if (stored !== undefined && stored.nextAtMs > clock.nowMs()) return;
      await this.#start(`missed:${stored?.nextAtMs ?? 'first'}`, settings);
    } catch (error) {
      if (!signal.aborted) this.#tellFailure(this.#parts.clock.nowMs(), error);
    }
  }

  #start(run: string, settings: CompiledStress): Promise<void> {
    const { signal } = this.#over;
    if (signal.aborted || this.#running !== undefined) return Promise.resolve();
    this.#running = this.#run(run, settings, signal).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(name: string, settings: CompiledStress, signal: AbortSignal): Promise<void> {
    const { store, instance, clock } = this.#parts;
    const atMs = clock.nowMs();
    try {
      if (!(await store.claim(name, instance))) return;
      const played = await this.#play(settings, atMs, signal);
      if (played === undefined) return await store.release(name);
      const stored = await store.read();
      const { run, result, error } = played;
      await store.write({
        version: 1,
        result: result ?? stored?.result ?? null,
        lastRun: run,
        nextAtMs: this.#nextAtMs(),
      });
      this.#tell(run, result, error);
    } catch (error) {
      this.#tellFailure(atMs, error);
    }
  }

  /** `undefined`: it was stopped. Rejects if the store is lost. */
  async #play(settings: CompiledStress, atMs: number, signal: AbortSignal) {
    const { clock, book: readBook, configFile } = this.#parts;
    const { scenarios, conditions, timeLimitMs } = settings;
    const startedMs = clock.monotonicMs();
    const ended = (outcome: StressRun['outcome'], words: string): StressRun => ({
      atMs,
      durationMs: Math.round(clock.monotonicMs() - startedMs),
      outcome,
      words,
    });
    const book = await readBook();
    if (book.accounts.length === 0) {
      // Unknown holdings are not empty holdings: the earlier result stays.
      if (book.unknown > 0) return { run: ended('failed', nothingKnown(book)) };
      const run = ended('complete', '');
      return { run, result: resultOfRun(run, book, []) };
    }
    try {
      const input = { configFile, accounts: book.accounts, scenarios, conditions };
      const { end, cases } = await runInThread(input, { timeLimitMs, signal });
      if (end === 'stopped') return undefined;
      const missing = scenarios.length * conditions.length - cases.length;
      if (cases.length === 0) return { run: ended('failed', 'nothing was finished within its time limit') };
      const late = `ended at its time limit, without ${missing} of ${missing + cases.length} cases`;
      const run = end === 'late' ? ended('partial', late) : ended('complete', '');
      return { run, result: resultOfRun(run, book, cases) };
    } catch (error) {
      return { run: ended('failed', error instanceof Error ? error.message : String(error)), error };
    }
  }

  #nextAtMs(): number {
    const next = this.#current?.task.getNextRun();
    return next === null || next === undefined ? this.#parts.clock.nowMs() : next.getTime();
  }

  #tell(run: StressRun, result: StressResult | undefined, error: unknown): void {
    const { outcome, durationMs, words } = run;
    this.#parts.telemetry.emit({
      kind: 'stressed',
      outcome,
      durationMs,
      accounts: result?.accounts ?? 0,
      liquidated: Math.max(0, ...(result?.cases ?? []).map(({ liquidatedWith }) => liquidatedWith)),
      words,
      ...(error === undefined ? {} : { error }),
    });
  }

  #tellFailure(atMs: number, error: unknown): void {
    const words = error instanceof Error ? error.message : String(error);
    const durationMs = this.#parts.clock.nowMs() - atMs;
    this.#tell({ atMs, durationMs, outcome: 'failed', words }, undefined, error);
  }
}

function nothingKnown({ leftOut: [first = ''], unknown }: HeldBook): string {
  const others = unknown === 1 ? '' : `, and ${unknown - 1} more like it`;
  return `no account is known to hold a position (${first.replace(/\.$/, '')}${others})`;
}

/** Kept sentences about what was left out; further ones are only counted. */
const MOST_SENTENCES = 10;

/** The kept part of a run: totals of every case, and the accounts that lose most. */
function resultOfRun(run: StressRun, { accounts, leftOut }: HeldBook, cases: readonly StressCase[]) {
  return {
    ...run,
    accounts: accounts.length,
    leftOut: leftOut.slice(0, MOST_SENTENCES),
    leftOutCount: leftOut.length,
    cases: cases.map(caseOf),
    accountCases: accountCasesOf(cases),
  } satisfies StressResult;
}

function caseOf(played: StressCase): StressedCase {
  const { id, title, about } = played.scenario;
  const { accounts: _accounts, ...totals } = totalsOf(played);
  return { scenario: id, title, about, conditions: played.conditions, ...totals };
}

function accountCasesOf(cases: readonly StressCase[]): readonly StressedAccountCase[] {
  const all = cases.flatMap(({ scenario, conditions, accounts }) =>
    accounts.map(({ id, equityStart, without, withRules }): StressedAccountCase => {
      const kept = (equityEnd: number): number => (equityStart === 0 ? 0 : equityEnd / equityStart);
      return {
        accountId: id,
        scenario: scenario.id,
        conditions,
        liquidatedWithout: without.liquidated,
        liquidatedWith: withRules.liquidated,
        keptWithout: kept(without.equityEnd),
        keptWith: kept(withRules.equityEnd),
      };
    }),
  );
  const worst = Map.groupBy(all, ({ accountId }) => accountId);
  return [...worst.values()]
    .toSorted((a, b) => leastKept(a) - leastKept(b))
    .slice(0, MOST_STRESSED_ACCOUNTS)
    .flat();
}

function leastKept(cases: readonly StressedAccountCase[]): number {
  return Math.min(...cases.map(({ keptWith }) => keptWith));
}
