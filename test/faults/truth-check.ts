import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { toNumber } from '../../src/core/quantities/decimal.ts';
import type { Instant } from '../../src/core/quantities/snapshot.ts';
import type { Transition } from '../../src/core/rules/decision.ts';
import type { World } from '../../src/world/open-world.ts';
import { PRICES } from './parts.ts';

/** Thresholds of the matrix's rules on positions, as fractions of the price. */
const LEVELS: Readonly<Record<string, { readonly firesBelow: number; readonly clearsAbove: number }>> = {
  near: { firesBelow: 0.05, clearsAbove: 0.07 },
  half: { firesBelow: 0.045, clearsAbove: 0.045 },
  standing: { firesBelow: 0.3, clearsAbove: 0.3 },
};

const USUAL_MARKETS = Object.keys(PRICES).map((coin) => `${coin}_PERP`);
/** Delay of the escalation in the rules of the matrix. */
const STAGE_AFTER_MS = 10_000;
/** Age of the judged data: a slow read and its slow reply. */
const OLDEST_MS = 8_000;
/** Error of computing with floats. */
const TOLERANCE = 1e-9;
/** Tolerance for clock errors within a stage, and for polls after its end. */
const STAGE_ERROR_MS = 500;

/** The state from one time until the next look. */
interface Look {
  readonly atMs: number;
  /**
   * Distance to liquidation that replies show, by account and position, below 0 while it is being liquidated; a missing
   * one is closed, `Infinity` has no liquidation price.
   */
  readonly distances: ReadonlyMap<string, number>;
}

interface Said {
  /** When it was reported, which is when its store has answered. */
  readonly atMs: number;
  /** When it was decided, by the clock of its process. */
  readonly decided: Instant;
  readonly accountId: string;
  readonly transition: Transition;
}

/**
 * Invariants 3 and 11: the findings of rules were true at the exchange. Unknown data clears nothing, and a jump of a
 * clock neither fires nor clears anything.
 */
export class TruthCheck {
  readonly #looks: Look[] = [];
  readonly #said: Said[] = [];
  /** World time at the origin of each process's clock, estimated from the decision reported with the least delay. */
  readonly #origins = new Map<string, number>();
  /** Inputs of the distances at the last look. */
  #shown: readonly unknown[] = [];

  /** Receives every event of the daemons as it happens; `elapsedMs` is the world's time. */
  hear(event: DaemonEvent, elapsedMs: number): void {
    if (event.kind !== 'evaluated') return;
    const { at: decided } = event.snapshot;
    const originMs = elapsedMs - decided.monotonicMs;
    const knownMs = this.#origins.get(decided.clockId) ?? originMs;
    this.#origins.set(decided.clockId, Math.min(knownMs, originMs));
    for (const transition of event.evaluation.transitions)
      this.#said.push({ atMs: elapsedMs, decided, accountId: event.accountId, transition });
  }

  /** Records the state of the exchange. Call it whenever something may have changed there. */
  look({ exchange, spec }: World, elapsedMs: number): void {
    const shown = [
      exchange.model.ledgerTotals().total,
      ...Object.keys(spec.exchange.markets ?? {})
        .concat(USUAL_MARKETS)
        .map((name) => exchange.model.market(name)?.mark),
      // Owners change it at known times; asking for it computes the whole account.
      (spec.events ?? []).filter(({ kind, atMs }) => kind === 'leverage' && atMs <= elapsedMs).length,
    ];
    if (shown.every((one, index) => one === this.#shown[index])) return;
    this.#shown = shown;
    const distances = new Map<string, number>();
    for (const { id } of spec.exchange.accounts) {
      for (const position of exchange.model.openPositions(id))
        distances.set(`${id} ${position.positionId}`, shownDistance(position));
    }
    this.#looks.push({ atMs: elapsedMs, distances });
  }

  violations({ spec }: World): readonly string[] {
    return [
      ...this.#said.flatMap((said) => this.#unfounded(said)),
      ...(isOneProcess(spec) ? this.#early() : []),
    ];
  }

  #decidedMs({ decided: { clockId, monotonicMs } }: Said): number {
    return monotonicMs + (this.#origins.get(clockId) ?? Number.NaN);
  }

  /** Within one process a stage is never decided before its delay, however the calendar clock is changed. */
  #early(): readonly string[] {
    return this.#said.flatMap((said) => {
      const { ruleId, subject, episode, reason } = said.transition;
      if (reason !== 'stageReached') return [];
      const fired = this.#said.find(
        (other) =>
          other.accountId === said.accountId &&
          other.transition.ruleId === ruleId &&
          other.transition.subject === subject &&
          other.transition.episode === episode &&
          other.transition.to === 'firing',
      );
      const afterMs =
        fired === undefined ? Number.POSITIVE_INFINITY : this.#decidedMs(said) - this.#decidedMs(fired);
      return afterMs < STAGE_AFTER_MS - STAGE_ERROR_MS
        ? [`11: ${said.atMs} ms, ${said.accountId}: a stage of ${ruleId} began ${afterMs} ms after it fired`]
        : [];
    });
  }

  /** Two daemons that were alone may find the same; once reunited, one of them may find it again. */
  #isKnown({ atMs, accountId, transition }: Said): boolean {
    return this.#said.some(
      (earlier) =>
        earlier.atMs < atMs &&
        earlier.accountId === accountId &&
        earlier.transition.ruleId === transition.ruleId &&
        earlier.transition.subject === transition.subject &&
        earlier.transition.episode === transition.episode &&
        earlier.transition.reason === transition.reason,
    );
  }

  #unfounded(said: Said): readonly string[] {
    const { atMs, accountId, transition } = said;
    const { ruleId, subject, reason } = transition;
    if (transition.to === 'firing' && this.#isKnown(said)) return [];
    const [kind, positionId = ''] = subject.split(':');
    if (kind !== 'position') return [];
    const seen = this.#looks
      .filter((look, at) => look.atMs <= atMs && (this.#looks[at + 1]?.atMs ?? atMs) >= atMs - OLDEST_MS)
      .map(({ distances }) => distances.get(`${accountId} ${positionId}`));
    const wrong = groundFor(ruleId, reason);
    return wrong === undefined || seen.some((distance) => wrong.holds(distance))
      ? []
      : [
          `${wrong.invariant}: ${atMs} ms, ${accountId}: ${ruleId} for ${subject}: ${reason}; at the exchange its distance was ${rangeOf(seen)}`,
        ];
  }
}

/** Replies have no mark price: it follows from a base price, which is rounded by far where prices have few digits. */
function shownDistance(position: ReturnType<World['exchange']['model']['openPositions']>[number]): number {
  const { amount, basePrice, unrealizedPnl, liquidationPrice, direction } = position;
  if (liquidationPrice === null) return Number.POSITIVE_INFINITY;
  const sign = direction === 'long' ? 1 : -1;
  const mark = toNumber(basePrice) + (sign * toNumber(unrealizedPnl)) / toNumber(amount);
  return (sign * (mark - toNumber(liquidationPrice))) / mark;
}

function isOneProcess({ daemons, events = [] }: World['spec']): boolean {
  return daemons.length === 1 && !events.some(({ kind }) => kind === 'start');
}

interface Ground {
  readonly invariant: string;
  /** Whether a distance at the exchange, or the absence of the position, justifies the transition. */
  readonly holds: (distance: number | undefined) => boolean;
}

function groundFor(ruleId: string, reason: Transition['reason']): Ground | undefined {
  const levels = LEVELS[ruleId];
  switch (reason) {
    case 'subjectGone':
      return { invariant: '3 or 11', holds: (distance) => distance === undefined };
    case 'conditionCleared':
    case 'clearedWhilePending':
      return (
        levels && {
          invariant: '3 or 11',
          holds: (distance) => distance === undefined || distance >= levels.clearsAbove - TOLERANCE,
        }
      );
    case 'conditionMet':
    case 'heldLongEnough':
      return (
        levels && {
          invariant: '2 or 11',
          holds: (distance) => distance !== undefined && distance <= levels.firesBelow + TOLERANCE,
        }
      );
    default:
      return undefined;
  }
}

function rangeOf(distances: readonly (number | undefined)[]): string {
  const known = distances.filter((distance) => distance !== undefined);
  const percent = (distance: number): string => `${(distance * 100).toFixed(2)} %`;
  const range = `${percent(Math.min(...known))} to ${percent(Math.max(...known))}`;
  return [...(known.length > 0 ? [range] : []), ...(known.length < distances.length ? ['none'] : [])].join(
    ', ',
  );
}
