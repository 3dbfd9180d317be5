import { breakOneRecord, changeTypes, dropField, malformJson, truncateJson } from './damage.ts';
import type { FaultEffect, LostConnection } from './faults.ts';
import { privateError, publicError, type Reply } from './reply.ts';

type Effect<K extends FaultEffect['kind']> = Extract<FaultEffect, { kind: K }>;

/** What the faults that hit one request add up to. Delays add; of the rest the first of each kind counts. */
export interface FaultPlan {
  readonly requestDelayMs: number;
  readonly replyDelayMs: number;
  /** The connection is lost before the request is looked at. */
  readonly unseen: LostConnection | undefined;
  readonly late: Effect<'appliedLate'> | undefined;
  readonly lost: LostConnection | undefined;
  readonly status: Effect<'status'> | undefined;
  readonly staleMs: number;
  readonly cutBody: boolean;
  readonly damages: readonly FaultEffect[];
}

export const NO_FAULTS: FaultPlan = {
  requestDelayMs: 0,
  replyDelayMs: 0,
  unseen: undefined,
  late: undefined,
  lost: undefined,
  status: undefined,
  staleMs: 0,
  cutBody: false,
  damages: [],
};

export function planOf(effects: readonly FaultEffect[], random: () => number): FaultPlan {
  if (effects.length === 0) return NO_FAULTS;
  return {
    requestDelayMs: delayOf(effects, 'request', random),
    replyDelayMs: delayOf(effects, 'reply', random),
    unseen: unseenOf(effects),
    late: first(effects, 'appliedLate'),
    lost: lostOf(effects),
    status: first(effects, 'status'),
    staleMs: Math.max(0, ...all(effects, 'stale').map((effect) => effect.ageMs)),
    cutBody: first(effects, 'cutBody') !== undefined,
    damages: effects.filter((effect) => DAMAGES.has(effect.kind)),
  };
}

const DAMAGES: ReadonlySet<string> = new Set([
  'truncatedJson',
  'malformedJson',
  'wrongTypes',
  'missingField',
  'badRecord',
]);

function delayOf(effects: readonly FaultEffect[], at: 'request' | 'reply', random: () => number): number {
  return all(effects, 'latency')
    .filter((effect) => (effect.at ?? 'request') === at)
    .reduce((sum, effect) => sum + effect.delayMs + (effect.jitterMs ?? 0) * random(), 0);
}

function unseenOf(effects: readonly FaultEffect[]): LostConnection | undefined {
  if (first(effects, 'reset') !== undefined) return 'reset';
  return first(effects, 'hang') === undefined ? undefined : 'hang';
}

function lostOf(effects: readonly FaultEffect[]): LostConnection | undefined {
  const lost = first(effects, 'lostReply');
  return lost === undefined ? undefined : (lost.connection ?? 'reset');
}

const STATUS_MESSAGES: Readonly<Record<number, string>> = {
  429: 'Too many requests.',
  500: 'Internal error',
  503: 'Service is temporarily unavailable',
};

/** The error reply that a `status` fault puts in place of the real one. */
export function faultReply(effect: Effect<'status'>, isPublic: boolean): Reply {
  const message = effect.message ?? STATUS_MESSAGES[effect.status] ?? 'Error';
  if (isPublic) return publicError(effect.status, message);
  return privateError(effect.status, effect.code ?? 0, message, effect.errors);
}

/** The reply's text after the faults have been at it. */
export function damagedBody(body: string, plan: FaultPlan, random: () => number): string {
  return plan.damages.reduce((text, effect) => damage(text, effect, random), body);
}

function damage(text: string, effect: FaultEffect, random: () => number): string {
  switch (effect.kind) {
    case 'truncatedJson':
      return truncateJson(text, random);
    case 'malformedJson':
      return effect.body ?? malformJson(text, random);
    case 'wrongTypes':
      return changeTypes(text, random);
    case 'missingField':
      return dropField(text, random, effect.field);
    case 'badRecord':
      return breakOneRecord(text, random);
    default:
      return text;
  }
}

function all<K extends FaultEffect['kind']>(effects: readonly FaultEffect[], kind: K): Effect<K>[] {
  return effects.filter((effect): effect is Effect<K> => effect.kind === kind);
}

function first<K extends FaultEffect['kind']>(
  effects: readonly FaultEffect[],
  kind: K,
): Effect<K> | undefined {
  return all(effects, kind)[0];
}
