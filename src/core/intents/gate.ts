import { type ApprovalQuestion, approvalRefusal, stageKeyOf } from '../approvals/question.ts';
import type { GateReason } from '../audit/audit-event.ts';
import type { AskedAction } from '../lanes/lane-state.ts';
import { MS_PER_HOUR } from '../quantities/units.ts';
import { type Mode, type RuleLimits, unaskedMode } from '../rules/rule.ts';
import type { ActionRequest } from '../rules/subject.ts';

/** State that holds actions back, apart from their own mode; read again before each request. */
export interface GateContext {
  /** Global or of the account. */
  readonly paused: boolean;
  /** Another configured account acts in its place: both are the same account at the exchange. */
  readonly isShared?: boolean;
  readonly silencedRules: readonly string[];
  /** Rules silenced for one of their subjects only. */
  readonly silencedSubjects?: readonly { readonly ruleId: string; readonly subject: string }[];
  /** Episodes that the limits hold back, by `episodeKeyOf`. */
  readonly limited: Readonly<Record<string, 'cooldown' | 'perHour'>>;
  /** Approval questions by stage. Absent: none. */
  readonly questions?: ReadonlyMap<string, ApprovalQuestion>;
  /** Mode of each rule as configured now, for orders whose intent is gone. */
  readonly modeOf: (ruleId: string) => Mode;
}

/** `episodeKey` is the episode's key, or the key of one of its actions, which begins alike. */
export interface GateSubject extends Omit<AskedAction, 'refusedBy'> {
  readonly positionId?: string | null;
}

/** Returns why this may not act now; `null` if it may. The largest reduction is a bound, see `boundedTarget`. */
export function gateRefusal(subject: GateSubject, gate: Omit<GateContext, 'modeOf'>): GateReason | null {
  const refusal = otherRefusal(subject, gate);
  if (refusal !== null || subject.mode !== 'approve' || subject.exemptFromLimits) return refusal;
  return approvalRefusal(subject, gate.questions);
}

/** The same, without approvals. */
export function otherRefusal(
  subject: Omit<GateSubject, 'key' | 'positionId'>,
  gate: Omit<GateContext, 'modeOf' | 'questions'>,
): GateReason | null {
  if (subject.mode === 'observe') return 'observeMode';
  if (gate.paused) return 'paused';
  if (gate.isShared === true) return 'sharedAccount';
  if (isSilent(subject, gate)) return 'silenced';
  if (subject.exemptFromLimits) return null;
  return gate.limited[subject.episodeKey] ?? null;
}

function isSilent(
  { ruleId, episodeKey }: Pick<GateSubject, 'ruleId' | 'episodeKey'>,
  { silencedRules, silencedSubjects = [] }: Omit<GateContext, 'modeOf'>,
): boolean {
  if (silencedRules.includes(ruleId)) return true;
  const silences = silencedSubjects.filter((silence) => silence.ruleId === ruleId);
  if (silences.length === 0) return false;
  // Both `episodeKeyOf` and `actionKey` write the subject there.
  const subject = (JSON.parse(episodeKey) as readonly unknown[])[2];
  return silences.some((silence) => silence.subject === subject);
}

/** Returns the episode key of an action's key: `actionKey` begins with the same parts as `episodeKeyOf`. */
export function episodeOf(key: string): string {
  return JSON.stringify((JSON.parse(key) as readonly unknown[]).slice(0, 4));
}

/** Episodes that acted, per rule and subject: cooldown and perHour are counted from these. Plain JSON. */
export interface LimitLedger {
  readonly version: 1;
  readonly admitted: readonly AdmittedEpisode[];
  /** When its times were last moved because the lanes' clock had been set ahead. Absent: never. */
  readonly rebasedMs?: number;
}

export interface AdmittedEpisode extends Episode, Pick<ActionRequest, 'atMs'> {
  /** When its last action was withdrawn; null while it lasts. */
  readonly endedMs: number | null;
}

export const EMPTY_LEDGER: LimitLedger = { version: 1, admitted: [] };

type Episode = Pick<ActionRequest, 'ruleId' | 'ruleChecksum' | 'subject' | 'episode'>;

export function episodeKeyOf(request: Episode): string {
  return JSON.stringify([request.ruleId, request.ruleChecksum, request.subject, request.episode]);
}

export interface LimitInputs {
  readonly active: readonly ActionRequest[];
  /** Whether an action that is absent from `active` has ended. */
  readonly conclusive: boolean;
  readonly limitsOf: (ruleId: string) => RuleLimits;
  /** The gate without limits: an episode that it holds back does not count as one that acts. */
  readonly gate: Pick<GateContext, 'paused' | 'silencedRules' | 'silencedSubjects' | 'questions'>;
}

/** Admits episodes, not stages or retries; they stay admitted. Exempt ones are counted, never held back. */
export function admitEpisodes(
  ledger: LimitLedger,
  inputs: LimitInputs,
  nowMs: number,
): { readonly ledger: LimitLedger; readonly limited: GateContext['limited'] } {
  const acting = inputs.active.filter((request) => request.action.kind !== 'notify');
  const admitted = [...closeEnded(ledger.admitted, acting, inputs, nowMs)];
  const limited: Record<string, 'cooldown' | 'perHour'> = {};
  const seen = new Set<string>();
  // An episode counts as exempt as soon as one of its actions is.
  for (const request of acting.toSorted((a, b) => Number(b.exemptFromLimits) - Number(a.exemptFromLimits))) {
    const key = episodeKeyOf(request);
    if (seen.has(key)) continue;
    seen.add(key);
    if (admitted.some((episode) => isSame(episode, request))) continue;
    const refusal = request.exemptFromLimits ? null : limitOf(admitted, request, inputs, nowMs);
    if (refusal !== null) limited[key] = refusal;
    else if (isFree(request, key, acting, inputs)) {
      const { ruleId, ruleChecksum, subject, episode } = request;
      admitted.push({ ruleId, ruleChecksum, subject, episode, atMs: nowMs, endedMs: null });
    }
  }
  return { ledger: { ...ledger, admitted }, limited };
}

/** Whether the episode may act; in approve mode, whether any stage of it may. */
function isFree(
  request: ActionRequest,
  episodeKey: string,
  acting: readonly ActionRequest[],
  { gate }: LimitInputs,
): boolean {
  const mayAct = (one: ActionRequest): boolean => {
    const mode = one.action.kind === 'protect' ? unaskedMode(one.mode) : one.mode;
    const subject = { ...one, mode, episodeKey, key: stageKeyOf(one) };
    return gateRefusal(subject, { ...gate, limited: {} }) === null;
  };
  if (request.mode !== 'approve') return mayAct(request);
  return acting.some((one) => episodeKeyOf(one) === episodeKey && mayAct(one));
}

function isSame(episode: AdmittedEpisode, request: ActionRequest): boolean {
  const { episode: number, ruleChecksum } = request;
  return episode.episode === number && episode.ruleChecksum === ruleChecksum && isSameRule(episode, request);
}

function isSameRule(episode: AdmittedEpisode, request: ActionRequest): boolean {
  return episode.ruleId === request.ruleId && episode.subject === request.subject;
}

function closeEnded(
  admitted: readonly AdmittedEpisode[],
  acting: readonly ActionRequest[],
  inputs: LimitInputs,
  nowMs: number,
): readonly AdmittedEpisode[] {
  return admitted
    .map((episode) => {
      const isActive = acting.some((request) => isSame(episode, request));
      const hasEnded = episode.endedMs === null && !isActive && inputs.conclusive;
      return hasEnded ? { ...episode, endedMs: nowMs } : episode;
    })
    .filter((episode) => {
      const keepMs = Math.max(MS_PER_HOUR, inputs.limitsOf(episode.ruleId).cooldownMs ?? 0);
      return episode.endedMs === null || nowMs - Math.max(episode.endedMs, episode.atMs) < keepMs;
    });
}

function limitOf(
  admitted: readonly AdmittedEpisode[],
  request: ActionRequest,
  inputs: LimitInputs,
  nowMs: number,
): 'cooldown' | 'perHour' | null {
  const { cooldownMs, perHour } = inputs.limitsOf(request.ruleId);
  const earlier = admitted.filter((episode) => isSameRule(episode, request));
  const isHot = ({ endedMs }: AdmittedEpisode): boolean =>
    cooldownMs !== undefined && nowMs - (endedMs ?? nowMs) < cooldownMs;
  if (earlier.some(isHot)) return 'cooldown';
  const recent = earlier.filter((episode) => nowMs - episode.atMs < MS_PER_HOUR);
  return perHour !== undefined && recent.length >= perHour ? 'perHour' : null;
}
