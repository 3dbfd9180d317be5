import { isInsolvent, LOTS_PER_UNIT, liquidationTicks, TICKS_PER_UNIT } from './liquidation.ts';
import type {
  Fill,
  ModelOrder,
  ModelPosition,
  ModelRequest,
  PlaceReply,
  Readings,
  Snapshot,
} from './terms.ts';

interface LateRequest {
  readonly arriveMs: number;
  readonly nonce: number;
  readonly run: () => void;
}

/**
 * A small exchange to test the properties of the order sets: one market, sizes in lots, prices in ticks, virtual time.
 * It implements every reading of what the specification leaves open about orders, and keeps the ledger on which the
 * properties are asserted. It shares no code with the code under test but the shape of requests.
 */
export class ModelExchange<Tag> {
  nowMs = 1_000_000;
  last = 10_000;
  mark = 10_000;
  collateral = 0;
  liquidity = Number.POSITIVE_INFINITY;
  positions: ModelPosition[] = [];
  orders: ModelOrder<Tag>[] = [];
  liquidations = 0;
  /** When a position last changed, by any cause. */
  changedMs = 0;
  readonly readings: Readings;
  readonly onFill: (fill: Fill<Tag>) => void;
  readonly onReduced: (positionId: string, lots: number) => void;
  readonly onArrived: (order: ModelOrder<Tag>, position: ModelPosition) => void;
  #usedIds = new Set<string>();
  #history: Snapshot[] = [];
  #late: LateRequest[] = [];
  #highestNonce = 0;
  #opened = 0;

  constructor(
    readings: Readings,
    onFill: (fill: Fill<Tag>) => void,
    onReduced: (positionId: string, lots: number) => void,
    onArrived: (order: ModelOrder<Tag>, position: ModelPosition) => void,
  ) {
    this.readings = readings;
    this.onFill = onFill;
    this.onReduced = onReduced;
    this.onArrived = onArrived;
  }

  open(id: string, side: ModelPosition['side'], sign: 1 | -1, lots: number, leverage: number): void {
    this.#opened += 1;
    this.changedMs = this.nowMs;
    this.positions.push({ id, side, sign, lots, entry: this.mark, openDate: this.#opened });
    this.collateral += (lots / LOTS_PER_UNIT) * (this.mark / TICKS_PER_UNIT) * (1 / leverage);
    this.#remember();
  }

  /** A trade of the owner, or a liquidation: no order of the daemon is involved. */
  ownerReduces(id: string, lots: number): void {
    const position = this.positions.find((candidate) => candidate.id === id);
    if (position === undefined) return;
    const taken = Math.min(lots, position.lots);
    this.#take(position, taken);
    this.onReduced(id, taken);
    this.#remember();
  }

  ownerAdds(id: string, lots: number): void {
    const position = this.positions.find((candidate) => candidate.id === id);
    if (position === undefined) return;
    position.lots += lots;
    this.changedMs = this.nowMs;
    this.collateral += (lots / LOTS_PER_UNIT) * (this.mark / TICKS_PER_UNIT) * 0.1;
    this.#remember();
  }

  advanceTo(atMs: number): void {
    const due = this.#late.filter((late) => late.arriveMs <= atMs).sort((a, b) => a.arriveMs - b.arriveMs);
    this.#late = this.#late.filter((late) => late.arriveMs > atMs);
    for (const late of due) {
      this.nowMs = Math.max(this.nowMs, late.arriveMs);
      if (this.#admits(late.nonce)) late.run();
    }
    this.nowMs = Math.max(this.nowMs, atMs);
    this.#remember();
  }

  moveTo(last: number, mark: number): void {
    this.last = Math.max(last, 100);
    this.mark = Math.max(mark, 100);
    this.#match();
    this.#liquidate();
    this.#remember();
  }

  /** A request that arrives now. Its nonce ensures that it cannot arrive twice. */
  place(request: ModelRequest, tag: Tag, nonce: number): PlaceReply {
    if (!this.#admits(nonce)) return { kind: 'refused', code: 429 };
    return this.#accept(request, tag);
  }

  cancelAll(nonce: number): boolean {
    if (!this.#admits(nonce)) return false;
    this.#removeOrders();
    return true;
  }

  /** The reply is lost, and the request arrives at `arriveMs`. */
  placeLate(request: ModelRequest, tag: Tag, nonce: number, arriveMs: number): void {
    this.#late.push({ arriveMs, nonce, run: () => this.#accept(request, tag) });
  }

  cancelLate(nonce: number, arriveMs: number): void {
    this.#late.push({ arriveMs, nonce, run: () => this.#removeOrders() });
  }

  get inFlight(): number {
    return this.#late.length;
  }

  /** The state that a read answered now shows: that of at most `lagMs` ago. */
  read(lagMs: number): Snapshot {
    const atMs = this.nowMs - Math.min(lagMs, this.readings.readLagMs);
    const known = this.#history.findLast((snapshot) => snapshot.atMs <= atMs) ?? this.#history[0];
    if (known === undefined) throw new Error('nothing happened yet');
    return known;
  }

  #admits(nonce: number): boolean {
    if (this.readings.nonce === 'increasing' && nonce <= this.#highestNonce) return false;
    this.#highestNonce = Math.max(this.#highestNonce, nonce);
    return true;
  }

  #accept(request: ModelRequest, tag: Tag): PlaceReply {
    const position = this.#target(request);
    if (position === undefined) return { kind: 'refused', code: 116 };
    const isTaken =
      this.readings.idScope === 'ever'
        ? this.#usedIds.has(request.clientOrderId)
        : this.orders.some((order) => order.request.clientOrderId === request.clientOrderId);
    if (isTaken) return { kind: 'refused', code: 36 };
    this.#usedIds.add(request.clientOrderId);
    const lots = Math.min(request.lots, position.lots);
    const reference = this.readings.trigger === 'last' ? this.last : this.mark;
    const order: ModelOrder<Tag> = {
      request,
      tag,
      left: lots,
      state: 'stop',
      // The request has no direction: it follows from the side of the market on which the activation lies.
      triggerSign: request.activation > reference ? 1 : -1,
    };
    this.orders.push(order);
    this.onArrived(order, position);
    this.#match();
    this.#remember();
    const status = order.left === 0 ? 'FILLED' : order.left < lots ? 'PARTIALLY_FILLED' : 'NEW';
    return { kind: 'placed', lots, status };
  }

  #target(request: ModelRequest): ModelPosition | undefined {
    const sign = request.side === 'sell' ? 1 : -1;
    return this.positions.find(
      (position) =>
        position.sign === sign && (!this.readings.hedgeMode || position.side === request.positionSide),
    );
  }

  #removeOrders(): void {
    this.orders = this.readings.cancelCoversStops
      ? []
      : this.orders.filter((order) => order.state === 'stop');
  }

  #match(): void {
    const reference = this.readings.trigger === 'last' ? this.last : this.mark;
    for (const order of this.orders) {
      const past = (reference - order.request.activation) * order.triggerSign;
      const isTriggered = this.readings.triggersAtEquality ? past >= 0 : past > 0;
      if (order.state === 'stop' && isTriggered) order.state = 'active';
      if (order.state === 'active') this.#fill(order);
    }
    this.orders = this.orders.filter((order) => order.left > 0);
  }

  #fill(order: ModelOrder<Tag>): void {
    const { request } = order;
    const crosses = request.side === 'sell' ? this.last >= request.limit : this.last <= request.limit;
    const position = this.#target(request);
    if (!crosses || position === undefined) return;
    const lots = Math.min(order.left, position.lots, this.liquidity);
    if (lots <= 0) return;
    this.liquidity -= lots;
    const before = position.lots;
    const netBefore = this.net();
    this.#take(position, lots);
    // Reduce-only trims what exceeds the position: such an order is done.
    order.left = position.lots === 0 ? 0 : order.left - lots;
    const { id, openDate } = position;
    const fill = { positionId: id, openDate, before, after: before - lots, netBefore, netAfter: this.net() };
    this.onFill({ atMs: this.nowMs, ...fill, tag: order.tag });
  }

  net(): number {
    return this.positions.reduce((sum, position) => sum + position.sign * position.lots, 0);
  }

  #take(position: ModelPosition, lots: number): void {
    const gain = (position.sign * (this.mark - position.entry)) / TICKS_PER_UNIT;
    this.collateral += (lots / LOTS_PER_UNIT) * gain;
    position.lots -= lots;
    this.changedMs = this.nowMs;
    this.positions = this.positions.filter((candidate) => candidate.lots > 0);
  }

  #liquidate(): void {
    for (const position of this.positions) {
      const price = liquidationTicks(position, this.read(0));
      const isPast = price !== undefined && (this.mark - price) * position.sign <= 0;
      if (!isPast || !isInsolvent(this)) continue;
      this.liquidations += 1;
      const isWhole = this.readings.liquidates === 'whole';
      this.ownerReduces(position.id, isWhole ? position.lots : Math.ceil(position.lots / 3));
    }
  }

  #remember(): void {
    this.#history.push({
      atMs: this.nowMs,
      mark: this.mark,
      collateral: this.collateral,
      positions: this.positions.map((position) => ({ ...position })),
    });
    if (this.#history.length > 64) this.#history.splice(0, 16);
  }
}
