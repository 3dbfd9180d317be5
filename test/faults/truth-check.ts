import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import type { Instant } from '../../src/core/quantities/snapshot.ts';
import type { Transition } from '../../src/core/rules/decision.ts';
import type { World } from '../../src/world/open-world.ts';
import { PRICES } from './parts.ts';

/** Fires below; clears above. As fractions of the price, by rule on positions, as the rules of the matrix have them. */
const LEVELS: Readonly<Record<string, { readonly firesBelow: number; readonly clearsAbove: number }>> = {
  near: { firesBelow: 0.05, clearsAbove: 0.07 },
  half: { firesBelow: 0.045, clearsAbove: 0.045 },
  standing: { firesBelow: 0.3, clearsAbove: 0.3 },
};

const MARKETS = Object.keys(PRICES).map((coin) => `${coin}_PERP`);
/** After which the rules of the matrix escalate. */
const STAGE_AFTER_MS = 10_000;
/** What is judged may be as old as a read that was slow, and its reply too. */
const OLDEST_MS = 8_000;
/** Replies have rounded figures. */
const TOLERANCE = 0.0005;
/** Clocks of daemons are that wrong within the time of a stage, and polls are not at its very end. */
const STAGE_ERROR_MS = 500;

/** What is so from one time until the next look. */
interface Look {
  readonly atMs: number;
  /** From liquidation, by account and position; one that is not there is closed, and `Infinity` has no liquidation price. */
  readonly distances: ReadonlyMap<string, number>;
}

interface Said {
  /** When it was told, which is when its store has answered. */
  readonly atMs: number;
  /** When it was decided, by the clock of its process. */
  readonly decided: Instant;
  readonly accountId: string;
  readonly transition: Transition;
}

/**
 * Invariants 3 and 11: what rules found was so at the exchange. Unknown clears nothing, and a jump of a clock fires and
 * clears nothing.
 */
export class TruthCheck {
  readonly #looks: Look[] = [];
  readonly #said: Said[] = [];
  /** World time at the origin of each process's clock: that of the decision that was told soonest. */
  readonly #origins = new Map<string, number>();
  /** What distances follow from, at the last look. */
  #shown: readonly unknown[] = [];

  /** Gets everything that a daemon reports, when it does; `elapsedMs` is the world's time. */
  hear(event: DaemonEvent, elapsedMs: number): void {
    if (event.kind !== 'evaluated') return;
    const { at: decided } = event.snapshot;
    const originMs = elapsedMs - decided.monotonicMs;
    const knownMs = this.#origins.get(decided.clockId) ?? originMs;
    this.#origins.set(decided.clockId, Math.min(knownMs, originMs));
    for (const transition of event.evaluation.transitions)
      this.#said.push({ atMs: elapsedMs, decided, accountId: event.accountId, transition });
  }

  /** Looks at the exchange, to be called whenever something may have changed there. */
  look({ exchange, spec }: World, elapsedMs: number): void {
    const shown = [
      exchange.model.ledgerTotals().total,
      ...MARKETS.map((name) => exchange.model.market(name)?.mark),
    ];
    if (shown.every((one, index) => one === this.#shown[index])) return;
    this.#shown = shown;
    const distances = new Map<string, number>();
    for (const { id } of spec.exchange.accounts) {
      for (const { positionId, markPrice, liquidationPrice } of exchange.model.openPositions(id)) {
        const mark = markPrice.toNumber();
        const distance =
          liquidationPrice === null
            ? Number.POSITIVE_INFINITY
            : Math.abs(mark - liquidationPrice.toNumber()) / mark;
        distances.set(`${id} ${positionId}`, distance);
      }
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

  /** In one process a stage is decided no earlier than the config says, whatever is done to the clock of its calendar. */
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

  /** Two that were alone find the same; when they are together again, one of them may find it once more. */
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

function isOneProcess({ daemons, events = [] }: World['spec']): boolean {
  return daemons.length === 1 && !events.some(({ kind }) => kind === 'start');
}

interface Ground {
  readonly invariant: string;
  /** Whether a distance at the exchange, or the absence of the position, bears the transition out. */
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
