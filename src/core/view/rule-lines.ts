import { isSilenced } from '../controls/controls.ts';
import type { FieldCache } from '../fields/field-cache.ts';
import { UNKNOWN_WORDS, type UnknownReason } from '../quantities/quantity.ts';
import type { RuleSlot } from '../rules/account-state.ts';
import { type CompiledRule, isSlotOf, type KindRules } from '../rules/compiled-rules.ts';
import { FALSE, TRUE, type Truth, UNKNOWN } from '../rules/condition.ts';
import { reasonWords } from '../rules/reason.ts';
import type { SubjectKind } from '../rules/rule.ts';
import { findEntry, loadLatches, NO_ENTRIES } from '../rules/rule-run.ts';
import type { RuleEntry } from '../rules/rule-state.ts';
import type { SubjectKey } from '../rules/subject.ts';
import { positionKey, type SubjectList } from '../rules/subjects.ts';
import type { RuleLine } from './account-view.ts';
import { conditionText, conditionWords, figure } from './alert-words.ts';
import type { Scene } from './scene.ts';

/** Every rule for every subject it selects, each with the reason for what it does, or for doing nothing. */
export function ruleLines(scene: Scene): readonly RuleLine[] {
  const lines: RuleLine[] = [];
  const { rules, subjects } = scene;
  linesOf(scene, rules.position, subjects.positions, lines);
  linesOf(scene, rules.creditLine, subjects.creditLines, lines);
  linesOf(scene, rules.account, subjects.account, lines);
  for (const slot of scene.evaluation.rules) {
    if (!rules.byId.has(slot.ruleId)) lines.push(...linesOfUnknown(slot, scene));
  }
  return lines;
}

function linesOf<K extends SubjectKind>(
  scene: Scene,
  kind: KindRules<K>,
  list: SubjectList<K>,
  lines: RuleLine[],
): void {
  const slots = kind.rules.map((rule) =>
    scene.evaluation.rules.find(({ ruleId }) => ruleId === rule.spec.id),
  );
  for (const subject of list.subjects) {
    kind.fieldCache.load(subject.of);
    // Indexed loop: a scrape runs it for every rule, subject and account.
    for (let index = 0; index < kind.rules.length; index += 1) {
      const rule = kind.rules[index]!;
      const slot = slots[index];
      const entry = findEntry(slot?.entries ?? NO_ENTRIES, subject.key);
      const selected = rule.filter(subject.filterable);
      if (selected === false && entry === undefined) continue;
      const why = subject.frozen ?? (typeof selected === 'string' ? selected : undefined);
      const found = { subject: subject.key, slot, entry, why, fieldCache: kind.fieldCache };
      lines.push(lineOf(scene, rule, found, judge(scene, rule, kind, found)));
    }
  }
  kind.fieldCache.clear();
  for (const [index, rule] of kind.rules.entries()) {
    const slot = slots[index];
    for (const entry of slot?.entries ?? NO_ENTRIES) {
      if (list.subjects.some(({ key }) => key === entry.subject)) continue;
      const why = list.whyAbsent(entry.subject);
      const reason = why === undefined ? NOT_SEEN : undecided(UNKNOWN_WORDS[why], entry);
      const standing = { reason, frozen: entry.frozen || why !== undefined };
      const found = { subject: entry.subject, slot, entry, fieldCache: kind.fieldCache };
      lines.push(lineOf(scene, rule, found, standing));
    }
  }
}

const NOT_SEEN = 'the subject was not in the list that is shown';
const NOT_JUDGED = 'the account has not been judged yet';
const CHANGED = 'the rule was changed and has not been judged since';

interface Standing {
  readonly reason: string;
  readonly frozen: boolean;
}

interface Found {
  readonly subject: SubjectKey;
  readonly slot: RuleSlot | undefined;
  readonly entry: RuleEntry | undefined;
}

function lineOf<K extends SubjectKind>(
  scene: Scene,
  rule: CompiledRule,
  { subject, entry, slot, fieldCache }: Found & { readonly fieldCache: FieldCache<K> },
  { reason, frozen }: Standing,
): RuleLine {
  const { id, severity } = rule.spec;
  const { phase, episode, stage, sinceMs } = phaseOf(scene, entry);
  return {
    ruleId: id,
    subject,
    severity,
    // A firing rule keeps the mode with which it began to fire until it is evaluated again.
    mode: entry === undefined ? rule.mode : (slot?.mode ?? rule.mode),
    phase,
    episode,
    stage,
    sinceMs,
    frozen,
    silenced: isSilenced(scene.inForce, id, subject),
    reason,
    condition: textOf(rule, fieldCache),
  };
}

const AT_REST = { phase: 'inactive', episode: 0, stage: null, sinceMs: null } as const;

function phaseOf(
  { evaluation }: Scene,
  entry: RuleEntry | undefined,
): Pick<RuleLine, 'phase' | 'episode' | 'stage' | 'sinceMs'> {
  if (entry === undefined) return AT_REST;
  const { phase, episode, stages, heldMs } = entry;
  const stage = stages.at(-1)?.stage ?? null;
  if (phase === 'inactive') return { phase, episode, stage, sinceMs: null };
  const judgedMs = evaluation.passage?.at.wallMs;
  // For a pending rule, only the time towards `for` is remembered: by the monotonic clock, which has fractions.
  const sinceMs = stages[0]?.atMs ?? (judgedMs === undefined ? null : Math.round(judgedMs - heldMs));
  return { phase, episode, stage, sinceMs };
}

const TEXTS = new WeakMap<CompiledRule, string>();

function textOf<K extends SubjectKind>(rule: CompiledRule, fieldCache: KindRules<K>['fieldCache']): string {
  let text = TEXTS.get(rule);
  if (text === undefined) {
    text = conditionText(rule.condition.tree, fieldCache);
    TEXTS.set(rule, text);
  }
  return text;
}

interface Judged extends Found {
  /** Why the subject cannot be evaluated. */
  readonly why: UnknownReason | undefined;
}

/** The field cache must hold the subject. */
function judge<K extends SubjectKind>(
  scene: Scene,
  rule: CompiledRule,
  { fieldCache }: KindRules<K>,
  { subject, slot, entry, why }: Judged,
): Standing {
  if (!scene.isJudged) return { reason: NOT_JUDGED, frozen: false };
  if (slot !== undefined && !isSlotOf(rule, slot)) return { reason: CHANGED, frozen: false };
  const { window } = rule;
  if (window !== undefined && !window(scene.account.serverNowMs ?? scene.nowMs)) {
    return { reason: reasonWords('outsideActiveWindow'), frozen: false };
  }
  if (why !== undefined) return { reason: undecided(UNKNOWN_WORDS[why], entry), frozen: true };
  loadLatches(rule.latches, entry);
  const truth = rule.condition.judge(rule.latches);
  const isUndecided = entry?.frozen === true || truth === UNKNOWN;
  const frozen = isUndecided && !isOddByHedge(scene, subject);
  if (!scene.withReasons) return { reason: '', frozen };
  const words = conditionWords(rule.condition.tree, fieldCache, rule.latches);
  if (isUndecided) return { reason: undecided(words, entry), frozen };
  return {
    reason: entry === undefined ? atRest(truth, words) : inEpisode(rule, entry, truth, words),
    frozen: false,
  };
}

/** In a hedged market one side always has passed its liquidation price: the other decides, and nobody need look. */
function isOddByHedge({ account }: Scene, subject: SubjectKey): boolean {
  return account.positions.some(
    (position) =>
      positionKey(position.positionId) === subject &&
      position.disagreement.kind === 'value' &&
      position.disagreement.value &&
      account.isHedged(position),
  );
}

function undecided(why: string, entry: RuleEntry | undefined): string {
  const because = entry?.stages.at(-1)?.because ?? '';
  return `${reasonWords('frozenByUnknown')}: ${why}${because === '' ? '' : `; before, it fired because ${because}`}`;
}

function atRest(truth: Truth, words: string): string {
  return truth === FALSE ? `${reasonWords('conditionNotMet')}: ${words}` : `${words}; not judged yet`;
}

/** By the remembered state; figures that contradict it are slightly older or newer. */
function inEpisode(rule: CompiledRule, entry: RuleEntry, truth: Truth, words: string): string {
  const { phase, holds, stages, heldMs, clearMs } = entry;
  if (phase === 'inactive') return atRest(truth, words);
  const { forMs, keepFiringForMs } = rule.spec;
  if (phase === 'pending') return `${words}; it has held for ${part(heldMs, forMs)}`;
  const because = stages.at(-1)?.because ?? words;
  if (holds) {
    return truth === TRUE ? `${reasonWords('stillFiring')}: ${words}` : stillBecause(because);
  }
  const clear = truth === FALSE ? `: ${words}` : '';
  return `${reasonWords('keptFiring')} (${part(clearMs, keepFiringForMs)})${clear}; it fired because ${because}`;
}

/** Shows the figures of when it fired: current ones are unknown, or newer than the evaluation. */
function stillBecause(because: string): string {
  return `${reasonWords('stillFiring')}; it fired because ${because}`;
}

function part(ms: number, wholeMs: number): string {
  return `${figure(Math.floor(ms / 100) / 10, 'seconds')} of ${figure(wholeMs / 1_000, 'seconds')}`;
}

/** Rules missing from the config of this process: only their remembered state is shown. */
function linesOfUnknown({ ruleId, mode, entries }: RuleSlot, scene: Scene): readonly RuleLine[] {
  const lines: RuleLine[] = [];
  for (const entry of entries) {
    if (entry.phase === 'inactive' && !entry.frozen) continue;
    lines.push({
      ruleId,
      subject: entry.subject,
      severity: null,
      mode,
      ...phaseOf(scene, entry),
      frozen: entry.frozen,
      silenced: isSilenced(scene.inForce, ruleId, entry.subject),
      reason: rememberedReason(entry),
      condition: '',
    });
  }
  return lines;
}

function rememberedReason({ phase, frozen, holds, stages }: RuleEntry): string {
  const because = stages.at(-1)?.because ?? '';
  if (frozen) {
    return `${reasonWords('frozenByUnknown')}${because === '' ? '' : `; before, it fired because ${because}`}`;
  }
  if (phase === 'pending') return reasonWords('waitingFor');
  return holds ? stillBecause(because) : `${reasonWords('keptFiring')}; it fired because ${because}`;
}
