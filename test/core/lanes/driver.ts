import type { AuditEvent } from '../../../src/core/audit/audit-event.ts';
import type { LaneContext } from '../../../src/core/intents/admission.ts';
import type { GateContext } from '../../../src/core/intents/gate.ts';
import { advance } from '../../../src/core/lanes/lane.ts';
import type { LaneChange } from '../../../src/core/lanes/lane-change.ts';
import { observeRead, observeRequests } from '../../../src/core/lanes/lane-observe.ts';
import {
  type LaneState,
  newLane,
  type PlaceStep,
  type ReadPosition,
  type Step,
} from '../../../src/core/lanes/lane-state.ts';
import { begin, finish, type StepResult } from '../../../src/core/lanes/lane-step.ts';
import type { ExchangeError, PlacedOrder } from '../../../src/core/ports/exchange.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { AccountSettings } from '../../../src/core/quantities/settings.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { acknowledgeNoPriorOrders, contextOf, MARKET, readAt, readPositionOf } from './fixtures.ts';

/** Walks one lane step by step, with the answers the test gives. */
export class Driver {
  state: LaneState;
  nowMs = 100_000;
  readonly events: AuditEvent[] = [];
  context: LaneContext;

  constructor(settings: Partial<AccountSettings> = {}, gate: Partial<GateContext> = {}) {
    this.context = contextOf(settings, gate);
    this.state = acknowledgeNoPriorOrders(newLane('desk', MARKET, 'epoch', this.nowMs));
  }

  apply(change: LaneChange): void {
    this.state = change.state;
    this.events.push(...change.events);
  }

  read(...positions: readonly ReadPosition[]): this {
    this.nowMs += 10;
    this.apply(observeRead(this.state, readAt(this.nowMs, ...positions), this.context.settings, this.nowMs));
    return this;
  }

  ask(...requests: readonly ActionRequest[]): this {
    const entries = requests.map((request) => ({
      request,
      positionId: request.action.kind === 'cancelAll' ? null : request.subject.replace('position:', ''),
    }));
    this.apply(observeRequests(this.state, entries, true, this.context.settings, this.nowMs));
    // The end of a poll. Overshoot is left out: the lane run that sends recomputes the step and audits it.
    const { state, events } = advance(this.state, this.context, this.nowMs);
    this.apply({ state, events: events.filter(({ kind }) => kind !== 'overshoot') });
    return this;
  }

  later(ms: number): this {
    this.nowMs += ms;
    return this;
  }

  next(): Step {
    const advanced = advance(this.state, this.context, this.nowMs);
    this.apply(advanced);
    return advanced.step;
  }

  /** Asks for the next step, which must be of this kind, and begins it. */
  start<K extends 'place' | 'cancelAll' | 'readPositions'>(kind: K): Extract<Step, { kind: K }> {
    const step = this.next();
    if (step.kind !== kind) throw new Error(`expected ${kind}, got ${JSON.stringify(step)}`);
    this.apply(begin(this.state, step, this.nowMs));
    return step as Extract<Step, { kind: K }>;
  }

  end(result: StepResult): this {
    this.nowMs += 10;
    this.apply(finish(this.state, result, this.context.settings, this.nowMs));
    return this;
  }

  place(changed: Partial<PlacedOrder> = {}): PlaceStep {
    const step = this.start('place');
    this.end({ kind: 'place', outcome: { kind: 'accepted', value: placed(step, changed), timing } });
    return step;
  }

  refuse(error: Partial<ExchangeError>): PlaceStep {
    const step = this.start('place');
    this.end({ kind: 'place', outcome: { kind: 'rejected', error: failure(error) } });
    return step;
  }

  cancel(): Extract<Step, { kind: 'cancelAll' }> {
    const step = this.start('cancelAll');
    this.end({ kind: 'cancelAll', outcome: { kind: 'accepted', value: null, timing } });
    return step;
  }

  /** Another lane's order has just been accepted, so orders that a cancel takes down can be placed again. */
  ordersAreTaken(): this {
    const orders = { acceptedMs: this.nowMs, refusedMs: Number.NEGATIVE_INFINITY };
    this.context = { ...this.context, orders };
    return this;
  }

  refuseCancel(error: Partial<ExchangeError> = { name: 'permissionDenied' }): this {
    this.start('cancelAll');
    return this.end({ kind: 'cancelAll', outcome: { kind: 'rejected', error: failure(error) } });
  }

  lose(kind: 'place' | 'cancelAll'): this {
    this.start(kind);
    const error = failure({ name: 'timeout', effect: 'possible' });
    return this.end({ kind, outcome: { kind: 'unknown', error } });
  }

  answerRead(...positions: readonly ReadPosition[]): this {
    this.start('readPositions');
    return this.end({ kind: 'readPositions', observation: readAt(this.nowMs, ...positions) });
  }

  /** The intents after the lane is asked for its next step. */
  intents(): LaneState['intents'] {
    return advance(this.state, this.context, this.nowMs).state.intents;
  }

  reasons(kind: AuditEvent['kind']): string[] {
    return this.events.filter((event) => event.kind === kind).map((event) => event.reason);
  }
}

const timing = { sentAtMs: 0, receivedAtMs: 0, attempts: 1 };

export function failure(changed: Partial<ExchangeError>): ExchangeError {
  return { name: 'validationFailed', endpoint: 'stopLimit', message: 'no', effect: 'none', ...changed };
}

export function placed(step: PlaceStep, changed: Partial<PlacedOrder>): PlacedOrder {
  const { request } = step;
  return {
    orderId: '7',
    clientOrderId: request.clientOrderId,
    clientOrderIdEchoed: true,
    market: request.market,
    side: request.side,
    status: { known: true, value: 'NEW' },
    amount: request.amount,
    ...changed,
  };
}

/** No list shows the position until it is certainly closed; `others` stay open. */
export function gone(driver: Driver, ...others: readonly ReadPosition[]): Driver {
  for (let minute = 0; minute < 3; minute++) driver.read(...others).later(60_000);
  return driver.read(...others);
}

/** The usual position with another size, mark or liquidation price. */
export function at(changes: {
  size?: string;
  mark?: string;
  liquidation?: string | null;
  openDate?: number;
}): ReadPosition {
  const { size = '1', mark = '1000', liquidation = '950', openDate = 1 } = changes;
  const distance = liquidation === null ? undefined : (Number(mark) - Number(liquidation)) / Number(mark);
  return readPositionOf({
    openDate,
    sizeBase: size as DecimalString,
    markPrice: mark as DecimalString,
    liquidationPrice: liquidation === null ? 'none' : (liquidation as DecimalString),
    distance: distance === undefined ? 'none' : distance,
  });
}
