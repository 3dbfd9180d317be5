import { percent, shortPercent } from './format.js';

/**
 * Where things lie on a bar. Pure. Every bar fills towards harm: empty at the left is far away, full at the right
 * is liquidation. Places are fractions of the bar's width.
 */

/** @import { AccountView, PositionLine, CreditLineLine } from '../../core/view/account-view.ts' */
/** @import { Severity } from '../../core/rules/rule.ts' */

/**
 * @typedef {object} Mark
 * @property {number} at place on the bar
 * @property {string} label its figure, as short as can be
 * @property {string} name the rule, or what the exchange calls it
 * @property {Severity | 'exchange'} kind
 * @property {number} row 0 or more: labels that would overlap go to lower rows
 */

/**
 * @typedef {object} Scale
 * @property {number | null} fill null: not known
 * @property {readonly Mark[]} marks from left to right
 * @property {string} left what the left end is
 * @property {string} right what the right end is
 * @property {Severity | 'calm' | 'unknown'} zone the gravest threshold that is passed
 */

const NICE_ENDS = [0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1];
const WITHOUT_MARKS = 0.25;
/** Of the width of a bar: what a letter of a label takes, and the least gap between two labels. */
const LETTER = 0.009;
const GAP = 0.015;
const LONGEST_NAME = 30;

/** @param {PositionLine} position @returns {Scale} */
export function positionScale({ liquidationDistance, marks }) {
  const drawn = marks.filter(({ field, op }) => field === 'liquidationDistance' && op === 'below');
  // A rule that only informs may hold nearly always: it must not make everything else small.
  const grave = drawn.filter(({ severity }) => severity !== 'info');
  const end = endOf((grave.length > 0 ? grave : drawn).map(({ threshold }) => threshold));
  /** @param {number} distance */
  const at = (distance) => 1 - clamp(distance / end);
  return {
    fill: liquidationDistance === null ? null : liquidationDistance === 'none' ? 0 : at(liquidationDistance),
    marks: laidOut(
      drawn
        .filter(({ threshold }) => threshold < end)
        .map(({ ruleId, severity, threshold }) => ({
          at: at(threshold),
          label: shortPercent(threshold),
          name: ruleId,
          kind: severity,
        })),
    ),
    left: `${shortPercent(end)} or more`,
    right: 'liquidation',
    zone: zoneOf(
      liquidationDistance,
      drawn.map(({ severity, threshold }) => ({ severity, isPassed: (value) => value < threshold })),
    ),
  };
}

/** @param {CreditLineLine} line @returns {Scale} */
export function creditScale(line) {
  const { currentLtv, liquidationLtv } = line;
  const end = typeof liquidationLtv === 'number' && liquidationLtv > 0 ? liquidationLtv : 1;
  /** @param {number} ltv */
  const at = (ltv) => clamp(ltv / end);
  const own = /** @type {const} */ ([
    { ltv: line.initialLtv, name: 'initial', kind: 'exchange' },
    { ltv: line.marginCallLtv, name: 'margin call', kind: 'exchange' },
  ]);
  const rules = ruleLtvs(line);
  const drawn = [...own, ...rules].flatMap(({ ltv, name, kind }) =>
    typeof ltv === 'number' ? [{ at: at(ltv), label: shortPercent(ltv), name, kind }] : [],
  );
  return {
    fill: currentLtv === null ? null : currentLtv === 'none' ? 0 : at(currentLtv),
    marks: laidOut(drawn),
    left: '0\u00a0%',
    right:
      typeof liquidationLtv === 'number' ? `liquidation ${shortPercent(liquidationLtv)}` : shortPercent(end),
    zone: zoneOf(
      currentLtv,
      rules.map(({ kind, ltv }) => ({ severity: kind, isPassed: (value) => value > ltv })),
    ),
  };
}

/** The rules' thresholds of any of a credit line's figures, each as the LTV at which it is crossed. @param {CreditLineLine} line */
export function ruleLtvs(line) {
  return line.marks.flatMap((mark) => {
    const ltv = asLtv(mark, line);
    return ltv === undefined ? [] : [{ ltv, name: mark.ruleId, kind: mark.severity }];
  });
}

/** @param {CreditLineLine['marks'][number]} mark @param {CreditLineLine} line */
function asLtv({ field, op, threshold }, { marginCallLtv, liquidationLtv }) {
  if (field === 'currentLtv' && op === 'above') return threshold;
  if (field === 'ltvToLiquidation' && op === 'above' && typeof liquidationLtv === 'number') {
    return threshold * liquidationLtv;
  }
  if (typeof marginCallLtv !== 'number') return undefined;
  if (field === 'ltvToMarginCall' && op === 'above') return threshold * marginCallLtv;
  if (field === 'collateralMayFall' && op === 'below') return (1 - threshold) * marginCallLtv;
  return undefined;
}

/** @typedef {{ severity: Severity, isPassed: (value: number) => boolean }} Passing */

/** @param {number | 'none' | null} value @param {readonly Passing[]} passings @returns {Scale['zone']} */
function zoneOf(value, passings) {
  if (value === null) return 'unknown';
  if (value === 'none') return 'calm';
  const passed = new Set(passings.filter(({ isPassed }) => isPassed(value)).map(({ severity }) => severity));
  /** @type {readonly Severity[]} */
  const gravestFirst = ['critical', 'warning', 'info'];
  return gravestFirst.find((severity) => passed.has(severity)) ?? 'calm';
}

/** @param {readonly number[]} thresholds */
function endOf(thresholds) {
  const wanted = thresholds.length === 0 ? WITHOUT_MARKS : Math.max(...thresholds) * 2.5;
  return NICE_ENDS.find((end) => end >= wanted - 1e-9) ?? 1;
}

/**
 * Equal thresholds share one label; labels that would run into each other go to different rows.
 * @param {readonly Omit<Mark, 'row'>[]} marks
 * @returns {readonly Mark[]}
 */
function laidOut(marks) {
  /** Right-most place taken in each row. @type {number[]} */
  const ends = [];
  return merged(marks).map((mark) => {
    const [start, end] = extentOf(mark);
    const free = ends.findIndex((taken) => start - taken >= GAP);
    const row = free === -1 ? ends.length : free;
    ends[row] = end;
    return Object.assign(mark, { row });
  });
}

/** @param {readonly Omit<Mark, 'row'>[]} marks */
function merged(marks) {
  /** @type {Map<string, Omit<Mark, 'row'>>} */
  const byPlace = new Map();
  for (const mark of marks.toSorted((a, b) => a.at - b.at)) {
    const key = `${mark.at.toFixed(6)} ${mark.label}`;
    const same = byPlace.get(key);
    const name = same === undefined ? mark.name : joined(same.name, mark.name);
    byPlace.set(key, { ...mark, name, kind: graver(same?.kind ?? mark.kind, mark.kind) });
  }
  return [...byPlace.values()];
}

/** Where the label is set, by the place of its tick. @param {number} at @returns {'start' | 'middle' | 'end'} */
export function sideOf(at) {
  if (at > 0.85) return 'end';
  return at < 0.15 ? 'start' : 'middle';
}

/** A name as short as a label takes it. @param {string} name */
export function labelName(name) {
  return name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME - 1)}\u2026`;
}

/** @param {Omit<Mark, 'row'>} mark @returns {[number, number]} */
function extentOf({ at, label, name }) {
  const width = (label.length + 1 + labelName(name).length) * LETTER;
  const side = sideOf(at);
  if (side === 'start') return [at, at + width];
  return side === 'end' ? [at - width, at] : [at - width / 2, at + width / 2];
}

/** @param {string} names @param {string} name */
function joined(names, name) {
  return names.split(', ').includes(name) ? names : `${names}, ${name}`;
}

/** @param {Mark['kind']} a @param {Mark['kind']} b @returns {Mark['kind']} */
function graver(a, b) {
  /** @type {readonly Mark['kind'][]} */
  const order = ['critical', 'warning', 'info', 'exchange'];
  return order.indexOf(a) <= order.indexOf(b) ? a : b;
}

/** @param {number} value */
function clamp(value) {
  return Math.min(1, Math.max(0, value));
}

/** The figure of a bar and what it means. @param {PositionLine} position */
export function distanceWords({ liquidationDistance, disagreement }) {
  if (liquidationDistance === 'none') return 'no liquidation price';
  if (disagreement === true) return 'reported liquidation price is passed';
  if (liquidationDistance === null) return 'distance unknown';
  if (liquidationDistance < 0) return `${percent(-liquidationDistance)} past liquidation`;
  return `${percent(liquidationDistance)} to liquidation`;
}

/** What one position alone does not show; empty where there are not several. @param {AccountView} account */
export function jointWords({ positions, jointDistance }) {
  if (positions.length < 2 || jointDistance === 'none') return '';
  if (jointDistance === null) return 'All markets together: distance to liquidation unknown.';
  return `All markets together: ${percent(jointDistance)} to liquidation.`;
}

/** The bar in words, for who does not see it. @param {Scale} scale @param {string} figure */
export function scaleWords(scale, figure) {
  const marks = scale.marks.map(({ label, name }) => `${name} ${label}`);
  return marks.length === 0 ? figure : `${figure}. Thresholds: ${marks.join(', ')}`;
}
