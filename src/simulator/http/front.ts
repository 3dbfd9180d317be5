import { z } from 'zod';
import type { Timers } from '../../core/ports/clock.ts';
import type { ExchangeClock } from '../exchange-clock.ts';
import { milliseconds } from '../schemas.ts';
import { parsedObject } from './authenticate.ts';
import { clientOrderIdOf, type Dispatched, type DispatchParts, type IncomingRequest } from './dispatch.ts';
import { damagedBody, type FaultPlan, faultReply, isApplied, planOf } from './fault-plan.ts';
import type { FaultBook, LostConnection } from './faults.ts';
import { apiError, type Reply, UNAVAILABLE } from './reply.ts';
import type { RequestLog, RequestOutcome, RequestRecord } from './request-log.ts';

/** The state of one base address. `down`: connections are reset; `hang`: nothing is answered. */
export const REGION_STATE = z.union(
  [
    z.strictObject({ mode: z.enum(['up', 'down', 'hang', 'unavailable']) }),
    z.strictObject({ mode: z.literal('slow'), delayMs: milliseconds }),
  ],
  'must be {"mode":"up"|"down"|"hang"|"unavailable"} or {"mode":"slow","delayMs":N}',
);
export type RegionState = Readonly<z.infer<typeof REGION_STATE>>;

/** The connection on which a client waits for its reply. A client that must see silence gets no call at all. */
export interface ReplyConnection {
  /** `dateText`: the Date header. `isCut`: the connection breaks in the middle of the body. */
  send(reply: Reply, dateText: string, isCut: boolean): void;
  reset(): void;
}

type Shared = Pick<DispatchParts, 'accounts' | 'endpoints' | 'model' | 'serverTimeMs'>;

interface FrontParts extends Shared {
  readonly timers: Pick<Timers, 'after'>;
  readonly dispatch: (request: IncomingRequest, staleMs: number) => Dispatched;
  readonly faults: FaultBook;
  readonly log: RequestLog;
  /** The model may still be behind it. */
  readonly clock: ExchangeClock;
  /** Cancels an order without a request; returns whether it was open. */
  readonly cancelOrder: (accountId: string, orderId: number) => boolean;
  /** Pages for browsers, outside of the API. */
  readonly page: (request: IncomingRequest) => Reply | undefined;
}

/** The front end at each base address of the exchange: regions, faults, delays and the request log. */
export class ExchangeFront {
  readonly #parts: FrontParts;
  readonly #regions: { state: RegionState; readonly drop: () => void }[] = [];
  /** Requests that wait; `appliedLate` faults without a delay hold them back. */
  readonly delays: Delays;
  #dateSecond = Number.NaN;
  #date = '';

  constructor(parts: FrontParts) {
    this.#parts = parts;
    this.delays = new Delays(parts.timers);
  }

  /** Adds a base address and returns its index; `drop` must break its connections. */
  addRegion(drop: () => void): number {
    return this.#regions.push({ state: { mode: 'up' }, drop }) - 1;
  }

  get regions(): readonly RegionState[] {
    return this.#regions.map(({ state }) => state);
  }

  setRegion(index: number, state: RegionState): void {
    const region = this.#regions[index];
    if (region === undefined) throw new RangeError(`there is no region ${index}`);
    region.state = state;
    if (state.mode === 'down') region.drop();
  }

  receive(region: number, request: IncomingRequest, connection: ReplyConnection): void {
    const exchange: Exchange = { region, connection, request, faults: [] };
    const state = this.#regions[region]?.state ?? { mode: 'up' };
    switch (state.mode) {
      case 'up':
        return this.#meetFaults(exchange);
      case 'slow':
        return this.delays.after(state.delayMs, () => this.#meetFaults(exchange));
      case 'unavailable':
        exchange.faults = ['region:unavailable'];
        return this.#answerUnseen(exchange, apiError(request.path, 503, UNAVAILABLE));
      case 'down':
      case 'hang':
        exchange.faults = [`region:${state.mode}`];
        this.#record(exchange, 'unseen', {});
        return lose(exchange, state.mode === 'down' ? 'reset' : 'hang');
    }
  }

  #meetFaults(exchange: Exchange): void {
    const { faults } = this.#parts;
    const page = exchange.request.path.startsWith('/api/') ? undefined : this.#parts.page(exchange.request);
    if (page !== undefined) return this.#send(exchange, page, false);
    const effects = faults.draw({
      endpoint: this.#endpointName(exchange.request),
      account: this.#accountOf(exchange.request),
      region: exchange.region,
      atMs: this.#parts.clock.nowMs(),
      isReduceOnly: () => parsedObject(exchange.request.body.toString())?.['reduceOnly'] === true,
    });
    const plan = planOf(effects, faults.random);
    exchange.faults = effects.map((effect) => effect.kind);
    const proceed = () => this.#proceed(exchange, plan);
    if (plan.requestDelayMs > 0) this.delays.after(plan.requestDelayMs, proceed);
    else proceed();
  }

  #proceed(exchange: Exchange, plan: FaultPlan): void {
    if (plan.unseen !== undefined) {
      this.#record(exchange, 'unseen', {});
      return lose(exchange, plan.unseen);
    }
    if (plan.instead !== undefined && !isApplied(plan.instead)) {
      const reply = faultReply(plan.instead, exchange.request.path, this.#parts.serverTimeMs());
      return this.#answerUnseen(exchange, reply);
    }
    const lateMs = plan.lost === undefined ? 0 : this.#parts.model.readings().lateArrivalMs;
    if (plan.late !== undefined || lateMs > 0) return this.#applyLate(exchange, plan, lateMs);
    return this.#process(exchange, plan);
  }

  /** Loses the connection of the client now; processes the request when it arrives later. */
  #applyLate(exchange: Exchange, plan: FaultPlan, lateArrivalMs: number): void {
    const lost = plan.late === undefined ? plan.lost : plan.late.connection;
    lose(exchange, lost ?? 'reset');
    const seq = this.#record(exchange, 'pending', {});
    const arrive = () => this.#complete(exchange, plan.staleMs, seq);
    const delayMs = plan.late === undefined ? lateArrivalMs : plan.late.delayMs;
    if (delayMs === undefined) this.delays.hold(arrive);
    else this.delays.after(delayMs, arrive);
  }

  #complete(exchange: Exchange, staleMs: number, seq: number): void {
    const handledAtMs = this.#parts.model.nowMs();
    const dispatched = this.#parts.dispatch(exchange.request, staleMs);
    const outcome = outcomeOf(dispatched.reply);
    this.#parts.log.update(seq, { handledAtMs, outcome, ...learned(dispatched) });
  }

  #process(exchange: Exchange, plan: FaultPlan): void {
    const dispatched = this.#parts.dispatch(exchange.request, plan.staleMs);
    const reply =
      plan.instead === undefined
        ? this.#cancelledAtOnce(dispatched, plan.cancelledAs)
        : faultReply(plan.instead, exchange.request.path, this.#parts.serverTimeMs());
    const body = plan.damages.length === 0 ? reply.body : this.#damaged(reply, plan, dispatched);
    const delivered = plan.lost === undefined && !plan.cutBody && body === reply.body;
    const { status } = reply;
    this.#record(exchange, outcomeOf(dispatched.reply), { ...learned(dispatched), delivered, status });
    if (plan.lost !== undefined) return lose(exchange, plan.lost);
    const encoding = plan.encoding === undefined ? {} : { encoding: plan.encoding };
    const finish = () => this.#send(exchange, { ...reply, body, ...encoding }, plan.cutBody);
    if (plan.replyDelayMs > 0) return this.delays.after(plan.replyDelayMs, finish);
    return finish();
  }

  #damaged(reply: Reply, plan: FaultPlan, { params }: Dispatched): string {
    const { faults, clock } = this.#parts;
    const market = params?.['market'];
    return damagedBody(reply, plan, {
      random: faults.random,
      nowMs: clock.nowMs(),
      market: typeof market === 'string' ? market : undefined,
    });
  }

  /** Cancels a just accepted order and puts `status` into the reply. */
  #cancelledAtOnce({ reply, accountId }: Dispatched, status: string | undefined): Reply {
    if (status === undefined || accountId === undefined) return reply;
    const order = parsedObject(reply.body);
    const orderId = order?.['order_id'] ?? order?.['orderId'];
    if (typeof orderId !== 'number' || !this.#parts.cancelOrder(accountId, orderId)) return reply;
    return { ...reply, body: JSON.stringify({ ...order, status }) };
  }

  #answerUnseen(exchange: Exchange, reply: Reply): void {
    this.#record(exchange, 'unseen', { status: reply.status, delivered: true });
    this.#send(exchange, reply, false);
  }

  #send({ connection, request }: Exchange, reply: Reply, isCut: boolean): void {
    const unasked = request.acceptEncoding === undefined ? this.#parts.model.readings().compression : 'none';
    const isPlain = unasked === 'none' || reply.encoding !== undefined;
    connection.send(isPlain ? reply : { ...reply, encoding: unasked }, this.#dateHeader(), isCut);
  }

  #dateHeader(): string {
    const second = Math.floor(this.#parts.serverTimeMs() / 1_000);
    if (second !== this.#dateSecond) {
      this.#dateSecond = second;
      this.#date = new Date(second * 1_000).toUTCString();
    }
    return this.#date;
  }

  #record(exchange: Exchange, outcome: RequestOutcome, known: Partial<RequestRecord>): number {
    const { request } = exchange;
    const seen = outcome === 'served' || outcome === 'refused';
    const nowMs = this.#parts.model.nowMs();
    return this.#parts.log.add({
      atMs: nowMs,
      handledAtMs: seen ? nowMs : null,
      region: exchange.region,
      address: request.address,
      httpMethod: request.httpMethod,
      path: request.path,
      endpoint: this.#endpointName(request),
      outcome,
      account: this.#accountOf(request) ?? null,
      nonce: null,
      code: null,
      message: null,
      fields: null,
      clientOrderId: null,
      status: null,
      faults: exchange.faults,
      delivered: false,
      ...known,
    });
  }

  #endpointName(request: IncomingRequest): string {
    return this.#parts.endpoints.get(request.path)?.name ?? '';
  }

  /** Unverified. */
  #accountOf(request: IncomingRequest): string | undefined {
    return this.#parts.accounts.findKey(request.apiKey ?? '')?.accountId;
  }
}

interface Exchange {
  readonly region: number;
  readonly connection: ReplyConnection;
  readonly request: IncomingRequest;
  faults: readonly string[];
}

function lose({ connection }: Exchange, how: LostConnection): void {
  if (how === 'reset') connection.reset();
}

function outcomeOf(reply: Reply): RequestOutcome {
  return reply.error === undefined ? 'served' : 'refused';
}

/** Log fields of a dispatched request; the log never keeps bodies. */
function learned({ reply, accountId, nonce, params }: Dispatched) {
  return {
    ...(accountId === undefined ? {} : { account: accountId }),
    nonce: nonce ?? null,
    status: reply.status,
    code: reply.error?.code ?? null,
    message: reply.error?.message ?? null,
    fields: reply.error?.fields ?? null,
    clientOrderId: clientOrderIdOf(params) ?? null,
  };
}

/** Delayed work, which can be dropped at once so that a closed server leaves no timer behind. */
class Delays {
  readonly #timers: Pick<Timers, 'after'>;
  readonly #waiting = new Set<() => void>();
  #held: (() => void)[] = [];

  constructor(timers: Pick<Timers, 'after'>) {
    this.#timers = timers;
  }

  after(delayMs: number, work: () => void): void {
    const callOff = this.#timers.after(delayMs, () => {
      this.#waiting.delete(callOff);
      work();
    });
    this.#waiting.add(callOff);
  }

  hold(work: () => void): void {
    this.#held.push(work);
  }

  get heldCount(): number {
    return this.#held.length;
  }

  /** Runs the held work in order of arrival; returns how much it was. */
  release(): number {
    const held = this.#held;
    this.#held = [];
    for (const work of held) work();
    return held.length;
  }

  cancel(): void {
    for (const callOff of this.#waiting) callOff();
    this.#waiting.clear();
    this.#held = [];
  }
}
