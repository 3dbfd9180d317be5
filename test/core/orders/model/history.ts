import {
  ACCOUNT_HOLDER,
  type AccountCancel,
  type AccountChange,
  type AccountLane,
  advanceAccount,
  beginAccountCancel,
  finishAccountCancel,
  newAccountLane,
  observeAccountRequests,
  recoverAccount,
} from '../../../../src/core/account-lane.ts';
import type { LaneContext } from '../../../../src/core/admission.ts';
import { type AuditEvent, recorder } from '../../../../src/core/audit-event.ts';
import { type LaneRequest, operatorIntent, withdrawOperatorIntent } from '../../../../src/core/intent.ts';
import { advance } from '../../../../src/core/lane.ts';
import { observeRead, observeRequests } from '../../../../src/core/lane-observe.ts';
import {
  type CancelStep,
  type LaneState,
  newLane,
  type PlaceStep,
  parseLane,
  type RequestStep,
  type Step,
} from '../../../../src/core/lane-state.ts';
import { begin, finish, type StepResult } from '../../../../src/core/lane-step.ts';
import { acknowledgeNoPriorOrders, hold, recover, release, startLife } from '../../../../src/core/life.ts';
import type { CommandOutcome, ExchangeError, PlacedOrder } from '../../../../src/core/ports/exchange.ts';
import type { ReadObservation } from '../../../../src/core/read-market.ts';
import type { ActionSpec, ReduceTarget } from '../../../../src/core/rule.ts';
import type { AccountSettings, MarketSettings } from '../../../../src/core/settings.ts';
import type { ActionRequest } from '../../../../src/core/subject.ts';
import { type Fill, ModelExchange, type ModelRequest, type Readings } from './exchange.ts';
import { lotsOf, lotsText, MARKET, ticksOf, viewOf } from './views.ts';

/** What the driver remembers of an order of ours, for judging its fills. */
export interface OrderTag {
  readonly role: 'reduce' | 'cover';
  readonly floorLots: number;
  readonly overshoot: boolean;
  readonly basisMs: number;
  readonly positionId: string;
  readonly openDate: number;
  filledMs: number | null;
  readonly clientOrderId: string;
}

export interface Setup {
  readonly readings: Readings;
  readonly settings: AccountSettings;
  readonly ownerActs: boolean;
  readonly lots: number;
  readonly leverage: number;
  readonly sign: 1 | -1;
  readonly otherLots: number;
  readonly vouched: boolean;
  /** The market's entry in the config as it is now; a reload replaces it. */
  readonly config: { market: MarketSettings | undefined };
}

export type Fault =
  | 'none'
  | 'lostBefore'
  | 'lostAfter'
  | 'late'
  | 'crashBefore'
  | 'crashAfter'
  | 'refused'
  | 'limited'
  | 'duplicateReport';

export interface Stats {
  readonly counts: Map<string, number>;
}

export function count(stats: Stats, what: string, by = 1): void {
  stats.counts.set(what, (stats.counts.get(what) ?? 0) + by);
}

interface Slot {
  active: boolean;
  episode: number;
  positionId: string;
  stages: { readonly action: ActionSpec; readonly atMs: number }[];
}

interface Actor {
  state: LaneState;
  account: AccountLane;
  paused: boolean;
  /** A change that was under way when the pause came may complete. */
  grace: boolean;
}

interface OwnerReduction {
  readonly atMs: number;
  readonly positionId: string;
  readonly lots: number;
}

const LATENCY_MS = 20;
const TIMEOUT_MS = 100;
const RECENT_MS = 60_000;
export class Violation extends Error {}

/** One account and market, its exchange, one or two actors, and all the checks. */
export class History {
  readonly exchange: ModelExchange<OrderTag>;
  readonly setup: Setup;
  readonly stats: Stats;
  readonly actors: Actor[];
  readonly slots: Slot[];
  readonly events: AuditEvent[] = [];
  readonly ended = new Set<string>();
  current = 0;
  sent = 0;
  seen: (what: string) => void;
  #nonce = 0;
  #lives = 0;
  #placed: OrderTag[] = [];
  #reductions: OwnerReduction[] = [];
  #overshot = new Set<number>();
  #targets = new Map<string, string>();
  #sizesSeen = new Map<string, Set<number>>();
  #pendingReads: ReadObservation[] = [];
  #silenced: string[] = [];
  #marks = new Set<string>();
  #ids = new Map<string, string>();
  #rebuilt = new Map<string, number>();
  /** Which position a read really showed, by its time and the id. */
  #dates = new Map<string, number>();
  #blindUntilMs = 0;
  #flattened = false;
  #operatorIds = 0;

  constructor(setup: Setup, stats: Stats) {
    this.setup = setup;
    this.stats = stats;
    this.seen = (what) => this.#marks.add(what);
    this.exchange = new ModelExchange(
      setup.readings,
      (fill) => this.#judgeFill(fill),
      (positionId, lots) => this.#reductions.push({ atMs: this.exchange.nowMs, positionId, lots }),
    );
    const side = setup.readings.hedgeMode ? (setup.sign === 1 ? 'LONG' : 'SHORT') : 'BOTH';
    this.exchange.open('1', side, setup.sign, setup.lots, setup.leverage);
    if (setup.readings.hedgeMode && setup.otherLots > 0) {
      const other = setup.sign === 1 ? 'SHORT' : 'LONG';
      this.exchange.open('2', other, setup.sign === 1 ? -1 : 1, setup.otherLots, setup.leverage);
    }
    // Longer ago than any read may lag.
    this.exchange.advanceTo(this.exchange.nowMs + 5_000);
    this.actors = [0, 1].map(() => ({
      state: this.#firstLane(),
      account: newAccountLane('desk'),
      paused: false,
      grace: false,
    }));
    this.slots = [0, 1, 2, 3].map(() => ({ active: false, episode: 0, positionId: '1', stages: [] }));
  }

  /** The first life of all: where the setup says so, the operator vouches that nothing was placed before. */
  #firstLane(): LaneState {
    const lane = this.#freshLane();
    return this.setup.vouched ? acknowledgeNoPriorOrders(lane) : lane;
  }

  close(): void {
    for (const what of this.#marks) count(this.stats, what);
    count(this.stats, 'histories');
  }

  #freshLane(): LaneState {
    this.#lives += 1;
    return newLane('desk', MARKET, `L${this.#lives}`, this.exchange.nowMs);
  }

  get actor(): Actor {
    const actor = this.actors[this.current];
    if (actor === undefined) throw new Error('no such actor');
    return actor;
  }

  #context(): LaneContext {
    const { settings } = this.setup;
    return {
      settings,
      gate: {
        paused: this.actor.paused,
        silencedRules: this.#silenced,
        limited: {},
        modeOf: () => settings.mode,
      },
    };
  }

  // ---- what the owner and the rules do ----------------------------------------------------------------

  fire(index: number, target: ReduceTarget | null): void {
    const slot = this.slots[index];
    const [position] = index % 2 === 0 ? this.exchange.positions : [...this.exchange.positions].reverse();
    if (slot === undefined || slot.active || position === undefined) return;
    slot.active = true;
    slot.episode += 1;
    slot.positionId = position.id;
    slot.stages = [{ action: this.#action(index, target), atMs: this.exchange.nowMs }];
  }

  escalate(index: number, target: ReduceTarget): void {
    const slot = this.slots[index];
    if (slot === undefined || !slot.active || slot.stages.length > 2 || index > 1) return;
    slot.stages.push({ action: this.#action(index, target), atMs: this.exchange.nowMs });
  }

  resolve(index: number): void {
    const slot = this.slots[index];
    if (slot !== undefined) slot.active = false;
  }

  #action(index: number, target: ReduceTarget | null): ActionSpec {
    if (index === 2) return { kind: 'protect', at: 0.6, slippage: 0.01 };
    if (index === 3) return { kind: 'cancelAll', types: ['margin', 'futures'], scope: 'market' };
    return { kind: 'reduce', target: target ?? { kind: 'by', fraction: 0.5 }, slippageSteps: [0.005, 0.02] };
  }

  silence(): void {
    this.#silenced = this.#silenced.length === 0 ? ['rule0'] : [];
  }

  /** No read tells the mark for a while. */
  blind(forMs: number): void {
    this.#blindUntilMs = this.exchange.nowMs + forMs;
    this.seen('blind');
  }

  endBlindness(): void {
    this.#blindUntilMs = 0;
  }

  /** The config is read again. */
  reload(market: MarketSettings | undefined): void {
    this.setup.config.market = market;
    this.seen('reload');
  }

  /** An operator's own intent, or its withdrawal. */
  operate(kind: 'flatten' | 'reduce' | 'withdraw', fraction: number): void {
    const { actor } = this;
    const { settings } = this.setup;
    const [position] = this.exchange.positions;
    const nowMs = this.exchange.nowMs;
    const audit = recorder('desk', MARKET, nowMs);
    if (kind === 'withdraw') {
      const state = withdrawOperatorIntent(actor.state, `${this.#operatorIds}`, nowMs, audit);
      this.#apply({ state, events: audit.events });
      return;
    }
    if (position === undefined) return;
    this.#operatorIds += 1;
    if (kind === 'flatten') this.#flattened = true;
    const request = {
      id: `${this.#operatorIds}`,
      positionId: position.id,
      target: { kind: 'to', fraction: kind === 'flatten' ? 0 : fraction },
      slippageSteps: [0.01],
      flatten: kind === 'flatten',
      because: 'by hand',
    } as const;
    const state = operatorIntent(actor.state, request, settings, nowMs, audit);
    this.#apply({ state, events: audit.events });
    this.seen('operator');
  }

  /** A rule of the account cancels everything: through its own lane, with a fault. */
  cancelAccount(fault: Fault): void {
    const { actor } = this;
    const { settings } = this.setup;
    this.#accountEpisodes += 1;
    const wide = this.#accountRequest();
    const nowMs = this.exchange.nowMs;
    actor.account = observeAccountRequests(actor.account, [wide], true, settings, nowMs);
    this.seen('accountWide');
    let chosen = fault;
    for (let step = 0; step < 6; step++) {
      if (!this.#accountStep(chosen)) return;
      chosen = 'none';
    }
  }

  /** What the account's own lane left undone; its rule has resolved by now. */
  finishAccount(): void {
    const { actor } = this;
    actor.account = observeAccountRequests(actor.account, [], true, this.setup.settings, this.exchange.nowMs);
    for (let step = 0; step < 6 && this.#accountStep('none'); step++);
    if (actor.state.heldBy !== null) throw new Violation('a lane that is held for good');
  }

  #accountEpisodes = 0;

  #accountRequest(): ActionRequest {
    const action: ActionSpec = { kind: 'cancelAll', types: ['margin', 'futures'], scope: 'account' };
    const slot: Slot = { active: true, episode: this.#accountEpisodes, positionId: '1', stages: [] };
    return {
      ...this.#request(slot, 9, 0, action, this.exchange.nowMs),
      subjectKind: 'account',
      subject: 'account',
    };
  }

  /** @returns whether there may be more to do. */
  #accountStep(fault: Fault): boolean {
    const { actor } = this;
    const advanced = advanceAccount(actor.account, [actor.state], this.#context(), this.exchange.nowMs);
    actor.account = advanced.state;
    const { step } = advanced;
    switch (step.kind) {
      case 'idle':
      case 'wait':
        return false;
      case 'takeLanes': {
        const held = hold(actor.state, ACCOUNT_HOLDER);
        if (held !== undefined) actor.state = held;
        return held !== undefined;
      }
      case 'releaseLanes':
        actor.state = release(actor.state, ACCOUNT_HOLDER);
        return true;
      case 'cancelAll':
        this.#carryOutAccount(step.cancel, fault);
        return true;
    }
  }

  #carryOutAccount(cancel: AccountCancel, fault: Fault): void {
    const { actor } = this;
    const { settings } = this.setup;
    this.#checkGate();
    this.#nonce += 1;
    this.#takeAccount(beginAccountCancel(actor.account, [actor.state], cancel, this.exchange.nowMs));
    const isDelivered = fault === 'none' || fault === 'duplicateReport' || fault.endsWith('After');
    const isAccepted = isDelivered && this.exchange.cancelAll(this.#nonce);
    if (fault === 'late') {
      this.exchange.cancelLate(this.#nonce, this.exchange.nowMs + settings.lateArrivalMs);
    }
    this.exchange.advanceTo(this.exchange.nowMs + (isDelivered ? LATENCY_MS : TIMEOUT_MS));
    const nowMs = this.exchange.nowMs;
    if (fault === 'crashBefore' || fault === 'crashAfter') {
      this.#takeAccount(recoverAccount(actor.account, [actor.state], settings, nowMs));
      return this.crash();
    }
    const outcome = this.#accountOutcome(fault, isAccepted);
    this.#takeAccount(finishAccountCancel(actor.account, [actor.state], outcome, settings, nowMs));
  }

  #accountOutcome(fault: Fault, isAccepted: boolean): CommandOutcome<null> {
    if (isAccepted && fault !== 'lostAfter') return { kind: 'accepted', value: null, timing: this.#timing() };
    if (fault === 'limited') return { kind: 'rejected', error: failure('rateLimited', 'none') };
    if (fault === 'refused') return { kind: 'rejected', error: failure('permissionDenied', 'none') };
    return { kind: 'unknown', error: failure('timeout', 'possible') };
  }

  #takeAccount(change: AccountChange): void {
    this.actor.account = change.state;
    const [state] = change.lanes;
    if (state !== undefined) this.#apply({ state, events: change.events });
  }

  rebuild(lots: number, flipped: boolean): void {
    const [position] = this.exchange.positions;
    if (position === undefined || this.exchange.positions.length > 1) return;
    const { id, side, sign } = position;
    this.exchange.ownerReduces(id, position.lots);
    const isOneWay = side === 'BOTH';
    this.exchange.open(id, side, flipped && isOneWay ? (sign === 1 ? -1 : 1) : sign, lots, 10);
    this.seen('rebuilt');
  }

  // ---- what the daemon sees and does ------------------------------------------------------------------

  requests(): LaneRequest[] {
    return this.slots.flatMap((slot, index) =>
      slot.active
        ? slot.stages.map(({ action, atMs }, stage) => ({
            request: this.#request(slot, index, stage, action, atMs),
            positionId: slot.positionId,
          }))
        : [],
    );
  }

  #request(slot: Slot, index: number, stage: number, action: ActionSpec, atMs: number): ActionRequest {
    return {
      accountId: 'desk',
      ruleId: `rule${index}`,
      ruleChecksum: 'c',
      subjectKind: 'position',
      subject: `position:${slot.positionId}`,
      episode: slot.episode,
      stage,
      actionIndex: 0,
      action,
      mode: this.setup.settings.mode,
      severity: 'critical',
      atMs,
      because: 'the test says so',
      exemptFromLimits: false,
    };
  }

  observation(lagMs: number, complete: boolean, isMarkKnown: boolean): ReadObservation {
    const snapshot = this.exchange.read(lagMs);
    for (const { id, openDate } of snapshot.positions)
      this.#dates.set(`${this.exchange.nowMs}/${id}`, openDate);
    const isBlind = this.exchange.nowMs < this.#blindUntilMs;
    const shown = complete ? snapshot.positions : snapshot.positions.slice(1);
    return {
      sentAtMs: this.exchange.nowMs,
      receivedAtMs: this.exchange.nowMs + LATENCY_MS,
      complete,
      positions: shown.map((position) =>
        viewOf(position, snapshot, isMarkKnown && !isBlind, this.setup.readings.showsOpenDate),
      ),
    };
  }

  /** A poll: a read, and what evaluating makes of it. Its reply may be handed over later, or twice. */
  poll(lagMs: number, complete: boolean, isMarkKnown: boolean, isDelayed: boolean): void {
    const observation = this.observation(lagMs, complete, isMarkKnown);
    this.exchange.advanceTo(this.exchange.nowMs + LATENCY_MS);
    if (isDelayed) this.#pendingReads.push(observation);
    else this.#deliver(observation);
  }

  deliverLate(): void {
    for (const observation of this.#pendingReads.splice(0)) this.#deliver(observation);
    this.seen('reordered');
  }

  #deliver(observation: ReadObservation): void {
    if (observation.complete) this.#closeGone(observation);
    this.#noteSizes(observation);
    const { settings } = this.setup;
    const nowMs = this.exchange.nowMs;
    this.#apply(observeRead(this.actor.state, observation, settings, nowMs));
    this.#apply(observeRequests(this.actor.state, this.requests(), observation.complete, settings, nowMs));
  }

  /** Evaluating ends the episodes of positions that are absent from a complete list. */
  #closeGone(observation: ReadObservation): void {
    for (const slot of this.slots) {
      const isThere = observation.positions.some((view) => view.positionId === slot.positionId);
      const isRecent = slot.stages.some(({ atMs }) => atMs > observation.sentAtMs);
      if (slot.active && !isThere && !isRecent) slot.active = false;
    }
  }

  #noteSizes(observation: ReadObservation): void {
    for (const view of observation.positions) {
      const key = `${view.positionId}/${view.openDate ?? 0}`;
      const sizes = this.#sizesSeen.get(key) ?? new Set<number>();
      sizes.add(lotsOf(view.sizeBase));
      this.#sizesSeen.set(key, sizes);
    }
  }

  #apply(change: { readonly state: LaneState; readonly events: readonly AuditEvent[] }): void {
    this.actor.state = change.state;
    for (const event of change.events) this.#noteEvent(event);
    this.#checkTargets(change.state);
    if (this.actor.grace && change.state.change === null) this.actor.grace = false;
  }

  #noteEvent(event: AuditEvent): void {
    this.events.push(event);
    this.seen(`event:${event.kind}`);
    if (event.reason === 'expired:rebuilt' && event.key !== undefined) {
      this.#rebuilt.set(event.key, (this.#rebuilt.get(event.key) ?? 0) + 1);
    }
    if (event.kind === 'intentEnded') {
      this.seen(`end:${event.reason}`);
      if (!event.reason.startsWith('expired') && event.key !== undefined) this.ended.add(event.key);
      const isWatched = event.reason === 'failed:refused:observeMode';
      if (event.reason.startsWith('failed') && event.alarm === isWatched)
        throw new Violation('a failure without an alarm, or an alarm for what was only watched');
    }
  }

  /** Targets: by, to and toNotional never change; untilDistance never rises; both stem from sizes seen. */
  #checkTargets(state: LaneState): void {
    for (const intent of state.intents) {
      const { targetBase, basis } = intent;
      if (targetBase === null || basis === null) continue;
      const times = this.#rebuilt.get(intent.key) ?? 0;
      const key = `${state.life}|${intent.key}|${basis.openDate}|${intent.source}|${times}`;
      const before = this.#targets.get(key);
      if (before === targetBase) continue;
      this.#targets.set(key, targetBase);
      if (before === undefined) this.#checkFirstTarget(intent);
      else if (intent.target.kind !== 'untilDistance' || Number(targetBase) > Number(before)) {
        throw new Violation(`target of ${key} went from ${before} to ${targetBase}`);
      }
    }
  }

  #checkFirstTarget(intent: LaneState['intents'][number]): void {
    const { target, positionId, basis } = intent;
    const sizes = [...(this.#sizesSeen.get(`${positionId}/${basis?.openDate ?? 0}`) ?? [])];
    const got = lotsOf(intent.targetBase ?? '0');
    const share = target.kind === 'by' ? 1 - target.fraction : target.kind === 'to' ? target.fraction : null;
    if (share === null) return;
    const least = 1 - this.setup.settings.largestReduction;
    const bound = intent.source === 'rule' ? Math.max(share, least) : share;
    const isRight = sizes.some((size) => Math.ceil(Math.round(size * bound * 1e6) / 1e6) === got);
    if (!isRight) throw new Violation(`target ${got} is not ${bound} of any size seen (${sizes.join(', ')})`);
  }

  pause(): void {
    const { actor } = this;
    for (const one of this.actors) one.paused = !one.paused;
    actor.grace = actor.paused && actor.state.change !== null;
    this.seen('paused');
  }

  newLife(): void {
    this.actor.state = this.#freshLane();
    this.actor.account = newAccountLane('desk');
    this.actor.grace = false;
    this.seen('newLife');
  }

  /** Turns are longer than a request may take to arrive; each begins with cancel, read, place. */
  takeTurns(): void {
    const { settings } = this.setup;
    this.exchange.advanceTo(this.exchange.nowMs + settings.lateArrivalMs + TIMEOUT_MS);
    this.current = 1 - this.current;
    this.#lives += 1;
    const { state } = this.actor;
    this.actor.state = startLife(state, `L${this.#lives}`, settings, this.exchange.nowMs);
    this.actor.grace = false;
    this.seen('turns');
  }

  /** The process dies between two steps, or in the middle of one. */
  crash(): void {
    this.actor.state = parseLane(JSON.stringify(this.actor.state));
    this.#apply(recover(this.actor.state, this.setup.settings, this.exchange.nowMs));
    this.seen('crash');
  }

  /** Asks for the next step and carries it out with a fault; returns the step. */
  work(faultOf: (kind: RequestStep['kind']) => Fault, delayMs: number, lagMs: number): Step {
    const advanced = advance(this.actor.state, this.#context(), this.exchange.nowMs);
    this.#apply(advanced);
    const { step } = advanced;
    if (step.kind === 'idle' || step.kind === 'wait') return step;
    const { generation } = this.actor.state;
    this.#apply(begin(this.actor.state, step, this.exchange.nowMs));
    if (step.kind === 'place') this.#checkId(step);
    if (step.kind === 'cancelAll' && this.actor.state.generation <= generation) {
      throw new Violation('a cancel that did not raise the generation');
    }
    const fault = faultOf(step.kind);
    if (step.kind === 'readPositions') this.#carryOutRead(fault, lagMs);
    else this.#carryOut(step, fault, delayMs);
    return step;
  }

  /** No two orders share an id; only an order of which nothing is known is sent again under its own. */
  #checkId(step: PlaceStep): void {
    const { clientOrderId } = step.request;
    const text = JSON.stringify(step.request);
    const before = this.#ids.get(clientOrderId);
    if (before !== undefined && (before !== text || !step.isResend))
      throw new Violation(`id ${clientOrderId} twice`);
    if (step.isResend) this.seen('resend');
    this.#ids.set(clientOrderId, text);
  }

  /**
   * At rest, with a fresh read and nothing on its way, what is open at the exchange cannot take a position below
   * the smallest target, and nothing is open that nobody wants.
   */
  checkAtRest(): void {
    const { settings } = this.setup;
    const { state } = this.actor;
    if (settings.mode === 'observe' || settings.cancel === 'never' || !settings.cancelCoversStops) return;
    // Without settings what is wanted could not come back after a cancel: then all stays.
    if (this.setup.config.market === undefined) return;
    if (this.#silenced.length > 0 || state.doubt !== null || this.exchange.inFlight > 0) return;
    const seenFromMs = (state.read?.sentAtMs ?? 0) - settings.readLagMs;
    if (seenFromMs <= this.exchange.changedMs) return;
    // The owner may trade exactly the amount of an order beside its activation: no read can tell that from its fill.
    const presumed = new Set(
      state.orders.filter((order) => order.presumedFilled).map((order) => order.request.clientOrderId),
    );
    for (const position of this.exchange.positions) {
      const ours = this.exchange.orders.filter((order) => order.tag.positionId === position.id);
      const reducing = ours.filter(
        (order) =>
          order.tag.role === 'reduce' && !order.tag.overshoot && !presumed.has(order.tag.clientOrderId),
      );
      const left = reducing.reduce((sum, order) => sum + order.left, 0);
      const floor = Math.min(this.#floor(position.id), position.lots);
      if (position.lots - left < floor)
        throw new Violation(`at rest ${left} of ${position.lots} open, target ${floor}`);
    }
    const { showsOpenDate } = this.setup.readings;
    const orphan = this.exchange.orders.find(
      ({ tag }) =>
        !this.exchange.positions.some(({ id, openDate }) =>
          showsOpenDate ? openDate === tag.openDate : id === tag.positionId,
        ),
    );
    if (orphan !== undefined) throw new Violation('at rest an order of a position that is gone');
    this.seen('atRest');
  }

  #carryOutRead(fault: Fault, lagMs: number): void {
    const isLost = fault === 'lostAfter' || fault === 'lostBefore';
    const observation = isLost ? null : this.observation(lagMs, true, true);
    if (observation !== null) this.#noteSizes(observation);
    this.exchange.advanceTo(this.exchange.nowMs + LATENCY_MS);
    if (fault === 'crashAfter') return this.crash();
    this.#report({ kind: 'readPositions', observation }, fault);
  }

  #report(result: StepResult, fault: Fault): void {
    const { settings } = this.setup;
    this.#apply(finish(this.actor.state, result, settings, this.exchange.nowMs));
    if (fault !== 'duplicateReport') return;
    const before = JSON.stringify(this.actor.state);
    this.#apply(finish(this.actor.state, result, settings, this.exchange.nowMs));
    if (JSON.stringify(this.actor.state) !== before) throw new Violation('a second report changed the lane');
  }

  #carryOut(step: Exclude<RequestStep, { kind: 'readPositions' }>, fault: Fault, delayMs: number): void {
    this.#checkGate();
    this.sent += 1;
    this.#nonce += 1;
    this.seen(`sent:${step.kind}`);
    if (fault === 'refused' || fault === 'limited') return this.#finishRefused(step, fault);
    const isDelivered =
      fault === 'none' || fault === 'duplicateReport' || fault === 'lostAfter' || fault === 'crashAfter';
    const outcome = isDelivered ? this.#deliverRequest(step) : undefined;
    if (fault === 'late') this.#deliverLater(step, delayMs);
    if (fault === 'crashBefore' || fault === 'crashAfter') return this.crash();
    if (outcome !== undefined && fault !== 'lostAfter') {
      this.exchange.advanceTo(this.exchange.nowMs + LATENCY_MS);
      return this.#report(outcome, fault);
    }
    this.exchange.advanceTo(this.exchange.nowMs + TIMEOUT_MS);
    this.seen('unknown');
    const error = failure('timeout', 'possible');
    this.#report({ kind: step.kind, outcome: { kind: 'unknown', error } }, fault);
  }

  #finishRefused(step: Exclude<RequestStep, { kind: 'readPositions' }>, fault: Fault): void {
    this.exchange.advanceTo(this.exchange.nowMs + LATENCY_MS);
    const error =
      fault === 'limited' ? failure('rateLimited', 'none') : failure('validationFailed', 'none', 30);
    this.#report({ kind: step.kind, outcome: { kind: 'rejected', error } }, fault);
  }

  #checkGate(): void {
    if (this.setup.settings.mode === 'observe') throw new Violation('a request in observe mode');
    if (this.actor.paused && !this.actor.grace) throw new Violation('a request after a pause');
  }

  #deliverRequest(step: PlaceStep | CancelStep): StepResult {
    if (step.kind === 'cancelAll') {
      const isAccepted = this.exchange.cancelAll(this.#nonce);
      const outcome: CommandOutcome<null> = isAccepted
        ? { kind: 'accepted', value: null, timing: this.#timing() }
        : { kind: 'rejected', error: failure('nonceRefused', 'none') };
      return { kind: 'cancelAll', outcome };
    }
    this.#checkShape(step);
    const reply = this.exchange.place(modelRequest(step), this.#tag(step), this.#nonce);
    if (reply.kind === 'refused') {
      this.seen(`refused:${reply.code}`);
      return {
        kind: 'place',
        outcome: { kind: 'rejected', error: failure(REFUSALS[reply.code], 'none', reply.code) },
      };
    }
    return {
      kind: 'place',
      outcome: { kind: 'accepted', value: placed(step, reply), timing: this.#timing() },
    };
  }

  #deliverLater(step: PlaceStep | CancelStep, delayMs: number): void {
    const latest = TIMEOUT_MS + this.setup.settings.lateArrivalMs - 1;
    const arriveMs = this.exchange.nowMs + Math.min(delayMs, latest);
    this.seen('late');
    if (step.kind === 'cancelAll') this.exchange.cancelLate(this.#nonce, arriveMs);
    else this.exchange.placeLate(modelRequest(step), this.#tag(step), this.#nonce, arriveMs);
  }

  #timing(): { sentAtMs: number; receivedAtMs: number; attempts: number } {
    return { sentAtMs: this.exchange.nowMs, receivedAtMs: this.exchange.nowMs, attempts: 1 };
  }

  /** By the prices that the lane knew, the activation is on the right side of the market, a cover's inside. */
  #checkShape(step: PlaceStep): void {
    const { state } = this.actor;
    const { order, request } = step;
    const read = step.ahead ? state.glance : state.read;
    const position = read?.positions.find((candidate) => candidate.positionId === order.positionId);
    if (position === undefined || position.markPrice === null)
      throw new Violation('an order without a price');
    const away = Number(position.markPrice) - Number(request.activationPrice);
    const isRight = request.side === 'sell' ? away > 0 : away < 0;
    if (!isRight) throw new Violation(`activation ${request.activationPrice} at mark ${position.markPrice}`);
    if ((request.side === 'sell') !== (position.direction === 'long')) throw new Violation('wrong side');
    if (order.role !== 'cover' || step.isResend) return;
    const room = Number(request.activationPrice) - Number(position.liquidationPrice);
    const isInside = request.side === 'sell' ? room > 0 : room < 0;
    if (!isInside) throw new Violation('a stop at or beyond the liquidation price');
  }

  #tag(step: PlaceStep): OrderTag {
    const { state } = this.actor;
    const { order } = step;
    const read = step.ahead ? state.glance : state.read;
    const tag: OrderTag = {
      role: order.role,
      floorLots: order.role === 'cover' ? 0 : this.#floor(order.positionId),
      overshoot: order.overshoot,
      basisMs: (read?.sentAtMs ?? 0) - this.setup.settings.readLagMs,
      positionId: order.positionId,
      openDate: this.#dates.get(`${read?.sentAtMs ?? 0}/${order.positionId}`) ?? 0,
      filledMs: null,
      clientOrderId: step.request.clientOrderId,
    };
    if (order.overshoot) {
      this.#overshot.add(tag.openDate);
      this.seen('overshoot');
      if (this.setup.settings.overshoot === 'never')
        throw new Violation('overshoot although it is forbidden');
    }
    this.#placed.push(tag);
    return tag;
  }

  #floor(positionId: string): number {
    const targets = this.actor.state.intents
      .filter(
        (intent) => intent.positionId === positionId && intent.end === null && intent.targetBase !== null,
      )
      .map((intent) => lotsOf(intent.targetBase ?? '0'));
    return Math.min(...targets);
  }

  /** Invariants 1 and 4, on the exchange's ledger. */
  #judgeFill(fill: Fill<OrderTag>): void {
    const { tag } = fill;
    this.seen(`fill:${tag.role}`);
    tag.filledMs = fill.atMs;
    if (fill.after > fill.before) throw new Violation('a position grew');
    if (tag.openDate !== fill.openDate) {
      // The owner rebuilt the position while the order was open: that race cannot be won.
      this.#reductions.push({ atMs: fill.atMs, positionId: fill.positionId, lots: fill.before - fill.after });
      this.seen('fill:rebuilt');
      return;
    }
    const relevant = this.#relevantOrders(fill);
    const sinceMs = Math.min(...relevant.map((order) => order.basisMs));
    const excuse = this.#reductions
      .filter((reduction) => reduction.positionId === fill.positionId && reduction.atMs >= sinceMs)
      .reduce((sum, reduction) => sum + reduction.lots, 0);
    this.#judgeNet(fill, sinceMs);
    if (this.#overshot.has(fill.openDate)) return;
    const floor = Math.min(...relevant.map((order) => order.floorLots));
    if (fill.after + excuse < floor) {
      throw new Violation(
        `position ${fill.positionId} driven to ${fill.after}, target ${floor}, excuse ${excuse}`,
      );
    }
  }

  #relevantOrders(fill: Fill<OrderTag>): OrderTag[] {
    const open = new Set(this.exchange.orders.map((order) => order.tag));
    return this.#placed.filter(
      (order) =>
        order.positionId === fill.positionId &&
        order.openDate === fill.openDate &&
        (order === fill.tag || open.has(order) || (order.filledMs ?? -RECENT_MS) > fill.atMs - RECENT_MS),
    );
  }

  #judgeNet(fill: Fill<OrderTag>, sinceMs: number): void {
    if (this.setup.settings.hedge === 'perLeg') return;
    const ownerActed =
      this.#reductions.some((reduction) => reduction.atMs >= sinceMs) || this.ownerAddedMs >= sinceMs;
    if (ownerActed || this.#flattened || this.#overshot.has(fill.openDate)) return;
    if (Math.abs(fill.netAfter) > Math.abs(fill.netBefore)) throw new Violation('the net exposure rose');
  }

  ownerAddedMs = -1;

  describe(): string {
    const last = this.events
      .slice(-40)
      .map((event) => `${event.atMs} ${event.kind} ${event.reason} ${event.words}`);
    return `${last.join('\n')}\n${JSON.stringify(this.actor.state)}\n${JSON.stringify(this.setup)}`;
  }
}

/** As the client's catalogue names them. */
const REFUSALS = { 116: 'reduceOnlyRefused', 36: 'duplicateClientOrderId', 429: 'rateLimited' } as const;

function failure(name: string, effect: 'none' | 'possible', code?: number): ExchangeError {
  return { name, endpoint: 'stopLimit', message: name, effect, ...(code === undefined ? {} : { code }) };
}

function modelRequest(step: PlaceStep): ModelRequest {
  const { request } = step;
  return {
    clientOrderId: request.clientOrderId,
    side: request.side,
    positionSide: request.positionSide,
    lots: lotsOf(request.amount),
    activation: ticksOf(request.activationPrice),
    limit: ticksOf(request.price),
  };
}

function placed(
  step: PlaceStep,
  reply: { readonly lots: number; readonly status: 'NEW' | 'FILLED' | 'PARTIALLY_FILLED' },
): PlacedOrder {
  const { request } = step;
  const amount = lotsText(reply.lots);
  const isAdjusted = reply.lots !== lotsOf(request.amount);
  return {
    orderId: '1',
    clientOrderId: request.clientOrderId,
    clientOrderIdEchoed: true,
    market: request.market,
    side: request.side,
    status: { known: true, value: reply.status },
    amount,
    ...(isAdjusted ? { adjustedFrom: request.amount } : {}),
  };
}
