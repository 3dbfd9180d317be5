import path from 'node:path';
import { expect, test } from 'vitest';
import type { AuditEvent } from '../../../src/core/audit/audit-event.ts';
import type { GateContext } from '../../../src/core/intents/gate.ts';
import {
  ACCOUNT_HOLDER,
  type AccountChange,
  type AccountLane,
  advanceAccount,
  beginAccountCancel,
  finishAccountCancel,
  newAccountLane,
  observeAccountRequests,
  recoverAccount,
} from '../../../src/core/lanes/account-lane.ts';
import { observeRead } from '../../../src/core/lanes/lane-observe.ts';
import { type LaneState, newLane } from '../../../src/core/lanes/lane-state.ts';
import { hold, release } from '../../../src/core/lanes/recover-lane.ts';
import type { OrderRecord } from '../../../src/core/orders/cancel-policy.ts';
import type { CommandOutcome, OrderType } from '../../../src/core/ports/exchange.ts';
import type { Mode } from '../../../src/core/rules/rule.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { Dice } from '../../support/dice.ts';
import { failure } from './driver.ts';
import {
  acknowledgeNoPriorOrders,
  action,
  inMarket,
  openGate,
  readAt,
  readPositionOf,
  settings as usual,
} from './fixtures.ts';

/** Account-wide cancels over a perpetual and a margin market, as recorded in transcripts/. */

const MARKETS = ['BTC_PERP', 'ETH_USDT'] as const;
const TYPES: readonly [readonly OrderType[], ...(readonly OrderType[])[]] = [
  ['spot'],
  ['spot', 'margin'],
  ['futures'],
  ['spot', 'margin', 'futures'],
];

class PlayedAccountLane {
  readonly lines: string[] = [];
  readonly #dice: Dice;
  readonly #settings = { ...usual, marketSettings: () => usual.marketSettings('BTC_PERP') };
  #account: AccountLane = newAccountLane('desk');
  #lanes: readonly LaneState[];
  #requests: ActionRequest[] = [];
  #gate: GateContext = openGate;
  #orders: OrderRecord | undefined;
  #nowMs = 100_000;

  constructor(seed: number) {
    this.#dice = new Dice(seed);
    this.#lanes = MARKETS.map((market) =>
      acknowledgeNoPriorOrders(newLane('desk', market, 'epoch', this.#nowMs)),
    );
  }

  move(): void {
    const dice = this.#dice;
    this.#nowMs += dice.of(500, 1_000, 6_000, 61_000);
    this.#read();
    if (dice.hits(0.4)) this.#fire();
    if (dice.hits(0.2)) this.#requests = this.#requests.filter(() => dice.hits(0.5));
    if (dice.hits(0.2)) this.#gate = { ...openGate, paused: dice.hits(0.3) };
    if (dice.hits(0.3)) this.#orders = { acceptedMs: this.#nowMs, refusedMs: dice.of(0, this.#nowMs - 100) };
    this.#account = observeAccountRequests(this.#account, this.#requests, true, this.#settings, this.#nowMs);
    for (let step = 0; step < 5 && this.#step(); step++);
  }

  #read(): void {
    this.#lanes = this.#lanes.map((lane) => {
      const read = {
        ...readAt(this.#nowMs - 20),
        byMarket: inMarket([readPositionOf()], lane.market),
      };
      return lane.heldBy === null ? observeRead(lane, read, this.#settings, this.#nowMs).state : lane;
    });
  }

  #fire(): void {
    const dice = this.#dice;
    const types = dice.of(...TYPES);
    const mode = dice.of<Mode>('enforce', 'enforce', 'observe', 'approve');
    const ruleId = `ltv-${this.#requests.length}`;
    const of = { ruleId, mode, subjectKind: 'account', subject: 'account', episode: this.#nowMs } as const;
    this.#requests.push(action({ kind: 'cancelAll', types, scope: 'account' }, of));
    this.lines.push(`${ruleId} wants ${types.join('+')} (${mode})`);
  }

  #step(): boolean {
    const context = {
      settings: this.#settings,
      gate: this.#gate,
      ...(this.#orders === undefined ? {} : { orders: this.#orders }),
    };
    const advanced = advanceAccount(this.#account, this.#lanes, context, this.#nowMs);
    this.#account = advanced.state;
    this.#say(advanced.events);
    const { step } = advanced;
    this.lines.push(`${this.#nowMs} ${JSON.stringify(step)}`);
    if (step.kind === 'idle' || step.kind === 'wait') return false;
    if (step.kind === 'takeLanes')
      this.#lanes = this.#lanes.map((lane) => hold(lane, ACCOUNT_HOLDER) ?? lane);
    else if (step.kind === 'releaseLanes')
      this.#lanes = this.#lanes.map((lane) => release(lane, ACCOUNT_HOLDER));
    else {
      this.#take(beginAccountCancel(this.#account, this.#lanes, step.cancel, this.#nowMs));
      this.#nowMs += 30;
      this.#take(
        this.#dice.hits(0.1)
          ? recoverAccount(this.#account, this.#lanes, this.#settings, this.#nowMs)
          : finishAccountCancel(this.#account, this.#lanes, this.#outcome(), this.#settings, this.#nowMs),
      );
    }
    return true;
  }

  #outcome(): CommandOutcome<null> {
    const dice = this.#dice;
    const timing = { sentAtMs: this.#nowMs - 30, receivedAtMs: this.#nowMs, attempts: 1 };
    if (dice.hits(0.4)) return { kind: 'accepted', value: null, timing };
    const name = dice.of('rateLimited', 'permissionDenied', 'timeout', 'marketInvalid');
    if (dice.hits(0.5)) return { kind: 'unknown', error: failure({ name: 'timeout', effect: 'possible' }) };
    return { kind: 'rejected', error: failure({ name, effect: dice.of('none', 'none', 'possible') }) };
  }

  #take({ state, lanes, events }: AccountChange): void {
    this.#account = state;
    this.#lanes = lanes;
    this.#say(events);
    const tasks = state.cancels.map(({ ruleId, state: how, failures }) => `${ruleId} ${how} ${failures}`);
    const each = lanes.map(({ market, generation, doubt, cancelPendingUntilMs }) =>
      [market, generation, doubt?.why ?? '', cancelPendingUntilMs ?? ''].join(' ').trim(),
    );
    this.lines.push(`   ${[...tasks, `refusals ${state.refusals}`, ...each].join(' | ')}`);
  }

  #say(events: readonly AuditEvent[]): void {
    for (const { kind, reason, alarm, ruleId, words, cancel } of events) {
      const types = cancel?.types?.join('+') ?? '';
      this.lines.push(`${kind} ${reason} ${ruleId ?? ''} ${alarm ? 'ALARM ' : ''}${types}: ${words}`);
    }
  }
}

test.for([1, 2, 3, 4, 5, 6, 7, 8])('account lane %i', async (seed) => {
  const played = new PlayedAccountLane(seed);
  for (let move = 0; move < 30; move++) played.move();
  const file = path.join(import.meta.dirname, 'transcripts', `account-${seed}.txt`);
  await expect(`${played.lines.join('\n')}\n`).toMatchFileSnapshot(file);
});
