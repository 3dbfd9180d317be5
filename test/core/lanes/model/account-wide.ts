import {
  ACCOUNT_HOLDER,
  type AccountCancel,
  type AccountChange,
  advanceAccount,
  beginAccountCancel,
  finishAccountCancel,
  observeAccountRequests,
  recoverAccount,
} from '../../../../src/core/lanes/account-lane.ts';
import { hold, release } from '../../../../src/core/lanes/recover-lane.ts';
import type { CommandOutcome } from '../../../../src/core/ports/exchange.ts';
import type { Rules } from './rules.ts';
import { timingAt } from './sender.ts';
import { Violation } from './tally.ts';
import { type Fault, failure, LATENCY_MS, TIMEOUT_MS } from './wire.ts';
import type { World } from './world.ts';

/** A rule of the account that cancels everything, through the account lane. */
export class AccountWide {
  readonly #world: World;
  readonly #rules: Rules;
  #episodes = 0;

  constructor(world: World, rules: Rules) {
    this.#world = world;
    this.#rules = rules;
  }

  /** The rule fires; the first request it leads to meets the fault. */
  cancel(fault: Fault): void {
    const { actor, nowMs, seen, setup } = this.#world;
    this.#episodes += 1;
    const wide = this.#rules.accountRequest(this.#episodes, nowMs);
    actor.account = observeAccountRequests(actor.account, [wide], true, setup.settings, nowMs);
    seen('accountWide');
    let chosen = fault;
    for (let step = 0; step < 6; step++) {
      if (!this.#step(chosen)) return;
      chosen = 'none';
    }
  }

  /** Finishes what the account lane left undone; its rule has resolved. */
  finish(): void {
    const { actor, nowMs, setup } = this.#world;
    actor.account = observeAccountRequests(actor.account, [], true, setup.settings, nowMs);
    for (let step = 0; step < 6 && this.#step('none'); step++);
    if (actor.state.heldBy !== null) throw new Violation('a lane that is held for good');
  }

  /** @returns whether there may be more to do. */
  #step(fault: Fault): boolean {
    const world = this.#world;
    const { actor } = world;
    const advanced = advanceAccount(actor.account, [actor.state], world.context(), world.nowMs);
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
        this.#carryOut(step.cancel, fault);
        return true;
    }
  }

  #carryOut(cancel: AccountCancel, fault: Fault): void {
    const world = this.#world;
    const { actor, exchange } = world;
    const { settings } = world.setup;
    world.checkGate();
    world.nonce += 1;
    this.#take(beginAccountCancel(actor.account, [actor.state], cancel, world.nowMs));
    const isDelivered = fault === 'none' || fault === 'duplicateReport' || fault.endsWith('After');
    const isAccepted = isDelivered && exchange.cancelAll(world.nonce);
    if (fault === 'late') exchange.cancelLate(world.nonce, world.nowMs + settings.lateArrivalMs);
    exchange.advanceTo(world.nowMs + (isDelivered ? LATENCY_MS : TIMEOUT_MS));
    const { nowMs } = world;
    if (fault === 'crashBefore' || fault === 'crashAfter') {
      this.#take(recoverAccount(actor.account, [actor.state], settings, nowMs));
      return world.crash();
    }
    const outcome = outcomeOf(fault, isAccepted, nowMs);
    this.#take(finishAccountCancel(actor.account, [actor.state], outcome, settings, nowMs));
  }

  #take(change: AccountChange): void {
    this.#world.actor.account = change.state;
    const [state] = change.lanes;
    if (state !== undefined) this.#world.apply({ state, events: change.events });
  }
}

function outcomeOf(fault: Fault, isAccepted: boolean, nowMs: number): CommandOutcome<null> {
  if (isAccepted && fault !== 'lostAfter') return { kind: 'accepted', value: null, timing: timingAt(nowMs) };
  if (fault === 'limited') return { kind: 'rejected', error: failure('rateLimited', 'none') };
  if (fault === 'refused') return { kind: 'rejected', error: failure('permissionDenied', 'none') };
  return { kind: 'unknown', error: failure('timeout', 'possible') };
}
