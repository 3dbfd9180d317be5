import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import type { Arrival, Seen, SeenPosition, Sight } from './witness.ts';

/**
 * Invariant 16, by what arrived at the exchange: of the order sets of a market, and of its cancels (those of the whole
 * account included), at most a dozen within a minute are sent without a position that changed or a mark that moved,
 * then one a minute; in danger one per max(1 s, a fifth of the time to liquidation), at most 10 s. A dozen that were
 * sent at once wear off at that rate; a moved mark explains one set, a changed position all before it. What a client
 * sends again by itself because its nonce was refused is no other one: the witness leaves it out, twice at most.
 */
export function streamViolations(
  seen: readonly Seen[],
  { events, covers }: { readonly events: readonly AuditEvent[]; readonly covers: ReadonlySet<string> },
): readonly string[] {
  const rungs = new Map<string, string>();
  for (const { kind, order, key, positionId } of events) {
    if (kind !== 'placing' || order === undefined) continue;
    const role = covers.has(order.clientOrderId) ? `${key} ${order.amount}` : 'reduce';
    rungs.set(order.clientOrderId, `${positionId} ${role}`);
  }
  const markets = new Set(seen.flatMap((one) => (one.kind === 'sight' ? [...one.markets.keys()] : [])));
  return [...markets].flatMap((market) => {
    const placeOf = ({ clientOrderId }: Arrival): string => rungs.get(clientOrderId) ?? clientOrderId;
    const streams = [new Stream(market, 'order', placeOf), new Stream(market, 'cancel', () => '')];
    return streams.flatMap((stream) => stream.play(seen));
  });
}

const MOST_SETS = 12;
/** Requests do not all take the same time to the exchange. */
const ON_ITS_WAY = 0.1;
const CALM_MS = 60_000;
const [LEAST_MS, MOST_MS] = [1_000, 10_000];
const SETS_TO_LIQUIDATION = 5;
/** Nearer than this a market that stands still is in danger too. The daemon's own bound is 10 %, by an older read. */
const NEAR = 0.12;
/** The speed of a market is looked for within this time, and over no less than a second. */
const SPEED_OVER_MS = 25_000;
/** What a mark has to move, beside a price step, to explain anything. */
const GAP = 0.001;

class Stream {
  readonly #market: string;
  readonly #kind: Arrival['kind'];
  readonly #placeOf: (arrival: Arrival) => string;
  /** Sets that nothing explains and that have not worn off. */
  #level = 0;
  #lastMs = 0;
  #paceMs = CALM_MS;
  /** In danger the pace is that of the newest read, also for the time before it. */
  #most = MOST_SETS + ON_ITS_WAY;
  #before: readonly SeenPosition[] = [];
  /** By position: the mark of its last move. */
  #marks = new Map<number, number>();
  #past: { readonly atMs: number; readonly mark: number }[] = [];
  #places = new Set<string>();
  readonly #found: string[] = [];

  constructor(market: string, kind: Arrival['kind'], placeOf: (arrival: Arrival) => string) {
    this.#market = market;
    this.#kind = kind;
    this.#placeOf = placeOf;
  }

  play(seen: readonly Seen[]): readonly string[] {
    for (const one of seen) {
      this.#level = Math.max(0, this.#level - (one.atMs - this.#lastMs) / this.#paceMs);
      this.#lastMs = one.atMs;
      if (one.kind === 'sight') this.#see(one);
      else if (one.kind === this.#kind && (one.market ?? this.#market) === this.#market) this.#count(one);
    }
    return this.#found;
  }

  #see({ atMs, markets }: Sight): void {
    const now = markets.get(this.#market) ?? [];
    const sizes = (all: readonly SeenPosition[]) =>
      all.map(({ positionId, size }) => `${positionId} ${size}`).join();
    if (sizes(now) !== sizes(this.#before)) this.#level = 0;
    this.#before = now;
    let hasMoved = false;
    for (const { positionId, mark, priceStep } of now) {
      const was = this.#marks.get(positionId) ?? mark;
      const isMove = Math.abs(mark - was) > priceStep + GAP * was;
      hasMoved ||= isMove;
      this.#marks.set(positionId, isMove ? mark : was);
    }
    if (hasMoved) this.#level = Math.max(0, Math.min(MOST_SETS, this.#level) - 1);
    const [first] = now;
    this.#past = this.#past.filter((one) => atMs - one.atMs <= SPEED_OVER_MS);
    if (first !== undefined) this.#past.push({ atMs, mark: first.mark });
    if (this.#level === 0) this.#most = MOST_SETS + ON_ITS_WAY;
    this.#paceMs = Math.min(CALM_MS, ...now.map((position) => this.#paceOf(position, atMs)));
    if (this.#paceMs < CALM_MS) this.#most = MOST_SETS + 1;
  }

  #paceOf({ mark, direction, distance, isCalled }: SeenPosition, atMs: number): number {
    if (distance === null) return isCalled ? MOST_MS : CALM_MS;
    const speeds = this.#past.map((was) => {
      const adverse = (direction === 'long' ? was.mark - mark : mark - was.mark) / mark;
      return adverse / Math.max(LEAST_MS, atMs - was.atMs);
    });
    const leftMs = Math.max(0, distance) / Math.max(0, ...speeds) / SETS_TO_LIQUIDATION;
    if (!isCalled && distance >= NEAR && leftMs >= CALM_MS) return CALM_MS;
    return Math.min(MOST_MS, Math.max(LEAST_MS, Number.isNaN(leftMs) ? 0 : leftMs));
  }

  #count(arrival: Arrival): void {
    const place = this.#placeOf(arrival);
    const isSameSet = this.#kind === 'order' && this.#places.size > 0 && !this.#places.has(place);
    this.#places = new Set(isSameSet ? [...this.#places, place] : [place]);
    if (isSameSet) return;
    this.#level += 1;
    if (this.#level <= this.#most) return;
    const what = this.#kind === 'order' ? 'order sets' : 'cancels';
    this.#found.push(
      `${arrival.atMs} ms, ${this.#market}: ${this.#level.toFixed(1)} ${what} that nothing explains`,
    );
    this.#level = 0;
  }
}
