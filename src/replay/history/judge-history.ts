import type { Instant, Snapshot } from '../../core/quantities/snapshot.ts';
import { type AccountState, emptyAccountState } from '../../core/rules/account-state.ts';
import type { CompiledRules } from '../../core/rules/compiled-rules.ts';
import type { Transition } from '../../core/rules/decision.ts';
import { type EvaluateOptions, type Evaluation, evaluate } from '../../core/rules/evaluate.ts';
import type { SubjectKey } from '../../core/rules/subject.ts';

/** Result of judging rules on recorded history. Times are Unix milliseconds; table, JSON and page are made from it. */
export interface HistoryRecord {
  /** Names the source, without secrets. */
  readonly source: string;
  readonly notes: readonly string[];
  readonly accounts: readonly AccountHistory[];
}

export type AccountHistory = ReturnType<typeof judgeHistory>;
export type RuleHistory = AccountHistory['rules'][number];

/** From the moment a rule fires until it stops. */
interface HistoryEpisode {
  /** The position, loan or account, in words. */
  readonly subject: string;
  readonly firedMs: number;
  /** null: it fired until the end of the record. */
  readonly endedMs: number | null;
  /** The figures when it fired. */
  readonly words: string;
  /** Why it ended; null if it did not. */
  readonly endWords: string | null;
  /** Escalation stages reached after firing. */
  readonly stages: readonly { readonly stage: number; readonly atMs: number; readonly words: string }[];
}

/** An account at one recorded moment. */
export interface RecordedMoment {
  readonly snapshot: Snapshot;
  readonly now: Instant;
  /** The daemon's state at that moment; absent: derived from the moments before. */
  readonly recorded?: AccountState;
  readonly options?: EvaluateOptions;
}

export interface JudgedPast {
  readonly accountId: string;
  readonly rules: CompiledRules;
  /** Oldest first, at least one. */
  readonly moments: readonly RecordedMoment[];
  /** Taken at regular intervals, or only when something changed. */
  readonly taken: 'regularly' | 'atChanges';
  /** Why a rule cannot be judged on such moments; `undefined`: it can. */
  readonly whyNot: (ruleId: string) => string | undefined;
}

/** A pause longer than this many usual intervals is a gap. */
const GAP_INTERVALS = 3;

interface OpenEpisode {
  readonly ruleId: string;
  readonly key: SubjectKey;
  readonly episode: { -readonly [K in keyof HistoryEpisode]: HistoryEpisode[K] };
}

/** Evaluates all moments in order, with the daemon's engine. */
export function judgeHistory({ accountId, rules, moments, taken, whyNot }: JudgedPast) {
  const times = moments.map(({ now }) => now.wallMs);
  const everyMs = taken === 'regularly' ? usualInterval(times) : 0;
  const episodes: OpenEpisode[] = [];
  const undecided = new Map<string, number>();
  let state = emptyAccountState(accountId);
  for (const [index, moment] of moments.entries()) {
    const { snapshot, now, recorded, options } = moment;
    const before = recorded === undefined ? state : withRecordedMemory(state, recorded);
    const evaluation = evaluate({ snapshot, state: before, now, options }, rules);
    const past = recorded === undefined ? NOTHING_RECORDED : judgeAsRecorded(rules, recorded, moment);
    if (index === 0) for (const one of past.firing) episodes.push(alreadyFiring(one, snapshot));
    const own = evaluation.transitions.filter(({ ruleId }) => !past.ruleIds.has(ruleId));
    for (const transition of [...past.transitions, ...own])
      take(episodes, transition, subjectWords(snapshot, transition.subject));
    for (const ruleId of frozenRules(evaluation)) undecided.set(ruleId, (undecided.get(ruleId) ?? 0) + 1);
    state = withPatience(evaluation.state, everyMs);
  }
  const [fromMs = 0] = times;
  return {
    id: accountId,
    moments: moments.length,
    fromMs,
    toMs: times.at(-1) ?? fromMs,
    /** Usual time between two moments (the median); 0 if only changes are recorded. */
    everyMs,
    gaps: everyMs === 0 ? [] : gapsOf(times, everyMs),
    rules: rules.all.map(({ spec: { id, severity } }) => {
      const why = whyNot(id);
      const own = why === undefined ? episodes.filter(({ ruleId }) => ruleId === id) : [];
      return {
        id,
        severity,
        /** Why the record does not suffice for this rule, in a sentence; null: it was judged. */
        notJudged: why ?? null,
        /** Moments at which the data could not decide for some subject. */
        undecided: why === undefined ? (undecided.get(id) ?? 0) : 0,
        /** In the order in which they fired. */
        episodes: own.map(({ episode }): HistoryEpisode => episode),
      };
    }),
  };
}

/**
 * The rules' own state combined with the recorded memory. Recorded ages are shifted, as the record has fewer moments
 * than the daemon had polls.
 */
function withRecordedMemory(state: AccountState, recorded: AccountState): AccountState {
  const { passage, markets, creditLines, positions, ages } = recorded;
  const { passage: own } = state;
  const memory = { markets, creditLines, positions };
  if (own === undefined || passage === undefined) return { ...state, ...memory, ages };
  const sinceMs = passage.at.wallMs - own.at.wallMs;
  const moved = Object.fromEntries(Object.entries(ages).map(([source, ageMs]) => [source, ageMs - sinceMs]));
  return { ...state, ...memory, ages: moved };
}

/** What happened to the rules that were in force then and are unchanged now. */
type AsRecorded = ReturnType<typeof judgeAsRecorded>;

const NOTHING_RECORDED: AsRecorded = { ruleIds: new Set(), transitions: [], firing: [] };

/** The daemon saw every poll: for an unchanged rule its recorded timers and latches are exact. */
function judgeAsRecorded(
  rules: CompiledRules,
  recorded: AccountState,
  { snapshot, now, options }: RecordedMoment,
) {
  const same = recorded.rules.flatMap((slot) => {
    const rule = rules.byId.get(slot.ruleId);
    return rule?.spec.checksum === slot.checksum ? [{ ...slot, mode: rule.mode }] : [];
  });
  const ruleIds = new Set(same.map(({ ruleId }) => ruleId));
  const { transitions } = evaluate({ snapshot, state: { ...recorded, rules: same }, now, options }, rules);
  return {
    ruleIds,
    transitions: transitions.filter(({ ruleId }) => ruleIds.has(ruleId)),
    /** Rules that were already firing. */
    firing: same.flatMap(({ ruleId, entries }) =>
      entries.filter(({ phase }) => phase === 'firing').map((entry) => ({ ruleId, entry })),
    ),
  };
}

function alreadyFiring({ ruleId, entry }: AsRecorded['firing'][number], snapshot: Snapshot): OpenEpisode {
  const { subject: key, stages } = entry;
  const [first, ...more] = stages;
  return {
    ruleId,
    key,
    episode: {
      subject: subjectWords(snapshot, key),
      firedMs: first?.atMs ?? snapshot.at.wallMs,
      endedMs: null,
      words: first?.because ?? '',
      endWords: null,
      stages: more.map(({ stage, atMs, because: words }) => ({ stage, atMs, words })),
    },
  };
}

/** Credits timers with a whole interval of the record, but with only the beginning of a gap. */
function withPatience(state: AccountState, everyMs: number): AccountState {
  const { passage } = state;
  if (passage === undefined) return state;
  const plannedMs = Math.max(passage.plannedMs, GAP_INTERVALS * everyMs);
  return { ...state, passage: { ...passage, plannedMs } };
}

function take(episodes: OpenEpisode[], transition: Transition, subject: string): void {
  const { ruleId, subject: key, from, to, stage, atMs, words } = transition;
  const open = episodes.findLast(
    (one) => one.ruleId === ruleId && one.key === key && one.episode.endedMs === null,
  )?.episode;
  if (to === 'firing' && from !== 'firing') {
    const episode = { subject, firedMs: atMs, endedMs: null, words, endWords: null, stages: [] };
    episodes.push({ ruleId, key, episode });
  } else if (to === 'firing' && stage !== undefined && open !== undefined) {
    open.stages = [...open.stages, { stage, atMs, words }];
  } else if (from === 'firing' && to === 'inactive' && open !== undefined) {
    open.endedMs = atMs;
    open.endWords = words;
  }
}

function frozenRules({ decisions }: Evaluation): ReadonlySet<string> {
  return new Set(decisions.filter(({ reason }) => reason === 'frozenByUnknown').map(({ ruleId }) => ruleId));
}

function subjectWords({ sources }: Snapshot, key: SubjectKey): string {
  const [kind, id] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];
  if (kind === 'creditLine') return `loan of ${id.split('@')[0] ?? ''}`;
  const records = sources.positions?.kind === 'read' ? sources.positions.value.records : [];
  const record = records.find(({ positionId }) => positionId === id);
  return record === undefined ? key : `${record.market} (position ${id})`;
}

function usualInterval(times: readonly number[]): number {
  const intervals = times.slice(1).map((atMs, index) => atMs - (times[index] ?? atMs));
  return intervals.toSorted((a, b) => a - b)[Math.floor(intervals.length / 2)] ?? 0;
}

function gapsOf(times: readonly number[], everyMs: number) {
  return times.slice(1).flatMap((toMs, index) => {
    const fromMs = times[index] ?? toMs;
    return toMs - fromMs > GAP_INTERVALS * everyMs ? [{ fromMs, toMs }] : [];
  });
}
