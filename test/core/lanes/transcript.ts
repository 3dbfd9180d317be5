import { type ApprovalQuestion, stageKeyOf } from '../../../src/core/approvals/question.ts';
import type { LaneContext } from '../../../src/core/intents/admission.ts';
import { episodeKeyOf, type GateContext } from '../../../src/core/intents/gate.ts';
import { operatorIntent, withdrawOperatorIntent } from '../../../src/core/intents/intent.ts';
import { advance } from '../../../src/core/lanes/lane.ts';
import { changeLane, type LaneChange } from '../../../src/core/lanes/lane-change.ts';
import { onClock } from '../../../src/core/lanes/lane-clock.ts';
import { observeRead, observeRequests } from '../../../src/core/lanes/lane-observe.ts';
import {
  type LaneState,
  newLane,
  type ReadPosition,
  type RequestStep,
} from '../../../src/core/lanes/lane-state.ts';
import { begin, finish, type StepResult } from '../../../src/core/lanes/lane-step.ts';
import type { ReadObservation } from '../../../src/core/lanes/market-read.ts';
import { hold, recover, release, startEpoch, takeUp } from '../../../src/core/lanes/recover-lane.ts';
import type { OrderRecord } from '../../../src/core/orders/cancel-policy.ts';
import type { CommandOutcome } from '../../../src/core/ports/exchange.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { AccountSettings } from '../../../src/core/quantities/settings.ts';
import type { ActionSpec, Mode } from '../../../src/core/rules/rule.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { Dice } from '../../support/dice.ts';
import { failure } from './driver.ts';
import {
  acknowledgeNoPriorOrders,
  action,
  inMarket,
  openGate,
  readAt,
  settings as usual,
} from './fixtures.ts';
import { type MarketTerms, PlayedMarket } from './played-market.ts';
import { lineOf, summaryOf } from './transcript-lines.ts';

/** One history of a lane with two positions and several rules, as lines: what it was shown, did and recorded. */

export interface Terms extends MarketTerms {
  readonly seed: number;
  readonly market: string;
  readonly changed: Partial<AccountSettings>;
}

const ACTIONS: readonly [ActionSpec, ...ActionSpec[]] = [
  { kind: 'reduce', target: { kind: 'by', fraction: 0.5 }, slippageSteps: [0.005, 0.02] },
  { kind: 'reduce', target: { kind: 'to', fraction: 0 }, slippageSteps: [0.02] },
  { kind: 'reduce', target: { kind: 'to', fraction: 0.25 }, slippageSteps: [0.003, 0.01] },
  { kind: 'reduce', target: { kind: 'untilDistance', distance: 0.12 }, slippageSteps: [0.005, 0.01] },
  { kind: 'reduce', target: { kind: 'untilJointDistance', distance: 0.1 }, slippageSteps: [0.01] },
  { kind: 'reduce', target: { kind: 'untilMarginUsage', asset: 'USDT', usage: 0.5 }, slippageSteps: [0.01] },
  { kind: 'protect', at: 0.6, slippage: 0.01 },
  { kind: 'protect', at: 0.4, slippage: 0.02 },
  {
    kind: 'protect',
    at: 0.3,
    slippage: 0.01,
    ladder: [
      { at: 0.3, leave: 0.6 },
      { at: 0.5, leave: 0.3 },
      { at: 0.7, leave: 0 },
    ],
  },
  { kind: 'cancelAll', types: ['futures'], scope: 'market' },
  { kind: 'cancelAll', types: ['spot', 'margin'], scope: 'market' },
];

const REFUSALS = [
  'reduceOnlyRefused',
  'duplicateClientOrderId',
  'cancelledOnCreation',
  'rateLimited',
  'marketInvalid',
  'amountInvalid',
  'priceInvalid',
  'insufficientBalance',
] as const;

const MOVES = 36;
const MOST_STEPS = 5;

export function transcriptOf(terms: Terms): string {
  const played = new PlayedLane(terms);
  for (let move = 0; move < MOVES; move++) played.move();
  return `${played.lines.join('\n')}\n`;
}

class PlayedLane {
  readonly lines: string[] = [];
  readonly #dice: Dice;
  readonly #market: PlayedMarket;
  readonly #settings: AccountSettings;
  readonly #isWhole: boolean;
  #gate: GateContext = openGate;
  #orders: OrderRecord | undefined;
  #standsIn = false;
  #requests: {
    readonly request: ActionRequest;
    readonly positionId: string | null;
    plannedBase?: DecimalString;
  }[] = [];
  #state: LaneState;
  #nowMs = 100_000;
  #count = 0;
  #said = '';

  constructor(terms: Terms) {
    const { seed, market, changed } = terms;
    this.#dice = new Dice(seed);
    this.#isWhole = terms.isWhole === true;
    this.#market = new PlayedMarket(market, terms, this.#dice);
    const { settings } = this.#market;
    this.#settings = {
      ...usual,
      ...changed,
      marketSettings: (name) => (name === market ? settings : undefined),
    };
    const fresh = newLane('desk', market, 'epoch', this.#nowMs);
    this.#state = this.#dice.hits(0.8) ? acknowledgeNoPriorOrders(fresh) : fresh;
  }

  get #context(): LaneContext {
    return {
      settings: this.#settings,
      gate: this.#gate,
      ...(this.#orders === undefined ? {} : { orders: this.#orders }),
      ...(this.#standsIn ? { standsIn: true as const } : {}),
    };
  }

  move(): void {
    const dice = this.#dice;
    this.#nowMs += this.#isWhole
      ? dice.of(500, 500, 1_000, 1_000, 2_000, 3_000, 5_000, 30_000, 60_000)
      : dice.of(400, 1_000, 1_000, 1_000, 1_000, 4_000, 4_000, 12_000, 65_000);
    this.#happen(dice.next());
    this.#market.move(
      this.#isWhole
        ? dice.of(0, 0.005, -0.005, 0.005, -0.005, -0.01, 0.01, -0.02)
        : dice.of(0, 0.001, -0.001, 0.004, -0.004, -0.012, 0.012, -0.025),
    );
    this.#poll();
    for (let step = 0; step < MOST_STEPS && this.#step(); step++);
  }

  #happen(what: number): void {
    const dice = this.#dice;
    if (what < 0.3) this.#fire();
    else if (what < 0.4) this.#requests = this.#requests.filter(() => dice.hits(0.5));
    else if (what < 0.52) this.#market.ownerActs();
    else if (what < 0.6) this.#turnGate();
    else if (what < 0.66) this.#operate();
    else if (what < 0.69) this.#take('dies', recover(this.#state, this.#settings, this.#nowMs));
    else if (what < 0.71) {
      const state = startEpoch(this.#state, `epoch-${this.#count++}`, this.#settings, this.#nowMs);
      this.#take('new store', { state, events: [] });
    } else if (what < 0.74)
      this.#take('vouched for', { state: acknowledgeNoPriorOrders(this.#state), events: [] });
    else if (this.#isWhole) this.#happenAround(what);
  }

  /** Acts of others on the lane, its clock and its account. */
  #happenAround(what: number): void {
    const nowMs = this.#nowMs;
    if (what < 0.78) this.#take('taken up', takeUp(this.#state, this.#settings, nowMs));
    else if (what < 0.82) {
      const byMs = this.#dice.of(-30_000, 5_000, 60_000);
      this.#nowMs += byMs;
      const step = byMs > 0 ? { byMs, untilMs: nowMs + byMs } : null;
      const state = onClock(this.#state, this.#settings, { nowMs: this.#nowMs, step });
      this.#take(`the clock is set by ${byMs}`, { state, events: [] });
    } else if (what < 0.9) {
      this.#orders = { acceptedMs: nowMs - 10_000, refusedMs: nowMs - this.#dice.of(5_000, 10_000, 30_000) };
      this.lines.push(`orders of the account: ${JSON.stringify(this.#orders)}`);
    } else if (what < 0.93) {
      const held = hold(this.#state, 'account');
      if (held !== undefined) this.#take('held', { state: held, events: [] });
    } else if (what < 0.97) this.#take('released', { state: release(this.#state, 'account'), events: [] });
    else this.#standsIn = !this.#standsIn;
  }

  /** A rule fires, or reaches its next stage. */
  #fire(): void {
    const dice = this.#dice;
    const last = this.#requests.at(-1)?.request;
    const isStage = last !== undefined && dice.hits(0.2);
    const spec = dice.of(...ACTIONS);
    const ruleId = isStage ? last.ruleId : dice.of('near', 'nearer', 'stop');
    const positionId = spec.kind === 'cancelAll' ? null : dice.of('41', '42');
    this.#count += isStage ? 0 : 1;
    const request = action(spec, {
      ruleId,
      subject: `position:${positionId ?? '41'}`,
      episode: isStage ? last.episode : this.#count,
      stage: isStage ? last.stage + 1 : 0,
      mode: dice.of<Mode>('enforce', 'enforce', 'enforce', 'observe', 'approve'),
      severity: dice.of('warning', 'critical'),
      atMs: this.#nowMs,
      exemptFromLimits: dice.hits(0.1),
    });
    const isPlanned =
      spec.kind === 'reduce' && spec.target.kind.startsWith('until') && spec.target.kind !== 'untilDistance';
    const plan =
      isPlanned && dice.hits(0.8) ? { plannedBase: dice.of('1.1', '0.5', '0') as DecimalString } : {};
    this.#requests.push({ request, positionId, ...plan });
    this.lines.push(`${ruleId} wants ${spec.kind} of ${positionId ?? 'all'} (${request.mode})`);
  }

  #turnGate(): void {
    const dice = this.#dice;
    const isPaused = dice.hits(0.15);
    const silencedRules = dice.hits(0.2) ? ['near'] : [];
    const held = dice.of(undefined, ...this.#requests)?.request;
    const limited =
      held !== undefined && dice.hits(0.3)
        ? { [episodeKeyOf(held)]: dice.of('cooldown' as const, 'perHour' as const) }
        : {};
    const silencedSubjects = dice.hits(0.2) ? [{ ruleId: 'nearer', subject: 'position:42' }] : [];
    const modeOf = (): Mode => dice.of('enforce', 'enforce', 'enforce', 'observe');
    const mode = modeOf();
    this.#gate = {
      paused: isPaused,
      isShared: dice.hits(0.04),
      silencedRules,
      silencedSubjects,
      limited,
      modeOf: () => mode,
      questions: this.#questions(),
    };
    this.lines.push(
      `gate: ${isPaused ? 'paused' : 'open'}, silenced ${silencedRules.join()} ${silencedSubjects.length}, ` +
        `limited ${Object.values(limited).join()}, mode ${mode}`,
    );
  }

  /** Answers of people so far about the rules that ask. */
  #questions(): ReadonlyMap<string, ApprovalQuestion> {
    const dice = this.#dice;
    const questions = new Map<string, ApprovalQuestion>();
    for (const { request, positionId } of this.#requests) {
      if (request.mode !== 'approve' || positionId === null) continue;
      const stageKey = stageKeyOf(request);
      const state = dice.of<ApprovalQuestion['state']>(
        'waiting',
        'approved',
        'approved',
        'vetoed',
        'unanswered',
        'released',
      );
      const targetBase = dice.of('1', '0.5', '0') as DecimalString;
      const target = {
        positionId,
        market: this.#market.name,
        targetBase,
        sizeBase: dice.of('2', '1.2') as DecimalString,
      };
      questions.set(stageKey, {
        id: `q${questions.size}`,
        stageKey,
        openedMs: this.#nowMs - 1_000,
        untilMs: this.#nowMs + 5_000,
        state,
        asked: [{ revision: 1, atMs: this.#nowMs - 1_000, targets: [target] }],
        ...(state === 'approved' ? { approved: [target] } : {}),
      });
      this.lines.push(`${request.ruleId} of ${positionId}: ${state} to ${targetBase}`);
    }
    return questions;
  }

  #operate(): void {
    const dice = this.#dice;
    const isWithdrawn = dice.hits(0.3);
    const change = changeLane(this.#state, this.#settings, this.#nowMs, (scene) => {
      if (isWithdrawn) return withdrawOperatorIntent(this.#state, `hand-${this.#count}`, scene);
      const flatten = dice.hits(0.5);
      const target = flatten
        ? ({ kind: 'to', fraction: 0 } as const)
        : ({ kind: 'by', fraction: 0.3 } as const);
      this.#count += 1;
      const id = `hand-${this.#count}`;
      const isUrgent = flatten && dice.hits(0.5);
      return operatorIntent(
        this.#state,
        {
          id,
          positionId: dice.of('41', '42'),
          target,
          slippageSteps: [0.01],
          flatten,
          ...(isUrgent ? { urgent: true as const } : {}),
          because: 'by hand',
        },
        scene,
      );
    });
    this.#take(isWithdrawn ? 'operator withdraws' : 'operator orders', change);
  }

  #poll(): void {
    const positions = this.#market.views();
    const ageMs = this.#isWhole ? this.#dice.of(0, 500, 500, 1_000) : this.#dice.of(5, 5, 5, 300);
    const observation = {
      ...this.#read(ageMs, positions),
      complete: this.#dice.hits(0.93),
      ...(this.#isWhole && this.#dice.hits(0.1) ? { notOpenYet: ['41'] } : {}),
    };
    const shown = positions.map(({ positionId, sizeBase }) => `${positionId} ${sizeBase}`).join(', ');
    this.lines.push(`-- ${this.#nowMs} mark ${this.#market.mark.toPrecision(6)}: ${shown}`);
    this.#take('', observeRead(this.#state, observation, this.#settings, this.#nowMs));
    const isConclusive = this.#dice.hits(0.9);
    if (this.#dice.hits(0.1)) this.#clear();
    this.#take('', observeRequests(this.#state, this.#requests, isConclusive, this.#settings, this.#nowMs));
  }

  /** With whole times a read is received now, up to a second after it was sent. */
  #read(ageMs: number, positions: readonly ReadPosition[]): ReadObservation {
    const read = { ...readAt(this.#nowMs - ageMs), byMarket: inMarket(positions, this.#market.name) };
    return this.#isWhole ? { ...read, receivedAtMs: this.#nowMs } : read;
  }

  /** The rule's condition no longer holds; the rule is only kept firing. */
  #clear(): void {
    const [first, ...others] = this.#requests;
    if (first === undefined) return;
    this.#requests = [...others, { ...first, request: { ...first.request, hasCleared: true } }];
    this.lines.push(`${first.request.ruleId} has cleared`);
  }

  /** @returns whether there may be more to do */
  #step(): boolean {
    const { step, ...change } = advance(this.#state, this.#context, this.#nowMs);
    this.#take('', change);
    if (step.kind === 'idle' || step.kind === 'wait') {
      this.lines.push(`${step.kind} ${step.why} ${step.kind === 'idle' ? step.wakeAtMs : step.untilMs}`);
      return false;
    }
    this.#take('', begin(this.#state, step, this.#nowMs));
    const tookMs = this.#isWhole ? this.#dice.of(0, 500, 1_000) : this.#dice.of(20, 20, 150);
    this.#nowMs += tookMs;
    if (this.#dice.hits(0.02)) {
      this.#take('dies meanwhile', recover(this.#state, this.#settings, this.#nowMs));
      return true;
    }
    this.#take(
      '',
      finish(this.#state, this.#answer(step, this.#isWhole ? tookMs : 20), this.#settings, this.#nowMs),
    );
    return true;
  }

  #answer(step: RequestStep, tookMs: number): StepResult {
    if (step.kind === 'readPositions') {
      const observation = this.#dice.hits(0.1)
        ? null
        : this.#read(this.#isWhole ? tookMs : 10, this.#market.views());
      return { kind: 'readPositions', observation };
    }
    const fate = this.#dice.next();
    const timing = { sentAtMs: this.#nowMs - tookMs, receivedAtMs: this.#nowMs, attempts: 1 };
    const failed = this.#failed(fate);
    if (failed !== undefined) return { kind: step.kind, outcome: failed };
    if (step.kind === 'place') {
      const outcome = { kind: 'accepted', value: this.#market.accept(step), timing } as const;
      return { kind: 'place', outcome, ...(this.#dice.hits(0.1) ? { othersAct: true } : {}) };
    }
    this.#market.cancelAll();
    return { kind: 'cancelAll', outcome: { kind: 'accepted', value: null, timing } };
  }

  #failed(fate: number): Extract<CommandOutcome<never>, { kind: 'rejected' | 'unknown' }> | undefined {
    if (fate > 0.3) return undefined;
    if (fate < 0.08) return { kind: 'unknown', error: failure({ name: 'timeout', effect: 'possible' }) };
    const name = this.#dice.of(...REFUSALS);
    const retry = name === 'rateLimited' ? { retryAfterMs: 1_500 } : {};
    this.lines.push(`refused: ${name}`);
    return { kind: 'rejected', error: failure({ name, ...retry }) };
  }

  #take(what: string, { state, events }: LaneChange): void {
    this.#state = state;
    if (what !== '') this.lines.push(what);
    for (const event of events) this.lines.push(lineOf(event));
    const stands = summaryOf(state);
    if (stands !== this.#said) this.lines.push(`   ${stands}`);
    this.#said = stands;
  }
}
