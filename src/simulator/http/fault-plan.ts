import { breakOneRecord, changeTypes, dropField, malformJson, truncateJson } from './damage.ts';
import { addOpeningRecord, emptyAll, emptyFields, nullOneRecord, zeroBalances } from './false-data.ts';
import type { FaultEffect, LostConnection, RetryAfter } from './faults.ts';
import { apiError, gatewayReply, type Reply, UNAVAILABLE } from './reply.ts';

type Effect<K extends FaultEffect['kind']> = Extract<FaultEffect, { kind: K }>;
type ErrorEffect = Effect<'status' | 'gatewayStatus' | 'unavailable' | 'refusal'>;

/** Combined effect of the faults that hit one request. Delays add up; otherwise the first of each kind counts. */
export type FaultPlan = ReturnType<typeof planOf>;

export function planOf(effects: readonly FaultEffect[], random: () => number) {
  const first = <K extends FaultEffect['kind']>(kind: K): Effect<K> | undefined => all(effects, kind)[0];
  const lost = first('lostReply');
  const cancelled = first('orderCancelled');
  const compressed = first('compressed');
  const unseen: LostConnection | undefined = first('reset')?.kind ?? first('hang')?.kind;
  return {
    requestDelayMs: delayOf(effects, 'request', random),
    replyDelayMs: delayOf(effects, 'reply', random),
    /** How the connection is lost before the request is processed. */
    unseen,
    late: first('appliedLate'),
    lost: lost && (lost.connection ?? 'reset'),
    /** Error that replaces the real reply. */
    instead: effects.find(isError),
    /** Status of an order that is cancelled at once. */
    cancelledAs: cancelled && (cancelled.status ?? 'CANCELED_TAKER_BAND'),
    encoding: compressed && (compressed.encoding ?? 'gzip'),
    staleMs: Math.max(0, ...all(effects, 'stale').map((effect) => effect.ageMs)),
    cutBody: first('cutBody') !== undefined,
    damages: effects.filter(isDamage),
  };
}

const ERRORS: ReadonlySet<string> = new Set(['status', 'gatewayStatus', 'unavailable', 'refusal']);

function isError(effect: FaultEffect): effect is ErrorEffect {
  return ERRORS.has(effect.kind);
}

/** Whether the request takes effect despite the error reply. */
export function isApplied(effect: ErrorEffect): boolean {
  if (effect.kind === 'unavailable') return effect.meaning === 'executed';
  return effect.kind !== 'refusal' && effect.applied === true;
}

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

/** Standard normal number by the Box-Muller transform. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

const STATUS_MESSAGES: Readonly<Record<number, string>> = {
  429: 'Too many requests.',
  500: 'Internal error',
  503: UNAVAILABLE,
};

const UNAVAILABLE_MESSAGES = {
  executed: 'Unknown error: the request may have been executed, check its state.',
  failed: UNAVAILABLE,
  overloaded: 'System is overloaded, try again later.',
} as const;

/** Makes the error reply of a fault. @param nowMs a date in Retry-After counts from this time */
export function faultReply(effect: ErrorEffect, path: string, nowMs: number): Reply {
  const retryAfter = retryAfterText(effect, nowMs);
  const reply = errorReply(effect, path);
  return retryAfter === undefined ? reply : { ...reply, retryAfter };
}

function errorReply(effect: ErrorEffect, path: string): Reply {
  switch (effect.kind) {
    case 'gatewayStatus':
      return gatewayReply(effect.status, effect.body ?? (effect.status === 404 ? 'empty' : 'html'));
    case 'unavailable':
      return apiError(path, 503, UNAVAILABLE_MESSAGES[effect.meaning]);
    case 'status':
    case 'refusal': {
      const { status = 503, code = 0 } = effect;
      const fields = effect.kind === 'status' ? effect.errors : undefined;
      return apiError(path, status, effect.message ?? STATUS_MESSAGES[status] ?? 'Error', { code, fields });
    }
  }
}

function retryAfterText({ retryAfterMs, retryAfterAs }: RetryAfter, nowMs: number): string | undefined {
  if (retryAfterMs === undefined) return undefined;
  if (retryAfterAs === 'date') return new Date(nowMs + retryAfterMs).toUTCString();
  const seconds = retryAfterMs / 1_000;
  return retryAfterAs === 'decimals' ? seconds.toFixed(3) : String(Math.ceil(seconds));
}

interface DamageContext {
  readonly random: () => number;
  /** Exchange time. */
  readonly nowMs: number;
  /** The market that the request asked for. */
  readonly market: string | undefined;
}

type Settings = { readonly kind: string } & Omit<Effect<'nullRecord'>, 'kind'> &
  Omit<Effect<'emptyString'>, 'kind'> &
  Omit<Effect<'malformedJson'>, 'kind'>;

const DAMAGES = {
  emptyList: emptyAll,
  zeroBalance: zeroBalances,
  nullRecord: (text, { inPlace, market: position }, context) =>
    inPlace === true ? nullOneRecord(text, context.random) : addOpeningRecord(text, { ...context, position }),
  emptyString: (text, { field }) => emptyFields(text, field),
  truncatedJson: (text, _settings, { random }) => truncateJson(text, random),
  malformedJson: (text, { body }, { random }) => body ?? malformJson(text, random),
  wrongTypes: (text, _settings, { random }) => changeTypes(text, random),
  missingField: (text, { field }, { random }) => dropField(text, random, field),
  badRecord: (text, { market }, { random }) => breakOneRecord(text, random, market),
} satisfies Readonly<Record<string, (text: string, settings: Settings, context: DamageContext) => string>>;

type Damage = Effect<keyof typeof DAMAGES>;

/** Kinds that make a well-formed but wrong reply; they leave error replies unchanged. */
const FALSE_DATA: ReadonlySet<string> = new Set(['emptyList', 'zeroBalance', 'nullRecord', 'emptyString']);

function isDamage(effect: FaultEffect): effect is Damage {
  return Object.hasOwn(DAMAGES, effect.kind);
}

export function damagedBody(reply: Reply, { damages }: FaultPlan, context: DamageContext): string {
  return damages
    .filter(({ kind }) => reply.error === undefined || !FALSE_DATA.has(kind))
    .reduce((text, effect) => DAMAGES[effect.kind](text, effect, context), reply.body);
}

function all<K extends FaultEffect['kind']>(effects: readonly FaultEffect[], kind: K): Effect<K>[] {
  return effects.filter((effect): effect is Effect<K> => effect.kind === kind);
}
