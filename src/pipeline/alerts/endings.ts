import { isSilenced } from '../../core/controls/controls.ts';
import { type Closing, closingsOf, closingsWords, closingWords } from '../../core/costs/closing-words.ts';
import {
  type Notice,
  type NoticeEnding,
  type NoticeFigures,
  OF_NO_RULE,
  RESOLVED,
} from '../../core/ports/notifier.ts';
import { SEVERITY_RANKS } from '../../core/rules/rule.ts';
import { actionsOf } from '../../core/rules/rule-parts.ts';
import { positionKey } from '../../core/rules/subjects.ts';
import { figure } from '../../core/view/alert-words.ts';
import { noticeFacts } from '../../core/view/notice-facts.ts';
import type { AlertEntry, AlertScene } from './alert-scene.ts';

/** How an episode ended, and what was done in it. */
export interface Ending {
  readonly words: string;
  readonly ending?: NoticeEnding;
}

const NOT_JUDGED: ReadonlySet<string> = new Set([
  'modeChanged',
  'ruleChanged',
  'ruleRemoved',
  'outsideActiveWindow',
]);

/** How an episode ends. Only a subject that can still be judged counts as safe. */
export function endingOf(notice: Notice, scene: AlertScene): Ending {
  const { ruleId, subject } = notice;
  const change = scene.transitions.find(
    (one) =>
      one.ruleId === ruleId && one.subject === subject && one.from === 'firing' && one.to === 'inactive',
  );
  const done = doneWords(notice, scene);
  const cure = scene.cures.find((one) => one.ruleId === ruleId && one.subject === subject)?.words;
  if (change?.reason === 'subjectGone' && !isClosedByUs(subject, scene)) {
    const words = [goneWords(notice, scene), cure, done].filter((part) => part !== undefined).join('; ');
    return { ending: 'gone', words };
  }
  if (change !== undefined && NOT_JUDGED.has(change.reason)) {
    return { ending: 'notJudged', words: `${change.words}: this says nothing of the danger` };
  }
  return { words: [cure, done].filter((part) => part !== undefined).join('; ') || RESOLVED };
}

function isClosedByUs(subject: string, { snapshot }: AlertScene): boolean {
  return snapshot.closedByUs?.some((positionId) => positionKey(positionId) === subject) === true;
}

function isPosition(subject: string): boolean {
  return subject.startsWith('position:');
}

/** A read shows a fill a moment later, and the rule may have fired on the same read. */
const READ_DELAY_MS = 5_000;

/** What our orders have closed since the episode began, and what is left; undefined: nothing was closed. */
function doneWords({ subject, sinceMs }: Notice, scene: AlertScene): string | undefined {
  const { nowMs, laneNowMs, lanes } = scene;
  const closings = closingsOf(lanes).filter(
    ({ positionId, cost }) =>
      (!isPosition(subject) || positionKey(positionId) === subject) &&
      cost.filledMs + nowMs - laneNowMs >= sinceMs - READ_DELAY_MS,
  );
  if (closings.length === 0) return undefined;
  const position = scene.view().positions.find((one) => one.subject === subject);
  const left =
    position === undefined ? (isPosition(subject) ? '; nothing is left' : '') : leftWords(position);
  return `${closingsWords(closings)}${left}`;
}

function leftWords(position: { readonly sizeBase: string; readonly stopPrices?: readonly string[] }): string {
  const stops = position.stopPrices ?? [];
  return `; left ${position.sizeBase}${stops.length === 0 ? ', no stop of ours stands' : `, stop at ${stops.join(', ')}`}`;
}

/** None of our known orders closed it, and the exchange does not say what did. */
function goneWords(notice: Notice, scene: AlertScene): string {
  const { subject } = notice;
  if (subject.startsWith('creditLine:')) return creditLineGone(lastFigures(notice, scene));
  const stops = scene.stopsBefore.filter(({ positionId }) => positionKey(positionId) === subject);
  const stood = stops.map(({ amount, request }) => `${amount} at ${request.activationPrice}`);
  const { figures } = notice;
  const distance = figures?.kind === 'position' ? figures.liquidationDistance : null;
  const before =
    typeof distance === 'number'
      ? `; it was ${figure(distance, 'ratio')} from liquidation when last told`
      : '';
  const isCalled = scene.before.positions.some(
    ({ positionId, called }) => positionKey(positionId) === subject && called === true,
  );
  const by = isCalled
    ? 'after a margin call, so it was probably liquidated by the exchange'
    : stood.length === 0
      ? 'its owner closed it, or the exchange liquidated it'
      : `our stops (${stood.join(', ')}) or its owner closed it, or the exchange liquidated it`;
  return `the position is not listed any more, and this rule fired for it${before}: ${by}: look at the exchange`;
}

function creditLineGone(figures: NoticeFigures | undefined): string {
  const gone = 'the credit line is not listed any more';
  if (figures?.kind !== 'creditLine') return `${gone}, and this rule fired for it: look at the exchange`;
  const { debt, asset, currentLtv, marginCallLtv } = figures;
  const name = `the credit line of ${debt ?? 'unknown'} ${asset} is not listed any more`;
  if (typeof currentLtv !== 'number') return `${name}, and this rule fired for it: look at the exchange`;
  const isCalled = typeof marginCallLtv === 'number' && currentLtv >= marginCallLtv;
  const was = isCalled ? 'it was in a margin call at' : 'its loan-to-value was';
  const why = isCalled ? 'probably liquidated' : 'repaid, or liquidated';
  return `${name}; ${was} ${figure(currentLtv, 'ratio')} when last read: ${why}, look at the exchange`;
}

/** Figures as last told, with the LTV of the last read that showed it. */
function lastFigures({ subject, figures }: Notice, { before }: AlertScene): NoticeFigures | undefined {
  const lastLog = before.creditLines.find((one) => one.subject === subject)?.forecast?.lastLog;
  if (figures?.kind !== 'creditLine' || lastLog === undefined) return figures;
  return { ...figures, currentLtv: Math.exp(lastLog) };
}

/** Several rules may have fired for the same subject: people get one alarm, as severe as the worst of them. */
export function goneAlarms(gone: readonly AlertEntry[], scene: AlertScene): readonly Notice[] {
  const bySubject = Map.groupBy(gone, ({ notice }) => notice.subject);
  return [...bySubject.values()].flatMap((entries): readonly Notice[] => {
    const all = entries.map((entry) => ({ ...entry.notice, channels: entry.told ?? entry.notice.channels }));
    const [worst] = all.toSorted((a, b) => SEVERITY_RANKS[b.severity] - SEVERITY_RANKS[a.severity]);
    if (worst === undefined) return [];
    const isForAll = all.some(({ channels }) => channels.length === 0);
    const channels = isForAll ? [] : [...new Set(all.flatMap((one) => one.channels))];
    const { figures: _before, ...same } = worst;
    const id = JSON.stringify([scene.account.id, 'gone', worst.key]);
    const words = `GONE: ${worst.words}`;
    return [{ ...same, id, key: `${worst.key}|gone`, kind: 'alarm', channels, words }];
  });
}

/** Older fills are not reported: another process did, or nobody needs to hear of them any more. */
const TOLD_WITHIN_MS = 600_000;

/** Recent fills of our standing stops, by entry key: no rule has to fire for them. */
export function stopFills(scene: AlertScene): ReadonlyMap<string, Closing> {
  const fills = closingsOf(scene.lanes).filter(
    ({ cost }) => cost.role === 'cover' && scene.laneNowMs - cost.filledMs <= TOLD_WITHIN_MS,
  );
  return new Map(fills.map((fill) => [`${STOP_FILL}${fill.cost.id}`, fill]));
}

const STOP_FILL = 'stopFill|';

/** Kept after it is handed over, since the lane reports the fill for an hour. */
export function isStopFill(key: string): boolean {
  return key.startsWith(STOP_FILL);
}

/** The notice of a fill; undefined: silenced. */
export function stopFillNotice(key: string, fill: Closing, scene: AlertScene): Notice | undefined {
  const { account, nowMs } = scene;
  const { ruleId, positionId, market } = fill;
  const subject = positionKey(positionId);
  if (isSilenced(scene.inForce, ruleId, subject)) return undefined;
  const rule = account.rules.byId.get(ruleId);
  const told = rule === undefined ? [] : actionsOf(rule.spec);
  const channels = told.flatMap((action) => (action.kind === 'notify' ? action.channels : []));
  const atMs = fill.cost.filledMs + nowMs - scene.laneNowMs;
  return {
    ...OF_NO_RULE,
    id: JSON.stringify([account.id, key]),
    // An order that fills in parts is one incident.
    key: `${account.id}|${STOP_FILL}${fill.cost.clientOrderId}`,
    kind: 'alarm',
    accountId: account.id,
    ruleId,
    subject,
    market,
    severity: 'critical',
    mode: rule?.mode ?? account.rules.settings.mode,
    labels: { ...account.rules.settings.labels, ...rule?.spec.labels },
    words: closingWords(fill),
    sinceMs: atMs,
    atMs: nowMs,
    channels: [...new Set(channels)],
    ...noticeFacts(scene.view(), { subject, market }),
  };
}
