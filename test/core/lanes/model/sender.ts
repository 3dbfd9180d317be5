import { advance } from '../../../../src/core/lanes/lane.ts';
import type {
  CancelStep,
  LaneState,
  MarketRead,
  PlaceStep,
  RequestStep,
  Step,
} from '../../../../src/core/lanes/lane-state.ts';
import { begin, finish, type StepResult } from '../../../../src/core/lanes/lane-step.ts';
import type { CommandOutcome } from '../../../../src/core/ports/exchange.ts';
import { floorOf, type OrderTag } from './ledger.ts';
import type { Reads } from './reads.ts';
import { Violation } from './tally.ts';
import { lotsOf } from './views.ts';
import { type Fault, failure, LATENCY_MS, modelRequest, placed, REFUSALS, TIMEOUT_MS } from './wire.ts';
import type { World } from './world.ts';

const JUDGED: ReadonlySet<string> = new Set(['duplicateClientOrderId', 'reduceOnlyRefused']);

/** Asks the lane for its steps and carries them out, with faults. */
export class Sender {
  /** Requests that changed something, or would have. */
  sent = 0;
  readonly #world: World;
  readonly #reads: Reads;

  constructor(world: World, reads: Reads) {
    this.#world = world;
    this.#reads = reads;
  }

  /** Asks for the next step and carries it out with a fault; returns the step. */
  work(faultOf: (kind: RequestStep['kind']) => Fault, delayMs: number, lagMs: number): Step {
    const world = this.#world;
    const { actor } = world;
    const advanced = advance(actor.state, world.context(), world.nowMs);
    world.apply(advanced);
    const { step } = advanced;
    if (step.kind === 'idle' || step.kind === 'wait') return step;
    const { generation } = actor.state;
    world.apply(begin(actor.state, step, world.nowMs));
    if (step.kind === 'place') world.watch.checkId(step);
    if (step.kind === 'cancelAll' && actor.state.generation <= generation) {
      throw new Violation('a cancel that did not raise the generation');
    }
    const fault = faultOf(step.kind);
    if (step.kind === 'readPositions') this.#carryOutRead(fault, lagMs);
    else this.#carryOut(step, fault, delayMs);
    return step;
  }

  #carryOutRead(fault: Fault, lagMs: number): void {
    const world = this.#world;
    const isLost = fault === 'lostAfter' || fault === 'lostBefore';
    const observation = isLost ? null : this.#reads.observation(lagMs, true, true);
    if (observation !== null) world.watch.noteSizes(observation);
    world.exchange.advanceTo(world.nowMs + LATENCY_MS);
    if (fault === 'crashAfter') return world.crash();
    this.#report({ kind: 'readPositions', observation }, fault);
  }

  #report(result: StepResult, fault: Fault): void {
    const world = this.#world;
    if (result.kind === 'place') {
      const { outcome } = result;
      // A duplicate, and an order without room, have been judged by the exchange.
      const isJudged = outcome.kind === 'rejected' && JUDGED.has(outcome.error.name);
      if (outcome.kind === 'accepted' || isJudged) world.actor.acceptedMs = world.nowMs;
      else world.actor.refusedMs = world.nowMs;
    }
    const { settings } = world.setup;
    world.apply(finish(world.actor.state, result, settings, world.nowMs));
    if (fault !== 'duplicateReport') return;
    const before = JSON.stringify(world.actor.state);
    world.apply(finish(world.actor.state, result, settings, world.nowMs));
    if (JSON.stringify(world.actor.state) !== before) throw new Violation('a second report changed the lane');
  }

  #carryOut(step: PlaceStep | CancelStep, fault: Fault, delayMs: number): void {
    const world = this.#world;
    world.checkGate();
    this.sent += 1;
    world.nonce += 1;
    world.seen(`sent:${step.kind}`);
    if (step.kind === 'cancelAll') world.checkCancel();
    if (fault === 'refused' || fault === 'limited') return this.#finishRefused(step, fault);
    const isDelivered =
      fault === 'none' || fault === 'duplicateReport' || fault === 'lostAfter' || fault === 'crashAfter';
    const poll = this.#pollMeanwhile(delayMs);
    const outcome = isDelivered ? this.#deliver(step) : undefined;
    if (fault === 'late') this.#deliverLater(step, delayMs);
    poll?.();
    if (fault === 'crashBefore' || fault === 'crashAfter') return world.crash();
    if (outcome !== undefined && fault !== 'lostAfter') {
      world.exchange.advanceTo(world.nowMs + LATENCY_MS);
      return this.#report(outcome, fault);
    }
    world.exchange.advanceTo(world.nowMs + TIMEOUT_MS);
    world.seen('unknown');
    const error = failure('timeout', 'possible');
    this.#report({ kind: step.kind, outcome: { kind: 'unknown', error } }, fault);
  }

  /** Every fourth request has a poll beside it, sent before or after it is carried out, answered before its reply. */
  #pollMeanwhile(delayMs: number): (() => void) | undefined {
    if (delayMs % 4 !== 1) return undefined;
    const { seen } = this.#world;
    const before = delayMs % 8 === 1 ? this.#reads.observation(0, true, true) : undefined;
    return () => {
      seen('pollMeanwhile');
      this.#reads.deliver(before ?? this.#reads.observation(0, true, true));
    };
  }

  #finishRefused(step: PlaceStep | CancelStep, fault: Fault): void {
    this.#world.exchange.advanceTo(this.#world.nowMs + LATENCY_MS);
    const error =
      fault === 'limited' ? failure('rateLimited', 'none') : failure('validationFailed', 'none', 30);
    this.#report({ kind: step.kind, outcome: { kind: 'rejected', error } }, fault);
  }

  #deliver(step: PlaceStep | CancelStep): StepResult {
    const world = this.#world;
    if (step.kind === 'cancelAll') {
      const isAccepted = world.exchange.cancelAll(world.nonce);
      const outcome: CommandOutcome<null> = isAccepted
        ? { kind: 'accepted', value: null, timing: timingAt(world.nowMs) }
        : { kind: 'rejected', error: failure('nonceRefused', 'none') };
      return { kind: 'cancelAll', outcome };
    }
    this.#checkShape(step);
    const reply = world.exchange.place(modelRequest(step), this.#tag(step), world.nonce);
    if (reply.kind === 'refused') {
      world.seen(`refused:${reply.code}`);
      const error = failure(REFUSALS[reply.code], 'none', reply.code);
      return { kind: 'place', outcome: { kind: 'rejected', error } };
    }
    return {
      kind: 'place',
      outcome: { kind: 'accepted', value: placed(step, reply), timing: timingAt(world.nowMs) },
    };
  }

  #deliverLater(step: PlaceStep | CancelStep, delayMs: number): void {
    const { exchange, nonce, nowMs, setup, seen } = this.#world;
    const latest = TIMEOUT_MS + setup.settings.lateArrivalMs - 1;
    const arriveMs = nowMs + Math.min(delayMs, latest);
    seen('late');
    if (step.kind === 'cancelAll') exchange.cancelLate(nonce, arriveMs);
    else exchange.placeLate(modelRequest(step), this.#tag(step), nonce, arriveMs);
  }

  /** At the prices the lane knew, the activation is on the right side of the market, a cover before liquidation. */
  #checkShape(step: PlaceStep): void {
    const { state } = this.#world.actor;
    const { order, request } = step;
    const read = readOf(step, state);
    const position = read?.positions.find((candidate) => candidate.positionId === order.positionId);
    if (position === undefined || position.markPrice === null)
      throw new Violation('an order without a price');
    const away = Number(position.markPrice) - Number(request.activationPrice);
    // An urgent close also has a stop on the other side; only that one may lie there.
    const isBelow = (request.side === 'sell') !== (request.inFavour === true);
    const isRight = isBelow ? away > 0 : away < 0;
    if (!isRight) throw new Violation(`activation ${request.activationPrice} at mark ${position.markPrice}`);
    if ((request.side === 'sell') !== (position.direction === 'long')) throw new Violation('wrong side');
    if (order.role !== 'cover' || step.isResend) return;
    // A trial protects nothing: beyond the liquidation price it never triggers.
    if (order.trial === true) return;
    const room = Number(request.activationPrice) - Number(position.liquidationPrice);
    const isInside = request.side === 'sell' ? room > 0 : room < 0;
    if (!isInside) throw new Violation('a stop at or beyond the liquidation price');
  }

  #tag(step: PlaceStep): OrderTag {
    const { actor, ledger, setup } = this.#world;
    const { state } = actor;
    const { order } = step;
    const read = readOf(step, state);
    const tag: OrderTag = {
      role: order.role,
      floorLots: order.role === 'cover' ? 0 : floorOf(state, order.positionId),
      overshoot: order.overshoot,
      basisMs: (read?.sentAtMs ?? 0) - setup.settings.readLagMs,
      positionId: order.positionId,
      openDate: this.#reads.openDateSeen(read, order.positionId),
      filledMs: null,
      trialLots: order.trial === true ? lotsOf(order.request.amount) : 0,
      clientOrderId: step.request.clientOrderId,
      netLots: netLotsOf(read),
    };
    ledger.notePlaced(tag);
    return tag;
  }
}

function netLotsOf(read: MarketRead | null): number {
  const net = (read?.positions ?? []).reduce(
    (sum, { direction, sizeBase }) => sum + (direction === 'short' ? -1 : 1) * lotsOf(sizeBase),
    0,
  );
  return Math.abs(net);
}

/** The read by which the order was priced: the latest one ahead of a fence and for a trial order or one sent again. */
function readOf({ order, ahead }: PlaceStep, { read, latestRead }: LaneState): MarketRead | null {
  return ahead || order.trial === true || order.wasOpen === true ? latestRead : read;
}

export function timingAt(nowMs: number): { sentAtMs: number; receivedAtMs: number; attempts: number } {
  return { sentAtMs: nowMs, receivedAtMs: nowMs, attempts: 1 };
}
