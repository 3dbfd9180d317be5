import type { RuleSpec } from '../core/rules/rule.ts';
import { identityOf } from '../core/rules/rule-parts.ts';
import type { CompiledAccount, CompiledConfig } from './compiled-config.ts';
import { Secret } from './secret.ts';

/** The sections that are not resolved into the accounts. */
const SECTIONS = [
  'insecure',
  'exchange',
  'redis',
  'stateDir',
  'egress',
  'markets',
  'channels',
  'notify',
  'web',
  'operators',
  'audit',
  'log',
  'heartbeat',
  'stress',
  'digest',
] as const;
const ONLY_AT_START: ReadonlySet<string> = new Set(['redis', 'stateDir', 'operators']);

/** Returns what a reload changes. Secrets are compared, but the result never contains them. */
export function compareConfigs(before: CompiledConfig, after: CompiledConfig) {
  const [old, now] = [byId(before.accounts), byId(after.accounts)];
  const sections = SECTIONS.filter((section) => !same(before[section], after[section]));
  return {
    added: [...now.keys()].filter((id) => !old.has(id)),
    removed: [...old.keys()].filter((id) => !now.has(id)),
    /** Accounts that are in both and differ. */
    changed: [...now.values()].flatMap((account) => {
      const previous = old.get(account.id);
      return previous === undefined ? [] : compareAccounts(previous, account);
    }),
    /** Sections outside of accounts that differ. */
    sections,
    /** Those of `sections` that take effect only after a restart. */
    needsRestart: sections.filter((section) => ONLY_AT_START.has(section)),
  };
}

export type ConfigChange = Readonly<ReturnType<typeof compareConfigs>>;

/** Reports whether a running daemon has nothing to do. */
export function isUnchanged({ added, removed, changed, sections }: ConfigChange): boolean {
  return added.length + removed.length + changed.length + sections.length === 0;
}

function byId<T extends { readonly id: string }>(items: readonly T[]): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [item.id, item]));
}

export type AccountConfigChange = ReturnType<typeof compareAccounts>[number];

function compareAccounts(before: CompiledAccount, after: CompiledAccount) {
  const rules = compareRules(before.rules, after.rules);
  const names = new Set([...Object.keys(before.settings), ...Object.keys(after.settings)]);
  const settings = [...names].filter((name) => {
    const key = name as keyof CompiledAccount['settings'];
    // A function, different in each config; the comparison of `markets` covers it.
    return key !== 'marketSettings' && !same(before.settings[key], after.settings[key]);
  });
  const change = {
    accountId: after.id,
    rules,
    /** The key, the secret or `nonceStart` differs. */
    credentials:
      !before.apiKey.equals(after.apiKey) ||
      !before.apiSecret.equals(after.apiSecret) ||
      before.nonceStart !== after.nonceStart,
    settings,
    watch: !same(before.watch, after.watch),
    egress: before.egress !== after.egress,
    depositLink: !same(before.depositLink, after.depositLink),
  };
  const anyRule = Object.values(rules).some((ids) => ids.length > 0);
  const { credentials, watch, egress, depositLink } = change;
  const differs = anyRule || credentials || settings.length > 0 || watch || egress || depositLink;
  return differs ? [change] : [];
}

function compareRules(before: CompiledAccount['rules'], after: CompiledAccount['rules']) {
  const [old, now] = [byId(before), byId(after)];
  const ids = (isMeant: (rule: RuleSpec, previous: RuleSpec | undefined) => boolean): readonly string[] =>
    after.filter((rule) => isMeant(rule, old.get(rule.id))).map(({ id }) => id);
  return {
    added: ids((_rule, previous) => previous === undefined),
    removed: [...old.keys()].filter((id) => !now.has(id)),
    /** Condition or target differ: the rule starts with fresh state. */
    changed: ids((rule, previous) => previous !== undefined && identityOf(previous) !== identityOf(rule)),
    /** Something else differs: the rule keeps its state. */
    relabelled: ids(
      (rule, previous) =>
        previous !== undefined && identityOf(previous) === identityOf(rule) && !same(previous, rule),
    ),
  };
}

/** Compares two values as data, and secrets by value. */
function same(a: unknown, b: unknown): boolean {
  if (a instanceof Secret || b instanceof Secret) {
    return a instanceof Secret && b instanceof Secret && a.equals(b);
  }
  if (!isObject(a) || !isObject(b)) return Object.is(a, b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => same(a[key], b[key]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
