/**
 * How bad it is, in one word and in one sentence. Pure. What the rules say counts, and besides what the exchange
 * itself says of a position; what is not known is never called safe.
 */

/** @import { Level } from './contract.d.ts' */
/** @import { AccountView, RuleLine, PositionLine } from '../../core/view/account-view.ts' */

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

/** A rule that is not in the config any more counts as grave, as in the API. @param {RuleLine} rule @returns {Level} */
export function levelOfRule({ phase, severity, frozen }) {
  if (phase === 'firing') return severity ?? 'critical';
  if (frozen) return 'unknown';
  return phase === 'pending' ? 'pending' : 'ok';
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
  const isOther = (/** @type {PositionLine} */ other) =>
    other.market === market && other.direction !== null && other.direction !== direction;
  const isHedged = direction !== null && positions.some(isOther);
  return isHedged ? 'ok' : 'warning';
}

/** @param {AccountView} account @param {string} subject @returns {Level} */
export function levelOfSubject(account, subject) {
  const position = account.positions.find((line) => line.subject === subject);
  const own = account.rules.filter((rule) => rule.subject === subject).map(levelOfRule);
  return worstOf(position === undefined ? own : [...own, levelOfExchangeState(position, account)]);
}

/** What needs nobody is calm, and what nobody knows yet is no alarm. @param {{ state: Pick<AccountView['state'], 'kind' | 'severity'> }} account @returns {Level} */
export function levelOfAccount({ state: { kind, severity } }) {
  return kind === 'blind' && severity === 'info' ? 'unknown' : (severity ?? 'ok');
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
 * The state of everything: the accounts', in the words of all other places, and what of the daemon itself does not work.
 * @param {import('./contract.d.ts').PageOverview} overview
 * @returns {Verdict}
 */
export function verdictOf(overview) {
  const { headline, degraded, degradedWords, health } = overview;
  if (overview.accounts === 0) return { level: 'unknown', sentence: headline.words };
  const isRedisNamed = headline.groups.some(({ cause }) => cause === 'storeLost');
  const others = degraded.filter((reason) => reason !== 'redis' || !isRedisNamed);
  const isRedisDown = health.checks.some(({ name, ok }) => name === 'redis' && !ok);
  const redis = isRedisDown && !isRedisNamed && !others.includes('redis') ? ['Redis is down'] : [];
  const troubles = [
    ...pausedQueues(overview),
    ...redis,
    ...others.map((reason) => degradedWords[reason] ?? reason),
  ];
  const level = levelOfAccount({ state: headline });
  if (troubles.length === 0) return { level, sentence: headline.words };
  const sentence = `${headline.words} Not everything works: ${troubles.join('; ')}.`;
  return { level: worstOf([level, 'warning']), sentence };
}
