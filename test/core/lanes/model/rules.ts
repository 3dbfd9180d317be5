import type { LaneRequest } from '../../../../src/core/intents/intent.ts';
import type { ReadObservation } from '../../../../src/core/lanes/market-read.ts';
import type { ActionSpec, Mode, ReduceTarget } from '../../../../src/core/rules/rule.ts';
import type { ActionRequest } from '../../../../src/core/rules/subject.ts';
import type { ModelPosition } from './terms.ts';
import { MARKET } from './views.ts';

interface Slot {
  active: boolean;
  episode: number;
  positionId: string;
  stages: { readonly action: ActionSpec; readonly atMs: number }[];
}

/** Four rules: two reduce, with stages; one protects; one cancels. Each has at most one episode at a time. */
export class Rules {
  readonly slots: Slot[] = [0, 1, 2, 3].map(() => ({
    active: false,
    episode: 0,
    positionId: '1',
    stages: [],
  }));
  readonly #mode: Mode;

  constructor(mode: Mode) {
    this.#mode = mode;
  }

  fire(index: number, target: ReduceTarget | null, positions: readonly ModelPosition[], nowMs: number): void {
    const slot = this.slots[index];
    const [position] = index % 2 === 0 ? positions : [...positions].reverse();
    if (slot === undefined || slot.active || position === undefined) return;
    slot.active = true;
    slot.episode += 1;
    slot.positionId = position.id;
    slot.stages = [{ action: actionOf(index, target), atMs: nowMs }];
  }

  escalate(index: number, target: ReduceTarget, nowMs: number): void {
    const slot = this.slots[index];
    if (slot === undefined || !slot.active || slot.stages.length > 2 || index > 1) return;
    slot.stages.push({ action: actionOf(index, target), atMs: nowMs });
  }

  resolve(index: number): void {
    const slot = this.slots[index];
    if (slot !== undefined) slot.active = false;
  }

  /** Ends the episodes of positions that are absent from a complete list. */
  closeGone(observation: ReadObservation, isHeld: (positionId: string) => boolean): void {
    const shown = observation.byMarket.get(MARKET) ?? [];
    for (const slot of this.slots) {
      const isThere =
        shown.some(({ positionId }) => positionId === slot.positionId) || isHeld(slot.positionId);
      const isRecent = slot.stages.some(({ atMs }) => atMs > observation.sentAtMs);
      if (slot.active && !isThere && !isRecent) slot.active = false;
    }
  }

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

  /** A request of an account rule that cancels everything. */
  accountRequest(episode: number, nowMs: number): ActionRequest {
    const action: ActionSpec = { kind: 'cancelAll', types: ['margin', 'futures'], scope: 'account' };
    const slot: Slot = { active: true, episode, positionId: '1', stages: [] };
    return { ...this.#request(slot, 9, 0, action, nowMs), subjectKind: 'account', subject: 'account' };
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
      mode: this.#mode,
      severity: 'critical',
      atMs,
      because: 'the test says so',
      exemptFromLimits: false,
    };
  }
}

function actionOf(index: number, target: ReduceTarget | null): ActionSpec {
  if (index === 2) return { kind: 'protect', at: 0.6, slippage: 0.01 };
  if (index === 3) return { kind: 'cancelAll', types: ['margin', 'futures'], scope: 'market' };
  return { kind: 'reduce', target: target ?? { kind: 'by', fraction: 0.5 }, slippageSteps: [0.005, 0.02] };
}
