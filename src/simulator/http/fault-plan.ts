import { breakOneRecord, changeTypes, dropField, malformJson, truncateJson } from './damage.ts';
import { addOpeningRecord, emptyAll, emptyFields, nullOneRecord, zeroBalances } from './false-data.ts';
import type { FaultEffect, LostConnection, RetryAfter } from './faults.ts';
import { type ContentEncoding, gatewayReply, privateError, publicError, type Reply } from './reply.ts';

type Effect<K extends FaultEffect['kind']> = Extract<FaultEffect, { kind: K }>;

/** What the faults that hit one request add up to. Delays add; of the rest the first of each kind counts. */
export interface FaultPlan {
  readonly requestDelayMs: number;
  readonly replyDelayMs: number;
  /** The connection is lost before the request is looked at. */
  readonly unseen: LostConnection | undefined;
  readonly late: Effect<'appliedLate'> | undefined;
  readonly lost: LostConnection | undefined;
  /** An error in place of the real reply. */
  readonly instead: ErrorEffect | undefined;
  /** The status of an order that is cancelled at once. */
  readonly cancelledAs: string | undefined;
  readonly encoding: ContentEncoding | undefined;
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
  instead: undefined,
  cancelledAs: undefined,
  encoding: undefined,
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
    instead: effects.find(isError),
    cancelledAs: cancelledAs(effects),
    encoding: encodingOf(effects),
    staleMs: Math.max(0, ...all(effects, 'stale').map((effect) => effect.ageMs)),
    cutBody: first(effects, 'cutBody') !== undefined,
    damages: effects.filter((effect) => DAMAGES.has(effect.kind)),
  };
}

type ErrorEffect = Effect<'status' | 'gatewayStatus' | 'unavailable' | 'refusal'>;
const ERRORS: ReadonlySet<string> = new Set(['status', 'gatewayStatus', 'unavailable', 'refusal']);

function isError(effect: FaultEffect): effect is ErrorEffect {
  return ERRORS.has(effect.kind);
}

/** Whether the request has had its effect when the error is answered. */
export function isApplied(effect: ErrorEffect): boolean {
  switch (effect.kind) {
    case 'status':
    case 'gatewayStatus':
      return effect.applied === true;
    case 'unavailable':
      return effect.meaning === 'executed';
    case 'refusal':
      return false;
  }
}

function cancelledAs(effects: readonly FaultEffect[]): string | undefined {
  const effect = first(effects, 'orderCancelled');
  return effect === undefined ? undefined : (effect.status ?? 'CANCELED_TAKER_BAND');
}

function encodingOf(effects: readonly FaultEffect[]): ContentEncoding | undefined {
  const effect = first(effects, 'compressed');
  return effect === undefined ? undefined : (effect.encoding ?? 'gzip');
}

const DAMAGES: ReadonlySet<string> = new Set([
  'emptyList',
  'zeroBalance',
  'nullRecord',
  'emptyString',
  'truncatedJson',
  'malformedJson',
  'wrongTypes',
  'missingField',
  'badRecord',
]);

function delayOf(effects: readonly FaultEffect[], at: 'request' | 'reply', random: () => number): number {
  return all(effects, 'latency')
    .filter((effect) => (effect.at ?? 'request') === at)
    .reduce((sum, effect) => sum + drawDelay(effect, random), 0);
}

function drawDelay(
  { delayMs, jitterMs = 0, sigma = 0, maxMs = Number.POSITIVE_INFINITY }: Effect<'latency'>,
  random: () => number,
): number {
  const spread = sigma === 0 ? 1 : Math.exp(sigma * normal(random));
  return Math.min(maxMs, delayMs * spread + (jitterMs === 0 ? 0 : jitterMs * random()));
}

/** Box and Muller's way from two uniform numbers to a normal one. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
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

const UNAVAILABLE_MESSAGES = {
  executed: 'Unknown error: the request may have been executed, check its state.',
  failed: 'Service is temporarily unavailable',
  overloaded: 'System is overloaded, try again later.',
} as const;

/** The error reply that a fault puts in place of the real one. `nowMs`: what a date in Retry-After counts from. */
export function faultReply(effect: ErrorEffect, isPublic: boolean, nowMs: number): Reply {
  const retryAfter = retryAfterText(effect, nowMs);
  const reply = effect.kind === 'gatewayStatus' ? ofGateway(effect) : ofApi(effect, isPublic);
  return retryAfter === undefined ? reply : { ...reply, retryAfter };
}

function ofGateway({ status, body }: Effect<'gatewayStatus'>): Reply {
  return gatewayReply(status, body ?? (status === 404 ? 'empty' : 'html'));
}

function ofApi(effect: Exclude<ErrorEffect, { kind: 'gatewayStatus' }>, isPublic: boolean): Reply {
  const { status, code, message } = wordsOf(effect);
  if (isPublic) return publicError(status, message);
  return privateError(status, code, message, effect.kind === 'status' ? effect.errors : undefined);
}

function wordsOf(effect: Exclude<ErrorEffect, { kind: 'gatewayStatus' }>): {
  readonly status: number;
  readonly code: number;
  readonly message: string;
} {
  if (effect.kind === 'unavailable') {
    return { status: 503, code: 0, message: UNAVAILABLE_MESSAGES[effect.meaning] };
  }
  const { status = 503, code = 0 } = effect;
  return { status, code, message: effect.message ?? STATUS_MESSAGES[status] ?? 'Error' };
}

function retryAfterText({ retryAfterMs, retryAfterAs }: RetryAfter, nowMs: number): string | undefined {
  if (retryAfterMs === undefined) return undefined;
  switch (retryAfterAs) {
    case 'date':
      return new Date(nowMs + retryAfterMs).toUTCString();
    case 'decimals':
      return (retryAfterMs / 1_000).toFixed(3);
    default:
      return String(Math.ceil(retryAfterMs / 1_000));
  }
}

/** What faults that change a body have to know. */
export interface DamageContext {
  readonly random: () => number;
  /** Exchange time. */
  readonly nowMs: number;
  /** The one that the request asked for. */
  readonly market: string | undefined;
}

/** The reply's text after the faults have been at it. */
export function damagedBody(reply: Reply, plan: FaultPlan, context: DamageContext): string {
  const effects =
    reply.error === undefined ? plan.damages : plan.damages.filter(({ kind }) => !FALSE_DATA.has(kind));
  return effects.reduce((text, effect) => damage(text, effect, context), reply.body);
}

/** Replies that are well-formed and wrong: errors stay what they are. */
const FALSE_DATA: ReadonlySet<string> = new Set(['emptyList', 'zeroBalance', 'nullRecord', 'emptyString']);

function damage(text: string, effect: FaultEffect, context: DamageContext): string {
  const { random } = context;
  switch (effect.kind) {
    case 'emptyList':
      return emptyAll(text);
    case 'zeroBalance':
      return zeroBalances(text);
    case 'nullRecord':
      return effect.inPlace === true
        ? nullOneRecord(text, random)
        : addOpeningRecord(text, { ...context, position: effect.market });
    case 'emptyString':
      return emptyFields(text, effect.field);
    case 'truncatedJson':
      return truncateJson(text, random);
    case 'malformedJson':
      return effect.body ?? malformJson(text, random);
    case 'wrongTypes':
      return changeTypes(text, random);
    case 'missingField':
      return dropField(text, random, effect.field);
    case 'badRecord':
      return breakOneRecord(text, random, effect.market);
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
