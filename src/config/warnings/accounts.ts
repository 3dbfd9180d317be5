import { actionsOf, modeOf } from '../../core/rules/rule-parts.ts';
import type { UncheckedAccount, UncheckedConfig } from '../compile-config.ts';
import type { Path, Problem, ProblemCode } from '../problem.ts';
import { warningAt } from '../shape/read.ts';
import { nodeAt } from '../yaml/document.ts';

/** Finds keys that several accounts share: a warning, or an error if two of them may act and would interfere. */
export function sharedKeys(config: UncheckedConfig): readonly Problem[] {
  const owners = new Map<string, UncheckedAccount[]>();
  for (const account of config.accounts) {
    const key = account.apiKey.reveal();
    if (key !== '') owners.set(key, [...(owners.get(key) ?? []), account]);
  }
  return [...owners.values()].flatMap(([first, ...others]) =>
    others.map((other) => {
      const bothAct = [first, ...others].filter((owner) => owner !== undefined && mayAct(owner)).length > 1;
      const found = warningAt(
        config.document,
        [...other.path, 'apiKey'],
        'one-key-two-accounts',
        `expected a key of its own for each account, got the key of ${first?.id ?? ''}${bothAct ? ', and both may act by it' : ''}`,
      );
      return bothAct ? { ...found, severity: 'error' as const } : found;
    }),
  );
}

/**
 * Reports whether anything but `observe` is the mode of the account, in which operator orders act, or of one of its
 * rules.
 */
export function mayAct({ settings, rules }: Pick<UncheckedAccount, 'settings' | 'rules'>): boolean {
  return settings.mode !== 'observe' || rules.some((rule) => modeOf(rule, settings) !== 'observe');
}

export function exchangeWarnings(config: UncheckedConfig): readonly Problem[] {
  const found: Problem[] = [];
  const warn = (at: Path, code: ProblemCode, message: string): number =>
    found.push(warningAt(config.document, at, code, message));
  const seen = new Set<string>();
  for (const [index, url] of config.exchange.baseUrls.entries()) {
    const path = ['exchange', 'baseUrls', index];
    const { host, pathname } = new URL(url);
    if (/\/api\/v\d+\/?$/.test(pathname))
      warn(
        path,
        'address-with-path',
        `expected the address without ${pathname}, got it with: paths of requests begin with /api/v4 themselves`,
      );
    if (seen.has(host)) warn(path, 'unused', 'expected different addresses, got one twice');
    seen.add(host);
  }
  const used = new Set(config.accounts.map(({ egress }) => egress));
  for (const group of Object.keys(config.egress)) {
    if (used.has(group) || nodeAt(config.document.root, ['egress', group]) === undefined) continue;
    warn(['egress', group], 'unused', 'expected an account in this group, got none');
  }
  return found;
}

export function accountWarnings(account: UncheckedAccount, config: UncheckedConfig): readonly Problem[] {
  const { settings, rules, path } = account;
  const found: Problem[] = [];
  const warn = (at: Path, code: ProblemCode, message: string): number =>
    found.push(warningAt(config.document, at, code, message));
  if (settings.approval !== undefined && config.channels.length === 0) {
    const message =
      'expected a channel besides the log, as rules ask for approval, got none: nobody can be asked, so nothing waits for an answer';
    warn(path, 'nobody-asked', message);
  }
  if (account.written.rules.length === 0) {
    warn(path, 'nothing-acts', 'expected rules, got none: this account is only watched');
  } else if (
    settings.mode !== 'observe' &&
    account.isWhole &&
    rules.length > 0 &&
    rules.every((rule) => actionsOf(rule).every(({ kind }) => kind === 'notify'))
  ) {
    warn(
      path,
      'nothing-acts',
      `expected a rule that acts, as the mode is ${settings.mode}, got none with reduce, protect or cancelAll`,
    );
  }
  const acting = rules.filter((rule) =>
    actionsOf(rule).some(({ kind }) => kind === 'reduce' || kind === 'protect'),
  );
  if (acting.length === 0) return found;
  /** Path of the account's key, else of the shared key, else (neither is written) of the account. */
  const at = (section: 'acting' | 'exchange', key: string): Path => {
    const written = [
      [...path, section, key],
      [section, key],
    ];
    return written.find((one) => nodeAt(config.document.root, one) !== undefined) ?? path;
  };
  if (settings.cancel === 'always' && at('acting', 'cancel') === path) {
    warn(
      path,
      'cancels-owners-orders',
      `expected acting.cancel to be chosen, got its default "always": when ${acting.map(({ id }) => id).join(', ')} re-price an order, every order of its type in that market is cancelled, yours too; "never" forbids that`,
    );
  }
  const { intentTtlMs, fillWithinMs, maxSnapshotAgeMs, readLagMs, lateArrivalMs, nonceMode } = settings;
  const timing = (at: Path, message: string): number => warn(at, 'timing', message);
  if (intentTtlMs < fillWithinMs) {
    const message =
      'expected intentTtl to be longer than fillWithin, got a shorter one: a reduction would expire before its first follow-up';
    timing(at('acting', 'intentTtl'), message);
  }
  if (maxSnapshotAgeMs <= readLagMs) {
    const message =
      'expected maxSnapshotAge to be longer than exchange.readLag, got a shorter one: all data would be too old to act on';
    timing(at('acting', 'maxSnapshotAge'), message);
  }
  if (lateArrivalMs === 0 && nonceMode !== 'increasing') {
    const message =
      'expected lateArrival above 0, got 0: an order that arrives late would add to the one sent after it';
    timing(at('exchange', 'lateArrival'), message);
  }
  return found;
}
