import type { Notice } from '../../src/core/ports/notifier.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import type { Transition } from '../../src/core/rules/decision.ts';
import type { LedgerEntry } from '../../src/simulator/model/ledger-entry.ts';
import type { World } from '../../src/world/open-world.ts';

/** Fires below; clears above. As fractions of the price, by rule on positions, as the rules of the matrix have them. */
const LEVELS: Readonly<Record<string, { readonly firesBelow: number; readonly clearsAbove: number }>> = {
  near: { firesBelow: 0.05, clearsAbove: 0.07 },
  half: { firesBelow: 0.045, clearsAbove: 0.045 },
  standing: { firesBelow: 0.3, clearsAbove: 0.3 },
};

/** After which the rules of the matrix escalate. */
const STAGE_AFTER_MS = 10_000;
/** What is judged may be as old as a read that was slow, and its reply too. */
const OLDEST_MS = 8_000;
/** Between two looks, and roundings. */
const TOLERANCE = 0.002;
/** From the exchange's accepting an order to the daemon's saying so, and looks in between. */
const LOOK_ERROR_MS = 500;
const ACCEPTED: ReadonlySet<string> = new Set(['acting', 'waiting']);

interface Look {
  readonly atMs: number;
  /** From liquidation, by account and position; one that is not there is closed, and `Infinity` has no liquidation price. */
  readonly distances: ReadonlyMap<string, number>;
}

interface Said {
  readonly atMs: number;
  readonly accountId: string;
  readonly transition: Transition;
}

interface Told {
  readonly atMs: number;
  readonly notice: Notice;
}

/**
 * Invariants 3, 11 and 14: what rules found, and what people were told, was so at the exchange. Unknown clears nothing,
 * a jump of a clock fires and clears nothing, and "acting" means that an order was accepted.
 */
export class TruthCheck {
  readonly #looks: Look[] = [];
  readonly #said: Said[] = [];
  readonly #told: Told[] = [];

  /** Gets everything that a daemon reports, when it does; `elapsedMs` is the world's time. */
  hear(event: DaemonEvent, elapsedMs: number): void {
    if (event.kind === 'evaluated') {
      for (const transition of event.evaluation.transitions)
        this.#said.push({ atMs: elapsedMs, accountId: event.accountId, transition });
    } else if (event.kind === 'notice') this.#told.push({ atMs: elapsedMs, notice: event.notice });
  }

  /** Looks at the exchange; to be called twice a second. */
  look({ exchange, spec }: World, elapsedMs: number): void {
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

  violations(world: World): readonly string[] {
    const orders = world.exchange.model.ledger({ kinds: ['order_placed'] });
    return [
      ...this.#said.flatMap((said) => this.#unfounded(said)),
      ...(isOneProcess(world.spec) ? this.#early() : []),
      ...this.#told.flatMap((told) => unaccepted(told, orders, world.startMs)),
    ];
  }

  /** By the clock of one process a stage begins no earlier than it says, whatever is done to that clock. */
  #early(): readonly string[] {
    return this.#said.flatMap(({ atMs, accountId, transition }) => {
      const { ruleId, subject, episode, reason } = transition;
      if (reason !== 'stageReached') return [];
      const fired = this.#said.find(
        (other) =>
          other.accountId === accountId &&
          other.transition.ruleId === ruleId &&
          other.transition.subject === subject &&
          other.transition.episode === episode &&
          other.transition.to === 'firing',
      );
      return fired !== undefined && atMs - fired.atMs < STAGE_AFTER_MS - LOOK_ERROR_MS
        ? [`11: ${atMs} ms, ${accountId}: a stage of ${ruleId} began ${atMs - fired.atMs} ms after it fired`]
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
      .filter((look) => look.atMs >= atMs - OLDEST_MS && look.atMs <= atMs + LOOK_ERROR_MS)
      .map(({ distances }) => distances.get(`${accountId} ${positionId}`));
    const wrong = groundFor(ruleId, reason);
    return wrong === undefined || seen.some((distance) => wrong.holds(distance))
      ? []
      : [
          `${wrong.invariant}: ${atMs} ms, ${accountId}: ${ruleId} for ${subject}: ${reason}; at the exchange its distance was ${seen.map(percent).join(', ')}`,
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

function percent(distance: number | undefined): string {
  return distance === undefined ? 'none' : `${(distance * 100).toFixed(2)} %`;
}

function unaccepted(
  { atMs, notice }: Told,
  orders: readonly LedgerEntry[],
  startMs: number,
): readonly string[] {
  const { accountId, doing, words } = notice;
  if (doing === undefined || !ACCEPTED.has(doing.state)) return [];
  const isAccepted = orders.some(
    (order) =>
      order.accountId === accountId &&
      order.clientOrderId?.startsWith('bw') === true &&
      order.atMs - startMs <= atMs + LOOK_ERROR_MS,
  );
  return isAccepted
    ? []
    : [`14: ${atMs} ms, ${accountId}: was told "${doing.words}" (${words}), and no order was accepted`];
}
