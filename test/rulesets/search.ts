import type { ConfigText } from '../../src/replay/run/plan.ts';
import { createRandom } from '../../src/simulator/scenarios/random.ts';
import type { BareOutcome, Candidate, CaseOutcome, TuneCase } from './tune-case.ts';
import { type ComparedCase, figuresOf, frontOf, isBeatenBy, type TuneFigures } from './tune-figures.ts';

export interface TunePlan {
  readonly cases: readonly TuneCase[];
  /** The anchors, and others that every table must have, come first. */
  readonly candidates: readonly Candidate[];
  /** A config with exactly the accounts of the cases, which act. */
  readonly base: ConfigText;
  readonly seed: number;
}

/** Plays one case, without rules or under a candidate. Up to `lanes` cases at once are worthwhile. */
export interface CasePlayer {
  readonly lanes: number;
  bare(index: number): Promise<BareOutcome>;
  /** `durationMs`: how much of the case to play; absent: all. */
  play(index: number, candidate: Candidate, durationMs?: number): Promise<CaseOutcome>;
}

export interface TuneHooks {
  readonly signal: AbortSignal;
  /** Done share of this round's known work, 0 to 1, and what is being done. */
  readonly onProgress?: (share: number, what: string) => void;
  /** Milliseconds of real time, from any origin. */
  readonly nowMs: () => number;
  readonly budgetMs: number;
}

export type TuneRecord = ReturnType<Search['record']>;
export type TuneRow = TuneRecord['rows'][number];

/** Cases of the first round; each later round has `GROWTH` times as many. */
const FIRST_ROUND = 24;
const GROWTH = 3;
/** Share of the candidates that a round keeps, and the least number. */
const KEPT_SHARE = 1 / 3;
const LEAST_KEPT = 12;

/**
 * Searches for the front in rounds: all candidates over a few cases of every kind, then the better third over three
 * times as many, until the rest was played over all cases. Anchors stay to the end.
 */
export async function searchFront(plan: TunePlan, player: CasePlayer, hooks: TuneHooks) {
  const startedMs = hooks.nowMs();
  const search = new Search(plan, player, hooks, startedMs);
  const order = await search.start();
  let alive = plan.candidates;
  let finished: readonly Candidate[] = [];
  let used = 0;
  for (let size = Math.min(FIRST_ROUND, order.length); order.length > 0; size *= GROWTH) {
    const cases = order.slice(0, size);
    if (!(await search.round(alive, cases))) break;
    finished = alive;
    used = cases.length;
    if (used === order.length) break;
    alive = better(alive, (one) => search.figuresOver(one, cases));
  }
  return search.record(finished, order.slice(0, used));
}

/** Keeps the anchors and, of the rest, one layer of the front after another until a third is reached. */
function better(alive: readonly Candidate[], of: (one: Candidate) => TuneFigures): readonly Candidate[] {
  const most = Math.max(LEAST_KEPT, Math.ceil(alive.length * KEPT_SHARE));
  let rest = alive
    .filter(({ isAnchor }) => isAnchor !== true)
    .map((candidate) => ({ candidate, figures: of(candidate) }));
  const kept: Candidate[] = [];
  while (kept.length < most && rest.length > 0) {
    const all = rest;
    const layer = all.filter((one) => !all.some((other) => isBeatenBy(one.figures, other.figures)));
    kept.push(...layer.slice(0, most - kept.length).map(({ candidate }) => candidate));
    rest = all.filter((one) => !layer.includes(one));
  }
  const names = new Set(kept.map(({ name }) => name));
  return alive.filter(({ name, isAnchor }) => isAnchor === true || names.has(name));
}

/** A candidate may have seen a price that came this near to the point at which it acts. */
const WAY_MARGIN = 0.03;
const DISTANCE_MARGIN = 0.002;
const AT_ONCE_MS = 300_000;
/** A stop keeps this clear of liquidation: a share of the price, or of the way if that is less. */
const LEAST_CLEARANCE = 0.012;
const MOST_CLEARANCE = 0.4;

class Search {
  readonly #plan: TunePlan;
  readonly #player: CasePlayer;
  readonly #hooks: TuneHooks;
  readonly #startedMs: number;
  readonly #bare = new Map<number, BareOutcome>();
  /** By candidate name. */
  readonly #outcomes = new Map<string, Map<number, CaseOutcome>>();
  readonly #refused = new Map<string, string>();
  #played = 0;
  #inferred = 0;

  constructor(plan: TunePlan, player: CasePlayer, hooks: TuneHooks, startedMs: number) {
    this.#plan = plan;
    this.#player = player;
    this.#hooks = hooks;
    this.#startedMs = startedMs;
  }

  get #isOver(): boolean {
    return this.#hooks.signal.aborted || this.#spentMs() >= this.#hooks.budgetMs;
  }

  #spentMs(): number {
    return this.#hooks.nowMs() - this.#startedMs;
  }

  /** Plays all cases without rules. @returns the order in which rounds take them; empty: stopped early */
  async start(): Promise<readonly number[]> {
    const all = this.#plan.cases.map((_, index) => index);
    const isDone = await this.#each(all, 'without rules', async (index) => {
      this.#bare.set(index, await this.#player.bare(index));
    });
    return isDone ? this.#interleaved(all) : [];
  }

  /** Shuffled and interleaved by book, kind and fate, so that any prefix has some of each. */
  #interleaved(all: readonly number[]): readonly number[] {
    const random = createRandom(this.#plan.seed);
    const keyed = all.map((index) => ({ index, at: random.uniform() })).toSorted((a, b) => a.at - b.at);
    const groups = Map.groupBy(keyed, ({ index }) => {
      const { book, kind } = this.#plan.cases[index]!;
      return `${this.#bare.get(index)?.liquidated === true ? 'doomed' : 'survivor'} ${kind} ${book}`;
    });
    const ranked = [...groups.values()].flatMap((group) =>
      group.map(({ index, at }, rank) => ({ index, rank: (rank + at) / group.length })),
    );
    return ranked.toSorted((a, b) => a.rank - b.rank).map(({ index }) => index);
  }

  /** @returns false: stopped before everything was played */
  async round(candidates: readonly Candidate[], cases: readonly number[]): Promise<boolean> {
    const work = candidates.flatMap((candidate) => {
      const known = this.#outcomesOf(candidate);
      return cases
        .filter((index) => !known.has(index) && this.#isWorthwhile(candidate, index))
        .map((index) => ({ candidate, index }));
    });
    const rest = work.filter(({ candidate, index }) => {
      const same = this.#untouched(candidate, index);
      if (same === undefined) return true;
      this.#inferred += 1;
      this.#outcomesOf(candidate).set(index, same);
      return false;
    });
    const what = `${candidates.length} sets over ${cases.length} cases`;
    return await this.#each(rest, what, async ({ candidate, index }) => {
      if (this.#refused.has(candidate.name)) return;
      try {
        this.#outcomesOf(candidate).set(
          index,
          await this.#player.play(index, candidate, this.#enoughOf(candidate, index)),
        );
        this.#played += 1;
      } catch (error) {
        if (!(error instanceof Error) || !('code' in error) || error.code !== 'config-refused') throw error;
        this.#refused.set(candidate.name, error.message);
      }
    });
  }

  #outcomesOf({ name }: Candidate): Map<number, CaseOutcome> {
    const known = this.#outcomes.get(name) ?? new Map<number, CaseOutcome>();
    this.#outcomes.set(name, known);
    return known;
  }

  /** Outcome without rules, if the price never came near the point at which the candidate acts; undefined: play it. */
  #untouched({ reach, rules }: Candidate, index: number): CaseOutcome | undefined {
    const bare = this.#bare.get(index);
    if (reach === undefined || bare === undefined || bare.way === null || bare.distance === null)
      return undefined;
    const { way, distance, ...outcome } = bare;
    const firstWay = Math.min(reach.way, 1 - Math.min(LEAST_CLEARANCE / distance, MOST_CLEARANCE));
    const nearest = (distance * (1 - way)) / (1 + way * distance);
    const isNear =
      (reach.way < 1 && way >= firstWay - WAY_MARGIN) || nearest <= reach.distance + DISTANCE_MARGIN;
    if (isNear || outcome.liquidated) return undefined;
    return { ...outcome, orders: rules.reduce((orders, rule) => orders + restingOrders(rule), 0) };
  }

  /** Rules that act at the start of a quiet case do so at once: the rest tells nothing more. */
  #enoughOf({ reach }: Candidate, index: number): number | undefined {
    const distance = this.#bare.get(index)?.distance ?? null;
    if (this.#plan.cases[index]?.kind !== 'quiet' || reach === undefined || distance === null)
      return undefined;
    return reach.distance >= distance ? AT_ONCE_MS : undefined;
  }

  /** @returns false: stopped before the end */
  async #each<T>(work: readonly T[], what: string, play: (one: T) => Promise<void>): Promise<boolean> {
    let next = 0;
    let done = 0;
    const lane = async (): Promise<void> => {
      for (let one = work[next]; one !== undefined && !this.#isOver; one = work[next]) {
        next += 1;
        try {
          await play(one);
        } catch (error) {
          // Drops the case that was being played when the search was stopped.
          if (this.#isOver) return;
          throw error;
        }
        done += 1;
        this.#hooks.onProgress?.(done / work.length, `${what}, ${Math.round(this.#spentMs() / 1_000)} s`);
      }
    };
    await Promise.all(Array.from({ length: this.#player.lanes }, lane));
    return done === work.length;
  }

  figuresOver(candidate: Candidate, cases: readonly number[]): TuneFigures {
    return figuresOf(this.#compared(candidate, cases));
  }

  #compared(candidate: Candidate, cases: readonly number[]): readonly ComparedCase[] {
    const known = this.#outcomesOf(candidate);
    return cases.flatMap((index) => {
      const [of, bare, ruled] = [this.#plan.cases[index], this.#bare.get(index), known.get(index)];
      return of === undefined || bare === undefined || ruled === undefined ? [] : [{ of, bare, ruled }];
    });
  }

  record(candidates: readonly Candidate[], cases: readonly number[]) {
    const { signal, budgetMs } = this.#hooks;
    const usable = candidates.filter(({ name }) => !this.#refused.has(name));
    const rows = usable.map((candidate) => ({ candidate, figures: this.figuresOver(candidate, cases) }));
    const front = new Set(frontOf(rows).map(({ candidate }) => candidate.name));
    const wallMs = Math.round(this.#spentMs());
    const isComplete = cases.length === this.#plan.cases.length;
    // `done`: everything was played; otherwise the rows are of the last finished round.
    const end: 'done' | 'budget' | 'stopped' = isComplete
      ? 'done'
      : signal.aborted
        ? 'stopped'
        : wallMs >= budgetMs
          ? 'budget'
          : 'done';
    return {
      /** Anchors first, then from least given up to most; all over the same cases. */
      rows: rows
        .map((row) => {
          const { name, isAnchor = false } = row.candidate;
          const books = this.#by(row.candidate, cases, ({ book }) => book);
          const own = cases.filter((index) => this.#isMadeFor(row.candidate, index));
          const paces = this.#by(row.candidate, own, ({ pace }) => pace);
          const quiet = this.#by(row.candidate, own, ({ book, pace }) => pace && `${book}, ${pace}`);
          // Over the books that the set is made for; null: it names none.
          const madeFor = row.candidate.madeFor === undefined ? null : this.figuresOver(row.candidate, own);
          const isOnFront = front.has(name);
          return Object.assign(row, { name, isAnchor, isOnFront, madeFor, books, paces, quiet });
        })
        .toSorted(
          (a, b) =>
            Number(b.isAnchor) - Number(a.isAnchor) ||
            (a.figures.givenUpMean ?? 0) - (b.figures.givenUpMean ?? 0),
        ),
      /** Number of cases that the rows cover. */
      cases: { used: cases.length, all: this.#plan.cases.length },
      candidates: this.#plan.candidates.length,
      /** Runs that were played, and runs that were inferred because the price never came near a trigger. */
      runs: {
        played: this.#played,
        inferred: this.#inferred,
        perMinute: wallMs === 0 ? 0 : Math.round(((this.#played + this.#inferred) * 60_000) / wallMs),
      },
      wallMs,
      end,
      /** Remarks for the reader, in whole sentences. */
      notes: [...this.#refused].map(([name, why]) => `${name} is not in the table: ${why}`),
    };
  }

  /** Results in quiet markets are of no interest for books that a set is not made for. */
  #isWorthwhile(candidate: Candidate, index: number): boolean {
    return this.#plan.cases[index]?.kind !== 'quiet' || this.#isMadeFor(candidate, index);
  }

  #isMadeFor({ madeFor }: Candidate, index: number): boolean {
    return madeFor === undefined || madeFor.includes(this.#plan.cases[index]?.book ?? '');
  }

  /** Figures by key; cases without a key are left out. */
  #by(
    candidate: Candidate,
    cases: readonly number[],
    keyOf: (one: TuneCase) => string | undefined,
  ): Readonly<Record<string, TuneFigures>> {
    const groups = Map.groupBy(cases, (index) => keyOf(this.#plan.cases[index]!) ?? '');
    groups.delete('');
    return Object.fromEntries(
      [...groups]
        .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
        .map(([key, own]) => [key, this.figuresOver(candidate, own)]),
    );
  }
}

/** Orders that a rule keeps in the book while nothing happens. */
function restingOrders(rule: Candidate['rules'][number]): number {
  const actions = (rule['do'] ?? []) as readonly Readonly<Record<string, unknown>>[];
  return actions.reduce((count, { protect }) => {
    if (protect === undefined) return count;
    const { ladder } = protect as { readonly ladder?: readonly unknown[] };
    return count + (ladder?.length ?? 1);
  }, 0);
}
