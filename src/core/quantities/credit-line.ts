import type { CreditLineRecord } from '../ports/exchange.ts';
import type { CureFigures } from '../ports/notifier.ts';
import { type Crossing, crossingOf, type Motion, REACHED } from '../risk/forecast.ts';
import {
  type DecimalString,
  decimal,
  decimalFromNumber,
  formatDecimal,
  roundToStep,
  toDecimal,
  toNumber,
} from './decimal.ts';
import { known, type Quantity, unknown } from './quantity.ts';
import type { AccountSettings } from './settings.ts';
import { type LtvScale, ltvScale, reported } from './units.ts';

type LtvField = 'currentLtv' | 'initialLtv' | 'marginCallLtv' | 'liquidationLtv';

/** Quantities of one credit line record (specification 2.5), LTVs as fractions, each computed once. */
export class CreditLineQuantities {
  readonly record: CreditLineRecord;
  readonly #scale: Quantity<LtvScale>;
  readonly #ltvs: { [F in LtvField]?: Quantity<number> } = {};

  constructor(record: CreditLineRecord, settings: Pick<AccountSettings, 'ltvUnit'>) {
    this.record = record;
    this.#scale = ltvScale(record, settings.ltvUnit);
  }

  /** One LTV of the record as a fraction; unknown if missing, negative or of unclear unit. */
  ltv(field: LtvField): Quantity<number> {
    this.#ltvs[field] ??= this.#computeLtv(field);
    return this.#ltvs[field];
  }

  #computeLtv(field: LtvField): Quantity<number> {
    const text = this.record[field];
    if (text === undefined) return unknown('fieldMissing');
    if (this.#scale.kind !== 'value') return this.#scale;
    const value = toNumber(text);
    // Dividing makes 70 percent the same double as a threshold of 0.7; multiplying would not.
    return value < 0 ? unknown('notPositive') : known(this.#scale.value === 1 ? value : value / 100);
  }

  /** `currentLtv / limit`, the used-up fraction of a limit; unknown if the limit is not positive. */
  ltvTo(limit: 'marginCallLtv' | 'liquidationLtv'): Quantity<number> {
    const current = this.ltv('currentLtv');
    if (current.kind !== 'value') return current;
    const bound = this.ltv(limit);
    if (bound.kind !== 'value') return bound;
    return bound.value > 0 ? known(current.value / bound.value) : unknown('notPositive');
  }

  /** `1 - currentLtv / limit`: how far the collateral may fall in value before the limit; negative past it. */
  collateralMayFall(limit: 'marginCallLtv' | 'liquidationLtv'): Quantity<number> {
    const used = this.ltvTo(limit);
    return used.kind === 'value' ? known(1 - used.value) : used;
  }

  /** `amount + totalFunding`, in the credit line's asset: the amount to repay now. */
  get debt(): Quantity<number> {
    const exact = this.exactDebt;
    return exact.kind === 'value' ? known(toNumber(exact.value)) : exact;
  }

  get exactDebt(): Quantity<DecimalString> {
    const { amount, totalFunding } = this.record;
    return totalFunding === undefined
      ? unknown('fieldMissing')
      : known(formatDecimal(toDecimal(amount).plus(toDecimal(totalFunding))));
  }

  get amount(): Quantity<number> {
    return reported(this.record.amount);
  }

  /** Crossing from ln(currentLtv) up to ln(marginCallLtv); unknown for an LTV of 0, which cannot grow towards it. */
  crossing(motion: Quantity<Motion>): Quantity<Crossing> {
    const used = this.ltvTo('marginCallLtv');
    if (used.kind !== 'value') return used;
    if (used.value >= 1) return known(REACHED);
    if (used.value <= 0) return unknown('notPositive');
    return motion.kind === 'value' ? known(crossingOf(used.value, 1, 'rise', motion.value)) : motion;
  }
}

/** A way to bring a credit line from its current to a target LTV; the daemon cannot do it. */
export interface Cure {
  readonly targetLtv: number;
  /** Amount to repay, in the credit line's asset. */
  readonly repay: number;
  /** Value of collateral to add instead, in the credit line's asset. */
  readonly addCollateral: number;
}

/** `repay = debt * (1 - target / current)`, or collateral of `debt * (1 / target - 1 / current)`; `none` if reached. */
export function cureTo(creditLine: CreditLineQuantities, targetLtv: number): Quantity<Cure> {
  const { debt } = creditLine;
  if (debt.kind !== 'value') return debt;
  const current = creditLine.ltv('currentLtv');
  if (current.kind !== 'value') return current;
  if (!(targetLtv > 0)) return unknown('notPositive');
  if (current.value <= targetLtv) return { kind: 'none' };
  return known({
    targetLtv,
    repay: debt.value * (1 - targetLtv / current.value),
    addCollateral: debt.value * (1 / targetLtv - 1 / current.value),
  });
}

/** One cure for each target below the credit line's LTV. */
export function curesOf(
  creditLine: CreditLineQuantities,
  targets: readonly number[],
): readonly CureFigures[] {
  const current = creditLine.ltv('currentLtv');
  return targets.flatMap((targetLtv) => {
    const cure = cureTo(creditLine, targetLtv);
    if (cure.kind !== 'value' || current.kind !== 'value') return [];
    const { repay, addCollateral } = cure.value;
    const figures = { repay: upwards(repay), addCollateral: upwards(addCollateral) };
    return [{ asset: creditLine.record.asset, currentLtv: current.value, targetLtv, ...figures }];
  });
}

const CURE_STEP = decimal('0.00000001');

/** Rounds up, so that repaying the amount suffices. */
function upwards(amount: number): DecimalString {
  return formatDecimal(roundToStep(decimalFromNumber(amount), CURE_STEP, 'up'));
}
