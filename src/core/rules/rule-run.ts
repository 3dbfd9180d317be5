import type { FieldCache } from '../fields/field-cache.ts';
import { fieldWords } from '../fields/field-words.ts';
import type { UnknownReason } from '../quantities/quantity.ts';
import { conditionWords } from '../view/alert-words.ts';
import type { AccountState, RuleSlot } from './account-state.ts';
import { type CompiledRule, type CompiledRules, isSlotOf, type KindRules } from './compiled-rules.ts';
import { FALSE, type Latches, type Truth, UNKNOWN } from './condition.ts';
import { type Decision, NO_BLINDNESS, type Transition, type UnknownFigure } from './decision.ts';
import type { FilterJudge, FilterVerdict } from './filter.ts';
import { reasonWords, type TransitionReason } from './reason.ts';
import type { SubjectKind } from './rule.ts';
import { endRule, freezeRule, type RuleChange, type RuleEntry, stepRule } from './rule-state.ts';
import type { SubjectKey } from './subject.ts';
import type { Subject, SubjectList } from './subjects.ts';

export const NO_ENTRIES: readonly RuleEntry[] = [];

interface RunTimes {
  /** Time of the evaluation, Unix milliseconds. */
  readonly atMs: number;
  /** Time credited to the timers, milliseconds. */
  readonly timerMs: number;
  /** Time for active windows: the exchange's if known, Unix milliseconds. */
  readonly windowNowMs: number;
}

/** Result of a subject's condition. */
interface Judged<K extends SubjectKind> {
  readonly truth: Truth;
  readonly latches: string;
  readonly fieldCache: FieldCache<K>;
}

/** One evaluation in progress: its only mutable part, discarded afterwards. */
export class RuleRun {
  readonly decisions: Decision[] = [];
  readonly transitions: Transition[] = [];
  readonly unknowns: UnknownFigure[] = [];
  nextEpisode: number;
  readonly #rules: CompiledRules;
  readonly #times: RunTimes;
  /** By rule index. */
  readonly #before: RuleSlot[];
  readonly #after: (RuleEntry[] | undefined)[];
  readonly #slotsBefore: readonly RuleSlot[];

  constructor(state: AccountState, rules: CompiledRules, times: RunTimes) {
    this.nextEpisode = state.nextEpisode;
    this.#rules = rules;
    this.#times = times;
    this.#before = rules.all.map(({ emptySlot, identity }) => ({ ...emptySlot, identity }));
    this.#after = rules.all.map(() => undefined);
    this.#slotsBefore = state.rules;
    for (const slot of state.rules) if (slot.entries.length > 0) this.#takeOver(slot);
  }

  /** Keeps the valid part of a rule's state and ends the rest. */
  #takeOver(slot: RuleSlot): void {
    const rule = this.#rules.byId.get(slot.ruleId);
    if (rule === undefined || !isSlotOf(rule, slot)) {
      const reason = rule === undefined ? 'ruleRemoved' : 'ruleChanged';
      for (const entry of slot.entries)
        this.#record(slot, entry.subject, endRule(entry, reason, false).changes);
      return;
    }
    let { entries } = slot;
    if (slot.mode === 'observe' && rule.mode !== 'observe') {
      entries = slot.entries.flatMap((entry) => {
        const ended = endRule(entry, 'modeChanged', true);
        this.#record(slot, entry.subject, ended.changes);
        return ended.entry ?? [];
      });
    }
    this.#before[rule.index] = { ...this.#slotOf(rule), checksum: slot.checksum, entries };
  }

  /** What the rule remembered; its episodes keep the checksum under which they began. */
  #slotOf({ index, emptySlot }: CompiledRule): RuleSlot {
    return this.#before[index] ?? emptySlot;
  }

  judge<K extends SubjectKind>(kind: KindRules<K>, list: SubjectList<K>): void {
    if (kind.rules.length === 0) return;
    for (const subject of list.subjects) {
      if (subject.frozen === undefined) kind.fieldCache.load(subject.of);
      let filter: FilterJudge | undefined;
      let selected: FilterVerdict = true;
      for (const rule of kind.rules) {
        // Rules of a set share their filter, so its verdict is reused until the filter changes.
        if (rule.filter !== filter) {
          filter = rule.filter;
          selected = filter(subject.filterable);
        }
        this.#judgeOne(rule, subject, selected, kind.fieldCache);
      }
    }
    kind.fieldCache.clear();
    for (const rule of kind.rules) this.#judgeAbsent(rule, list);
  }

  #judgeOne<K extends SubjectKind>(
    rule: CompiledRule,
    subject: Subject<K>,
    selected: FilterVerdict,
    fieldCache: FieldCache<K>,
  ): void {
    const entries = this.#slotOf(rule).entries;
    const entry = findEntry(entries, subject.key);
    if (selected === false && subject.frozen !== undefined && entry !== undefined) {
      // A frozen subject cannot be known to have left the selection.
      return this.#freeze(rule, subject.key, entry, subject.frozen);
    }
    if (selected === false) return this.#end(rule, subject.key, entry, 'notSelected');
    if (rule.window !== undefined && !rule.window(this.#times.windowNowMs)) {
      this.#decide(rule, subject.key, { phase: 'inactive', reason: 'outsideActiveWindow' });
      return this.#end(rule, subject.key, entry, 'outsideActiveWindow');
    }
    const why = subject.frozen ?? (selected === true ? undefined : selected);
    if (why !== undefined) return this.#freeze(rule, subject.key, entry, why);
    const { latches } = rule;
    loadLatches(latches, entry);
    const truth: Truth = rule.condition.judge(latches);
    const latched = truth === UNKNOWN ? '' : writeLatches(latches);
    // Most rules are inactive for most subjects: nothing to step, nothing to keep.
    if (truth === FALSE && entry === undefined && latched === '') {
      return this.#decide(rule, subject.key, { phase: 'inactive', reason: 'conditionNotMet' });
    }
    this.#step(rule, subject.key, entry, { truth, latches: latched, fieldCache });
  }

  #step<K extends SubjectKind>(
    rule: CompiledRule,
    subject: SubjectKey,
    entry: RuleEntry | undefined,
    { truth, latches, fieldCache }: Judged<K>,
  ): void {
    const figures = (): string => conditionWords(rule.condition.tree, fieldCache, rule.latches);
    const step = stepRule(subject, entry, rule.spec, {
      truth,
      latches,
      timerMs: this.#times.timerMs,
      atMs: this.#times.atMs,
      nextEpisode: () => this.nextEpisode++,
      because: figures,
    });
    this.#keep(rule, step.entry);
    this.#decide(rule, subject, step);
    for (const { slot } of truth === UNKNOWN ? rule.condition.leaves : []) {
      const [field, quantity] = [fieldCache.slots[slot], fieldCache.read(slot)];
      if (field === undefined || quantity.kind !== 'unknown' || NO_BLINDNESS.has(quantity.why)) continue;
      this.unknowns.push({ subject, figure: fieldWords(field.spec, field.parameter), why: quantity.why });
    }
    if (step.changes.length > 0) this.#record(this.#slotOf(rule), subject, step.changes, figures());
  }

  /** Handles subjects that were seen before and are not in the list: gone, or unknown. */
  #judgeAbsent<K extends SubjectKind>(rule: CompiledRule, list: SubjectList<K>): void {
    for (const entry of this.#slotOf(rule).entries) {
      if (list.subjects.some(({ key }) => key === entry.subject)) continue;
      const why = list.whyAbsent(entry.subject);
      if (why === undefined) this.#end(rule, entry.subject, entry, 'subjectGone');
      else this.#freeze(rule, entry.subject, entry, why);
    }
  }

  #freeze(rule: CompiledRule, subject: SubjectKey, entry: RuleEntry | undefined, why: UnknownReason): void {
    const frozen = freezeRule(entry);
    if (!NO_BLINDNESS.has(why)) this.unknowns.push({ subject, figure: undefined, why });
    this.#keep(rule, frozen.entry);
    this.#decide(rule, subject, frozen, why);
  }

  #end(
    rule: CompiledRule,
    subject: SubjectKey,
    entry: RuleEntry | undefined,
    reason: TransitionReason,
  ): void {
    const ended = endRule(entry, reason, reason === 'outsideActiveWindow');
    this.#keep(rule, ended.entry);
    this.#record(this.#slotOf(rule), subject, ended.changes);
  }

  #keep(rule: CompiledRule, entry: RuleEntry | undefined): void {
    if (entry === undefined) return;
    const entries = this.#after[rule.index];
    if (entries === undefined) this.#after[rule.index] = [entry];
    else entries.push(entry);
  }

  #decide(
    { spec: { id: ruleId } }: CompiledRule,
    subject: SubjectKey,
    { phase, reason }: Pick<Decision, 'phase' | 'reason'>,
    why?: UnknownReason,
  ): void {
    this.decisions.push(
      why === undefined
        ? { ruleId, subject, phase, reason }
        : { ruleId, subject, phase, reason, unknown: why },
    );
  }

  #record(
    slot: Pick<RuleSlot, 'ruleId' | 'checksum' | 'mode'>,
    subject: SubjectKey,
    changes: readonly RuleChange[],
    figures?: string,
  ): void {
    const rule = this.#rules.byId.get(slot.ruleId);
    for (const change of changes) {
      const words = reasonWords(change.reason);
      this.transitions.push({
        ruleId: slot.ruleId,
        ruleChecksum: slot.checksum,
        subject,
        ...change,
        atMs: this.#times.atMs,
        words: figures === undefined ? words : `${words}: ${figures}`,
        mode: slot.mode,
        severity: rule?.spec.severity ?? 'info',
        labels: rule?.spec.labels ?? {},
      });
    }
  }

  /** The next state of the rules; a rule with nothing to remember keeps only its checksum and mode. */
  finish(): readonly RuleSlot[] {
    return this.#rules.all.map((rule) => {
      const entries = this.#after[rule.index];
      if (entries === undefined) return rule.emptySlot;
      const before = this.#slotsBefore[rule.index];
      const now = { ...this.#slotOf(rule), entries };
      return isUnchanged(before, now) ? before : now;
    });
  }
}

/** Unchanged slots keep their object, so that they are not written again. */
function isUnchanged(before: RuleSlot | undefined, now: RuleSlot): before is RuleSlot {
  return (
    before !== undefined &&
    before.ruleId === now.ruleId &&
    before.checksum === now.checksum &&
    before.identity === now.identity &&
    before.mode === now.mode &&
    before.entries.length === now.entries.length &&
    before.entries.every((entry, index) => entry === now.entries[index])
  );
}

export function findEntry(entries: readonly RuleEntry[], subject: SubjectKey): RuleEntry | undefined {
  for (const entry of entries) if (entry.subject === subject) return entry;
  return undefined;
}

const LATCHED = 49;

export function loadLatches(latches: Latches, entry: RuleEntry | undefined): void {
  const text = entry?.latches ?? '';
  for (let index = 0; index < latches.length; index++) {
    latches[index] = text.charCodeAt(index) === LATCHED ? 1 : 0;
  }
}

/** Returns `''` if none is set, so that a subject with nothing latched needs no entry. */
function writeLatches(latches: Latches): string {
  return latches.includes(1) ? latches.join('') : '';
}
