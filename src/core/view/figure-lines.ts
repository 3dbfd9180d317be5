import { CREDIT_LINE_VALUES, type FieldQuantity, POSITION_VALUES } from '../fields/field-values.ts';
import { curesOf } from '../quantities/credit-line.ts';
import { valueOf } from '../quantities/quantity.ts';
import { MS_PER_HOUR } from '../quantities/units.ts';
import type { Subject } from '../rules/subjects.ts';
import type {
  CreditLineFigures,
  CreditLineLine,
  CureLine,
  Figure,
  PositionFigures,
  PositionLine,
} from './account-view.ts';
import { marksOf } from './marks.ts';
import type { Scene } from './scene.ts';

/** Positions as last read; the figures are those that rules use. */
export function positionLines(scene: Scene): readonly PositionLine[] {
  return scene.subjects.positions.subjects.map((subject) => positionLine(subject, scene));
}

const WITHIN_HOUR = { windowMs: MS_PER_HOUR };
const NO_PARAMETER = {};

function positionLine(subject: Subject<'position'>, { rules }: Scene): PositionLine {
  const { of } = subject;
  const { position } = of;
  const prices = of.account.standingCoverOf(position)?.prices;
  const { exactLiquidationPrice: price } = position;
  return {
    ...positionFigures(subject),
    sizeBase: position.exactSize,
    basePrice: position.record.basePrice ?? null,
    markPrice: valueOf(position.exactMarkPrice),
    liquidationPrice: price.kind === 'none' ? 'none' : valueOf(price),
    minutesToLiquidation: figureOf(POSITION_VALUES.minutesToLiquidation(of, NO_PARAMETER)),
    ...(prices === undefined ? {} : { stopPrices: prices }),
    marks: marksOf(rules.position, subject.filterable),
  };
}

/** The part without decimal arithmetic and words, which are most of the work. */
export function positionFigures({ key, of }: Subject<'position'>): PositionFigures {
  const { position } = of;
  const { record } = position;
  const standing = of.account.standingCoverOf(position);
  return {
    subject: key,
    positionId: record.positionId,
    market: record.market,
    direction: valueOf(position.direction),
    liquidationState: valueOf(position.liquidationState),
    liquidationDistance: figureOf(position.liquidationDistance),
    disagreement: valueOf(position.disagreement),
    notional: figureOf(position.notional),
    unrealizedPnl: figureOf(position.unrealizedPnl),
    marginUsage: figureOf(POSITION_VALUES.marginUsage(of, NO_PARAMETER)),
    stopCover: valueOf(of.account.coverOf(position)),
    ...(standing === undefined ? {} : { stopCoverShare: standing.share }),
    unprotectedMs: valueOf(of.unprotectedMs),
    liquidationProbability1h: figureOf(POSITION_VALUES.liquidationProbability(of, WITHIN_HOUR)),
  };
}

/** Credit lines as last read, with their cures. */
export function creditLineLines(scene: Scene): readonly CreditLineLine[] {
  return scene.subjects.creditLines.subjects.map((subject) => creditLineLine(subject, scene));
}

function creditLineLine(subject: Subject<'creditLine'>, scene: Scene): CreditLineLine {
  const { creditLine } = subject.of;
  const { record } = creditLine;
  return {
    ...creditLineFigures(subject),
    amount: record.amount,
    totalFunding: record.totalFunding ?? null,
    ltvToMarginCall: figureOf(creditLine.ltvTo('marginCallLtv')),
    cures: cureLines(subject, scene),
    marks: marksOf(scene.rules.creditLine, subject.filterable),
  };
}

/** The part that metrics need. */
export function creditLineFigures({ key, of }: Subject<'creditLine'>): CreditLineFigures {
  const { creditLine } = of;
  return {
    subject: key,
    asset: creditLine.record.asset,
    debt: valueOf(creditLine.exactDebt),
    currentLtv: figureOf(creditLine.ltv('currentLtv')),
    initialLtv: figureOf(creditLine.ltv('initialLtv')),
    marginCallLtv: figureOf(creditLine.ltv('marginCallLtv')),
    liquidationLtv: figureOf(creditLine.ltv('liquidationLtv')),
    collateralMayFall: figureOf(creditLine.collateralMayFall('marginCallLtv')),
    minutesToMarginCall: figureOf(CREDIT_LINE_VALUES.minutesToMarginCall(of, NO_PARAMETER)),
  };
}

/** One cure per target of a rule on this credit line, highest target first: the first cure is the smallest. */
function cureLines({ of, filterable }: Subject<'creditLine'>, { rules }: Scene): readonly CureLine[] {
  const targets = new Set<number>();
  for (const rule of rules.creditLine.rules) {
    if (rule.filter(filterable) === false) continue;
    for (const { spec } of rule.stages.flat()) {
      if (spec.kind === 'notify') for (const target of spec.cure) targets.add(target);
    }
  }
  const highestFirst = [...targets].sort((a, b) => b - a);
  return curesOf(of.creditLine, highestFirst).map(({ targetLtv, repay, addCollateral }) => ({
    targetLtv,
    repay,
    addCollateralWorth: addCollateral,
  }));
}

/** Keeps unknown, none and zero apart. */
export function figureOf(quantity: FieldQuantity): Figure {
  if (quantity.kind === 'none') return 'none';
  return quantity.kind === 'value' && typeof quantity.value === 'number' ? quantity.value : null;
}
