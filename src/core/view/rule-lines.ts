import { isSilenced } from '../controls/controls.ts';
import type { FieldCache } from '../fields/field-cache.ts';
import { UNKNOWN_WORDS, type UnknownReason } from '../quantities/quantity.ts';
import type { RuleSlot } from '../rules/account-state.ts';
import type { CompiledRule, KindRules } from '../rules/compiled-rules.ts';
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

/** Every rule for every subject that it selects, each with the reason why it does what it does, or nothing. */
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
    // By index: this is done for every rule of every subject of all accounts when somebody scrapes.
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
    // Of a rule that fires as that which it began to fire with, until it is judged anew.
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
  // Only the time that counts towards `for` is remembered of what is pending.
  const sinceMs = stages[0]?.atMs ?? (judgedMs === undefined ? null : judgedMs - heldMs);
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
  /** Why nothing can be said of the subject. */
  readonly why: UnknownReason | undefined;
}

/** The subject is in the field cache. */
function judge<K extends SubjectKind>(
  scene: Scene,
  rule: CompiledRule,
  { fieldCache }: KindRules<K>,
  { subject, slot, entry, why }: Judged,
): Standing {
  if (!scene.isJudged) return { reason: NOT_JUDGED, frozen: false };
  if (slot !== undefined && slot.checksum !== rule.spec.checksum) return { reason: CHANGED, frozen: false };
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

/** In a hedged market one side has always passed its liquidation price: the other decides, and nobody has to look. */
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

/** By what is remembered; figures that say otherwise are a moment older or newer than it. */
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

/** The figures are those of when it fired: others are not known, or are a moment newer than what was judged. */
function stillBecause(because: string): string {
  return `${reasonWords('stillFiring')}; it fired because ${because}`;
}

function part(ms: number, wholeMs: number): string {
  return `${figure(Math.floor(ms / 100) / 10, 'seconds')} of ${figure(wholeMs / 1_000, 'seconds')}`;
}

/** Rules that are not in the config, or not in the one at hand: what is remembered is all there is. */
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
