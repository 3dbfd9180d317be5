import { bar } from './bar.js';
import { levelChip } from './chips.js';
import { levelOfSubject } from './danger.js';
import { h, onChange, setAttribute, setText, show } from './dom.js';
import { figures } from './figures.js';
import { amount, amountUp, baseOf, forecast, longDuration, money, percent, probability } from './format.js';
import { doings, notableRules } from './lines.js';
import { subjectPath } from './route.js';
import { creditScale, distanceWords, positionScale } from './scale.js';

/** A position or a credit line in a list: bar, figures, rules, what is being done. */

/** @typedef {import('../../core/view/account-view.ts').AccountView} AccountView */
/** @typedef {import('../../core/view/account-view.ts').PositionLine} PositionLine */
/** @typedef {import('../../core/view/account-view.ts').CreditLineLine} CreditLineLine */
/** @typedef {import('./figures.js').FigureLine} FigureLine */

/** @type {Readonly<Record<string, string>>} */
const STATES = {
  margin_call: 'Margin call',
  liquidation: 'Being liquidated',
  unrecognised: 'State not recognised, treated as margin call',
};

/** @type {Readonly<Record<string, string>>} */
const COVERS = {
  ok: 'in place',
  missing: 'missing',
  beyondLiquidation: 'beyond liquidation',
  unconfirmed: 'not confirmed',
};

/** What the exchange itself says of a position that is not as it should be. @param {PositionLine} position */
export function stateWords({ liquidationState, disagreement }) {
  if (liquidationState === null) return 'State not known';
  if (liquidationState !== 'none') return STATES[liquidationState] ?? liquidationState;
  return disagreement === true ? 'The exchange contradicts itself' : '';
}

/** @param {PositionLine} position */
export function positionTitle({ market, direction, sizeBase }) {
  return `${market} ${direction ?? 'direction unknown'} ${amount(sizeBase)}\u00a0${baseOf(market)}`;
}

/** @param {PositionLine} position */
function coverWords({ stopCover, stopCoverShare, stopPrices = [], markPrice, unprotectedMs }) {
  const [nearest] = stopPrices;
  if (nearest !== undefined && stopCoverShare !== undefined) {
    const where = stopPrices.map((price) => amount(price)).join(', ');
    const away =
      markPrice === null ? '' : `, ${percent(Math.abs(1 - Number(nearest) / Number(markPrice)))} away`;
    return `${percent(stopCoverShare)} at ${where}${away}`;
  }
  if (stopCover === null) return 'unknown';
  const open = unprotectedMs !== null && unprotectedMs > 0 ? `, for ${longDuration(unprotectedMs)}` : '';
  return `${COVERS[stopCover] ?? stopCover}${open}`;
}

/** @param {PositionLine} position @returns {readonly FigureLine[]} */
export function positionFigures(position) {
  const { markPrice, liquidationPrice, notional, unrealizedPnl, marginUsage } = position;
  const pnl = typeof unrealizedPnl === 'number' && unrealizedPnl !== 0 ? unrealizedPnl : 0;
  return [
    { label: 'Mark', text: amount(markPrice) },
    { label: 'Liquidation', text: amount(liquidationPrice) },
    { label: 'Notional', text: money(notional), minor: true },
    {
      label: 'Profit',
      text: `${pnl > 0 ? '+' : ''}${money(unrealizedPnl)}`,
      title: 'Unrealised profit or loss',
    },
    { label: 'Margin used', text: percent(marginUsage), minor: true },
    {
      label: 'Risk in 1 h',
      text: probability(position.liquidationProbability1h),
      title: 'Chance of liquidation within an hour, from volatility and drift',
    },
    {
      label: 'Time left',
      text: forecast(position.minutesToLiquidation, 'not approaching'),
      title: 'To liquidation, if the price goes on as it does',
      minor: true,
    },
    {
      label: 'Stop',
      text: coverWords(position),
      title: 'Whether a stop on the near side of liquidation covers the position',
      ...(position.stopCover === 'ok' ? {} : { tone: 'bad' }),
    },
  ];
}

/** @param {CreditLineLine} line */
export function creditTitle({ asset, amount: lent }) {
  return `Credit line ${amount(lent)}\u00a0${asset}`;
}

/** @param {CreditLineLine} line */
export function creditFigureWords({ currentLtv }) {
  if (currentLtv === null) return 'LTV unknown';
  return currentLtv === 'none' ? 'no LTV' : `LTV ${percent(currentLtv)}`;
}

/** @param {CreditLineLine} line @returns {readonly FigureLine[]} */
export function creditFigures(line) {
  const { debt, asset, collateralMayFall, marginCallLtv, liquidationLtv, minutesToMarginCall } = line;
  return [
    { label: 'Debt', text: debt === null ? 'unknown' : `${amountUp(debt)} ${asset}` },
    {
      label: 'Collateral may fall',
      text: percent(collateralMayFall),
      title: 'Until the margin call',
      ...(typeof collateralMayFall === 'number' && collateralMayFall <= 0 ? { tone: 'bad' } : {}),
    },
    { label: 'Margin call at', text: percent(marginCallLtv) },
    { label: 'Liquidation at', text: percent(liquidationLtv), minor: true },
    {
      label: 'Time left',
      text: forecast(minutesToMarginCall, 'not approaching'),
      title: 'To the margin call',
    },
  ];
}

/** @param {CreditLineLine} line */
export function cureWords(line) {
  return line.cures
    .filter(({ repay }) => Number(repay) > 0)
    .map(
      ({ targetLtv, repay, addCollateralWorth }) =>
        `To ${percent(targetLtv)}: repay ${amountUp(repay)}\u00a0${line.asset}, or add collateral worth ${amountUp(addCollateralWorth)}\u00a0${line.asset}`,
    );
}

/** What differs between the two kinds. @param {AccountView} account @param {string} subject */
function contentOf(account, subject) {
  const position = account.positions.find((line) => line.subject === subject);
  if (position !== undefined) {
    const figure = distanceWords(position);
    return {
      title: positionTitle(position),
      figure,
      scale: positionScale(position),
      figures: positionFigures(position),
      state: stateWords(position),
      cures: [],
      intents: account.intents.filter(({ positionId }) => positionId === position.positionId),
      orders: account.orders.filter(({ positionId }) => positionId === position.positionId),
    };
  }
  const line = account.creditLines.find((found) => found.subject === subject);
  if (line === undefined) return undefined;
  return {
    title: creditTitle(line),
    figure: creditFigureWords(line),
    scale: creditScale(line),
    figures: creditFigures(line),
    state: '',
    cures: cureWords(line),
    intents: [],
    orders: [],
  };
}

/**
 * @param {{ heading: 'h2' | 'h3' | 'h4', title?: string, linked: boolean, endedIntents: boolean }} options
 * @returns {import('./contract.d.ts').Part<{ account: AccountView, subject: string }>}
 */
export function subjectCard({ heading, title: fixed, linked, endedIntents }) {
  const level = levelChip();
  const title = linked ? h('a', { class: 'title-link' }) : h('span');
  const figure = h('span', { class: 'headline' });
  const state = h('span', { class: 'chip', 'data-look': 'alarm' });
  const progress = bar();
  const list = figures();
  const cures = h('ul', { class: 'cures', 'aria-label': 'What would cure it' });
  const rules = notableRules();
  const doing = doings({ ended: endedIntents });
  const node = h(
    'section',
    { class: 'subject' },
    h('div', { class: 'subject-head' }, level.node, h(heading, {}, title), state, figure),
    progress.node,
    list.node,
    cures,
    rules.node,
    doing.node,
  );
  const setCures = onChange((/** @type {string} */ words) => {
    cures.replaceChildren(...words.split('\n').map((text) => h('li', {}, text)));
    show(cures, words !== '');
  });
  return {
    node,
    update({ account, subject }) {
      const content = contentOf(account, subject);
      if (content === undefined) return;
      const own = levelOfSubject(account, subject);
      level.update({ level: own });
      setAttribute(node, 'data-level', own);
      setText(title, fixed ?? content.title);
      if (linked) setAttribute(title, 'href', subjectPath(account.accountId, subject));
      setText(figure, content.figure);
      setText(state, content.state);
      show(state, content.state !== '');
      progress.update({ scale: content.scale, figure: content.figure });
      list.update(content.figures);
      setCures(own === 'ok' ? '' : content.cures.join('\n'));
      rules.update(account.rules.filter((rule) => rule.subject === subject));
      doing.update(content.intents, content.orders);
    },
  };
}
