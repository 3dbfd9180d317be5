import { FieldCache, type FieldReader } from '../fields/field-cache.ts';
import type { AccountSettings } from '../quantities/settings.ts';
import { MS_PER_MINUTE } from '../quantities/units.ts';
import { type LevelThreshold, levelThresholds } from '../risk/cadence.ts';
import type { RuleSlot } from './account-state.ts';
import { compileActiveWindow } from './active-window.ts';
import { compileCondition } from './condition.ts';
import { compileFilter, compileGlobs, type FilterJudge, type GlobJudge } from './filter.ts';
import type { ActionSpec, Mode, RuleSpec, SubjectFilter, SubjectKind } from './rule.ts';
import { identityOf, modeOf } from './rule-parts.ts';

export interface CompiledAction {
  readonly spec: ActionSpec;
  /** Markets whose positions it concerns; only for rules on other subjects than positions. */
  readonly positions: GlobJudge | undefined;
}

/** The rules on one subject kind, with their shared field cache. */
export interface KindRules<K extends SubjectKind> {
  readonly fieldCache: FieldCache<K>;
  readonly rules: readonly CompiledRule[];
  /** Thresholds of its conditions, for the cadence. */
  readonly thresholds: readonly LevelThreshold[];
}

/** For a rule whose config does not say when its condition is over: it may flap at a threshold. */
const CONTINUES_FOR_MS = 10 * MS_PER_MINUTE;

/** All rules of one account. Contains scratch space, which is safe because evaluation is synchronous. */
export interface CompiledRules {
  readonly settings: AccountSettings;
  readonly all: readonly CompiledRule[];
  readonly byId: ReadonlyMap<string, CompiledRule>;
  readonly position: KindRules<'position'>;
  readonly creditLine: KindRules<'creditLine'>;
  readonly account: KindRules<'account'>;
}

/**
 * Compiles an account's rules.
 * @throws TypeError for rules that the config should have rejected
 */
export function compileRules(specs: readonly RuleSpec[], settings: AccountSettings): CompiledRules {
  const ids = new Set(specs.map(({ id }) => id));
  if (ids.size !== specs.length) throw new TypeError('two rules of one account have the same id');
  const position = new FieldCache('position');
  const creditLine = new FieldCache('creditLine');
  const account = new FieldCache('account');
  const fieldCaches = { position, creditLine, account };
  const filters = new Map<string, FilterJudge>();
  const all = specs.map((spec, index) => {
    const own = { index, mode: modeOf(spec, settings), filter: sharedFilter(spec.where, filters) };
    return compileRule(spec, own, fieldCaches[spec.on]);
  });
  return {
    settings,
    all,
    byId: new Map(all.map((rule) => [rule.spec.id, rule])),
    position: rulesOn('position', all, position),
    creditLine: rulesOn('creditLine', all, creditLine),
    account: rulesOn('account', all, account),
  };
}

function rulesOn<K extends SubjectKind>(
  kind: K,
  all: readonly CompiledRule[],
  fieldCache: FieldCache<K>,
): KindRules<K> {
  const rules = all.filter(({ spec }) => spec.on === kind);
  const thresholds = (sendsOrders: boolean): readonly LevelThreshold[] => {
    const of = rules.filter((rule) => rule.sendsOrders === sendsOrders);
    const leaves = of.flatMap(({ condition }) => condition.leaves);
    return levelThresholds(leaves, fieldCache, sendsOrders);
  };
  return { fieldCache, rules, thresholds: [...thresholds(true), ...thresholds(false)] };
}

/** A rule compiled to closures, once per account and config. */
function compileRule(
  spec: RuleSpec,
  { index, mode, filter }: { readonly index: number; readonly mode: Mode; readonly filter: FilterJudge },
  fieldCache: FieldReader,
) {
  const condition = compileCondition(spec.when, fieldCache);
  const stages = [spec.actions, ...spec.escalate.map(({ actions }) => actions)];
  const kinds = new Set(stages.flat().map(({ kind }) => kind));
  const mayFlap = spec.keepFiringForMs <= 0 && condition.leaves.some(({ latch }) => latch < 0);
  const emptySlot: RuleSlot = { ruleId: spec.id, checksum: spec.checksum, mode, entries: [] };
  return {
    spec,
    index,
    /** Its slot when it has nothing to remember. */
    emptySlot,
    identity: identityOf(spec),
    /** The rule's own mode, else the account's. */
    mode,
    condition,
    filter,
    window: spec.activeWindow && compileActiveWindow(spec.activeWindow),
    /** Scratch space for its latches, shared by all subjects. */
    latches: new Uint8Array(condition.latchCount),
    stages: stages.map((actions) => actions.map(compileAction)),
    sendsOrders: kinds.has('reduce') || kinds.has('protect'),
    /** Whether it only sends stops: once they stand there is nothing more to do, however long it fires. */
    onlyProtects: kinds.has('protect') && [...kinds].every((kind) => kind === 'protect' || kind === 'notify'),
    /** An episode that begins within this time of the end of the last one continues it; undefined: none does. */
    continuesForMs: mayFlap ? (spec.limits.cooldownMs ?? CONTINUES_FOR_MS) : undefined,
  };
}

export type CompiledRule = Readonly<ReturnType<typeof compileRule>>;

/** Whether the rule goes on with what a slot of its id remembers. */
export function isSlotOf({ spec, identity }: CompiledRule, slot: RuleSlot): boolean {
  return spec.checksum === slot.checksum || identity === slot.identity;
}

/** Rules with the same `where` share one filter, so that a subject is tested once for several of them. */
function sharedFilter(where: SubjectFilter, filters: Map<string, FilterJudge>): FilterJudge {
  const text = JSON.stringify(where);
  const filter = filters.get(text) ?? compileFilter(where);
  filters.set(text, filter);
  return filter;
}

function compileAction(spec: ActionSpec): CompiledAction {
  const globs = 'positions' in spec ? spec.positions : undefined;
  return { spec, positions: globs && compileGlobs(globs) };
}
