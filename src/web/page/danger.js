import { counted, listed } from './format.js';

/**
 * How bad it is, in one word and in one sentence. Pure. What the rules say counts, and besides what the exchange
 * itself says of a position; what is not known is never called safe.
 */

/** @typedef {import('./contract.d.ts').Level} Level */
/** @typedef {import('../../core/view/account-view.ts').AccountView} AccountView */
/** @typedef {import('../../core/view/account-view.ts').RuleLine} RuleLine */
/** @typedef {import('../../core/view/account-view.ts').PositionLine} PositionLine */
/** @typedef {import('../../core/view/account-view.ts').IntentLine} IntentLine */

/** Worst first. @type {readonly Level[]} */
export const LEVELS = ['critical', 'warning', 'unknown', 'pending', 'info', 'ok'];

/** @type {Readonly<Record<Level, string>>} */
export const LEVEL_WORDS = {
  critical: 'Critical',
  warning: 'Warning',
  unknown: 'Not known',
  pending: 'Pending',
  info: 'Notice',
  ok: 'Calm',
};

/** @param {readonly Level[]} levels @returns {Level} */
export function worstOf(levels) {
  return LEVELS.find((level) => levels.includes(level)) ?? 'ok';
}

/** A rule that is not in the config any more counts as grave, as in the API. @param {RuleLine} rule */
export function severityOf({ severity }) {
  return severity ?? 'critical';
}

/** @param {RuleLine} rule @returns {Level} */
export function levelOfRule(rule) {
  if (rule.phase === 'firing') return severityOf(rule);
  if (rule.frozen) return 'unknown';
  return rule.phase === 'pending' ? 'pending' : 'ok';
}

/**
 * With both sides of a market open one of them has always passed its liquidation price, which means nothing.
 * @param {PositionLine} position
 * @param {Pick<AccountView, 'positions'>} account
 * @returns {Level}
 */
export function levelOfExchangeState({ liquidationState, disagreement, market, direction }, { positions }) {
  if (liquidationState === null) return 'unknown';
  if (liquidationState !== 'none') return 'critical';
  if (disagreement !== true) return 'ok';
  const isHedged = positions.some((other) => other.market === market && other.direction !== direction);
  return isHedged ? 'ok' : 'warning';
}

/**
 * @param {AccountView} account
 * @param {string} subject
 * @returns {Level}
 */
export function levelOfSubject(account, subject) {
  const position = account.positions.find((line) => line.subject === subject);
  const own = account.rules.filter((rule) => rule.subject === subject).map(levelOfRule);
  return worstOf(position === undefined ? own : [...own, levelOfExchangeState(position, account)]);
}

/** @param {AccountView} account @returns {Level} */
export function levelOfAccount(account) {
  if (account.refused !== null || account.judgedAtMs === null) return 'unknown';
  const levels = [
    ...account.rules.map(levelOfRule),
    ...account.positions.map((position) => levelOfExchangeState(position, account)),
    ...account.sources.map((source) => /** @type {Level} */ (source.tooOld ? 'unknown' : 'ok')),
    ...(account.doubts.length > 0 ? [/** @type {const} */ ('warning')] : []),
  ];
  return worstOf(levels);
}

/** Rules that a person has to see at once. @param {RuleLine} rule */
export function isNotable(rule) {
  return rule.phase !== 'inactive' || rule.frozen;
}

/**
 * @typedef {object} Verdict
 * @property {Level} level
 * @property {string} sentence
 */

/** @type {Readonly<Record<string, string>>} */
const DEGRADED = {
  redis: 'Redis is lost, this process goes on alone',
  exchange_store: 'nonces and limits are kept by this process alone',
  schedule: 'the schedule of polls was disturbed',
  notify: 'notifications are not delivered',
  log: 'lines of its log are lost',
};

/** @param {string} reason */
export function degradedWords(reason) {
  return DEGRADED[reason] ?? `degraded: ${reason}`;
}

/** @type {Readonly<Record<string, string>>} */
const STANDS_STILL = {
  poll: 'nothing is watched',
  act: 'nothing is sent',
  notify: 'nobody is told anything',
};

/** @param {import('./contract.d.ts').PageOverview} overview */
function pausedQueues({ queues }) {
  const paused = queues.filter(({ isPaused }) => isPaused);
  return paused.map(
    ({ queue }) => `somebody paused the queue ${queue}, ${STANDS_STILL[queue] ?? 'its work stands still'}`,
  );
}

/**
 * The state of everything in one sentence.
 * @param {import('./contract.d.ts').PageOverview} overview
 * @param {readonly AccountView[]} accounts those that are known to the page, not necessarily all
 * @returns {Verdict}
 */
export function verdictOf(overview, accounts) {
  if (overview.accounts === 0) return { level: 'unknown', sentence: 'No account is watched.' };
  const blind = overview.health.checks.filter(({ ok }) => !ok).map(({ name, why }) => why || name);
  const troubles = [...pausedQueues(overview), ...blind, ...overview.degraded.map(degradedWords)];
  const aside = troubles.length === 0 ? '' : ` Not everything works: ${troubles.join('; ')}.`;
  const { critical, warning, info } = overview.firing;
  if (critical > 0) {
    const what = dangerWords(accounts, critical);
    const doing = doingWords(overview, accounts);
    return { level: 'critical', sentence: `${what}${doing === '' ? '' : `; ${doing}`}.${aside}` };
  }
  const called = accounts.flatMap(({ positions }) => positions.filter(isCalled)).length;
  if (called > 0) {
    // Without a rule of ours that fires it is no less true.
    const what = `The exchange calls for margin or liquidates: ${counted(called, 'position')}`;
    return { level: 'critical', sentence: `${what}; no critical rule fires.${aside}` };
  }
  const watched = counted(overview.accounts, 'account');
  if (warning > 0) {
    const sentence = `Nothing critical; ${counted(warning, 'warning')}. ${watched}.${aside}`;
    return { level: 'warning', sentence };
  }
  const unknown = accounts.filter((account) => levelOfAccount(account) === 'unknown').length;
  if (unknown > 0) troubles.push(`not all is known of ${counted(unknown, 'account')}`);
  if (troubles.length > 0) {
    return {
      level: 'unknown',
      sentence: `Nothing is known to be in danger, but not all is well: ${troubles.join('; ')}.`,
    };
  }
  const noted = info > 0 ? ` ${counted(info, 'notice')}.` : '';
  return { level: 'ok', sentence: `Nothing is in danger. ${watched}, all data fresh.${noted}` };
}

/**
 * Names the subjects where the page knows all rules that fire, else counts rules.
 * @param {readonly AccountView[]} accounts
 * @param {number} critical
 */
function dangerWords(accounts, critical) {
  if (!isWhole(accounts, critical)) return `${counted(critical, 'critical rule')} firing`;
  /** @type {Map<string, { one: string, where: string, subjects: Set<string> }>} */
  const groups = new Map();
  for (const account of accounts) {
    for (const { subject } of account.rules.filter(isCritical)) {
      const [one, where] = trouble(account, subject);
      const group = groups.get(where) ?? { one, where, subjects: new Set() };
      groups.set(where, group);
      group.subjects.add(`${account.accountId}\n${subject}`);
    }
  }
  return listed(
    [...groups.values()].map(({ one, where, subjects }) => `${counted(subjects.size, one)} ${where}`),
  );
}

/**
 * What a subject is called, and how far it has come: what the exchange says counts before what rules expect.
 * @param {AccountView} account
 * @param {string} subject
 * @returns {[one: string, where: string]}
 */
function trouble({ positions, creditLines }, subject) {
  const position = positions.find((line) => line.subject === subject);
  if (position?.liquidationState === 'liquidation') return ['position', 'being liquidated'];
  if (position?.liquidationState === 'margin_call') return ['position', 'in margin call'];
  if (subject.startsWith('position:')) return ['position', 'near liquidation'];
  const line = creditLines.find((found) => found.subject === subject);
  const mayFall = line?.collateralMayFall;
  if (typeof mayFall === 'number' && mayFall <= 0) return ['credit line', 'past its margin call'];
  return subject.startsWith('creditLine:') ? ['credit line', 'near margin call'] : ['account', 'in alarm'];
}

/** @param {PositionLine} position */
function isCalled(position) {
  return position.liquidationState !== null && position.liquidationState !== 'none';
}

/** @param {RuleLine} rule */
function isCritical(rule) {
  return rule.phase === 'firing' && severityOf(rule) === 'critical';
}

/** Whether the page knows every account that is in danger. @param {readonly AccountView[]} accounts @param {number} critical */
function isWhole(accounts, critical) {
  const known = accounts.flatMap(({ rules }) => rules.filter(isCritical));
  return known.length >= critical;
}

/**
 * What is being done about it; empty where the page does not know all that is in danger.
 * @param {import('./contract.d.ts').PageOverview} overview
 * @param {readonly AccountView[]} accounts
 */
function doingWords(overview, accounts) {
  if (overview.pauses.some(({ accountId }) => accountId === null))
    return 'actions are paused, nothing is done';
  if (overview.mode === 'observe') return 'only watching (observe mode)';
  if (!isWhole(accounts, overview.firing.critical)) return '';
  const grave = accounts.flatMap(({ rules }) => rules.filter(isCritical));
  const isCreditLine = (/** @type {RuleLine} */ { subject }) => subject.startsWith('creditLine:');
  const open = openAccounts(accounts);
  if (open.length === 0 && grave.every(isCreditLine)) return REPAY;
  const creditLines = new Set(
    accounts.flatMap(({ accountId, rules }) =>
      rules
        .filter((rule) => isCritical(rule) && isCreditLine(rule))
        .map(({ subject }) => `${accountId}\n${subject}`),
    ),
  ).size;
  if (creditLines === 0) return orderWords('acting', accounts, open);
  const orders = orderWords('acting on positions', accounts, open);
  return `${orders}; for ${creditLines === 1 ? 'the credit line' : counted(creditLines, 'credit line')} it can only alert, ${REPAY}`;
}

/** What no order of ours can do. */
const REPAY = 'a person has to repay or add collateral';

/** An intent of a rule that only observes is carried out by nobody. @param {IntentLine} intent */
function isUnderWay({ ended, mode }) {
  return !ended && mode === 'enforce';
}

/** Those in danger where something is being done. @param {readonly AccountView[]} accounts */
function openAccounts(accounts) {
  return accounts.filter(({ worst, intents }) => worst === 'critical' && intents.some(isUnderWay));
}

/**
 * What is being done by orders.
 * @param {string} acting how it is called
 * @param {readonly AccountView[]} accounts
 * @param {readonly AccountView[]} open those of them where something is being done
 */
function orderWords(acting, accounts, open) {
  const held = accounts.filter(({ worst, pause }) => worst === 'critical' && pause !== null).length;
  if (open.length > 0) return held === 0 ? acting : `${acting}, but paused in ${counted(held, 'account')}`;
  if (held > 0) return `paused in ${counted(held, 'account')}`;
  return 'no order under way';
}
