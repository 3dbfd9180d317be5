import {
  type Decimal,
  decimal,
  divide,
  minDecimal,
  ONE,
  toNumber,
  ZERO,
} from '../../core/quantities/decimal.ts';
import { BOOKS, type EntryFields, type Leg, transfer } from './ledger.ts';
import type { LedgerKind } from './ledger-entry.ts';
import { accrued, assetRate, pricingMarket } from './margin.ts';
import { CODES, invalid, reject } from './rejection.ts';
import {
  type Account,
  type ExchangeState,
  type Loan,
  type Market,
  MONEY_PLACES,
  record,
  type Threshold,
} from './state.ts';
import type { OpenLoan, Outcome } from './types.ts';

/** Terms of a loan that names none; the levels are those of the live service's example. */
const DEFAULT_TERMS = {
  fundingPerDay: decimal('0.0003'),
  initialLtv: decimal('0.6'),
  marginCallLtv: decimal('0.75'),
  liquidationLtv: decimal('0.85'),
};
const LTV_PLACES = 6;

function pledgeBook(loan: Loan): string {
  return `pledge:${loan.loanId}`;
}

function collateralOf(world: ExchangeState, loan: Loan): Decimal {
  return world.ledger.balance(pledgeBook(loan), loan.collateralAsset);
}

function totalFunding(world: ExchangeState, loan: Loan): Decimal {
  return loan.fundingCarried.plus(accrued(loan.amount, loan.fundingPerDay, world.nowMs - loan.accrualFromMs));
}

function debtOf(world: ExchangeState, loan: Loan): Decimal {
  return loan.amount.plus(totalFunding(world, loan));
}

/** Debt and collateral, both in the reference asset. */
function valuesOf(world: ExchangeState, loan: Loan) {
  return {
    debt: debtOf(world, loan).times(assetRate(world, loan.asset)),
    collateral: collateralOf(world, loan).times(assetRate(world, loan.collateralAsset)),
  };
}

/** Source of a specification 2.5 record; LTVs are fractions here. */
export type CreditLineView = ReturnType<typeof creditLineView>;

export function creditLineView(world: ExchangeState, loan: Loan) {
  const { debt, collateral } = valuesOf(world, loan);
  const { loanId, account, asset, amount, collateralAsset, state, createdMs } = loan;
  const { initialLtv, marginCallLtv, liquidationLtv } = loan;
  return {
    loanId,
    accountId: account.id,
    asset,
    amount,
    collateralAsset,
    collateralAmount: collateralOf(world, loan),
    totalFunding: totalFunding(world, loan),
    currentLtv: collateral.eq(ZERO) ? ONE : divide(debt, collateral, LTV_PLACES, 'halfUp'),
    initialLtv,
    marginCallLtv,
    liquidationLtv,
    state,
    createdMs,
  };
}

type Lent<View = CreditLineView> = Outcome<{ readonly loan: View }>;

export function grantLoan(world: ExchangeState, account: Account, request: OpenLoan): Lent {
  const { asset, collateralAsset, amount, collateralAmount } = request;
  for (const [field, ticker] of Object.entries({ asset, collateralAsset })) {
    if (assetRate(world, ticker).eq(ZERO)) return invalid(field, `${ticker} has no price`);
  }
  if (amount.lte(ZERO) || collateralAmount.lte(ZERO))
    return invalid('amount', 'Amounts must be greater than 0');
  if (collateralAmount.gt(world.ledger.balance(`main:${account.id}`, collateralAsset)))
    return reject(CODES.noBalance, 'collateralAmount', 'Not enough balance');
  const loan = createLoan(world, account, request);
  const value = collateralAmount.times(assetRate(world, collateralAsset));
  if (amount.times(assetRate(world, asset)).gt(value.times(loan.initialLtv)))
    return invalid('amount', 'Loan exceeds the initial LTV');
  world.nextLoanId += 1;
  account.loans.set(loan.loanId, loan);
  writeLoan(world, loan, {
    kind: 'loan_opened',
    amount,
    legs: [
      ...transfer(`main:${account.id}`, pledgeBook(loan), collateralAsset, collateralAmount),
      ...transfer(BOOKS.lending, `main:${account.id}`, asset, amount),
    ],
  });
  world.dirtyUnits.add(loan);
  return { ok: true, loan: creditLineView(world, loan) };
}

function createLoan(world: ExchangeState, account: Account, request: OpenLoan): Loan {
  const { collateralAmount: _pledged, ...terms } = request;
  const loan: Loan = {
    loanId: world.nextLoanId,
    account,
    ...DEFAULT_TERMS,
    ...terms,
    fundingCarried: ZERO,
    accrualFromMs: world.nowMs,
    createdMs: world.nowMs,
    state: null,
    generation: 0,
    deadlineMs: 0,
    isLive: () => account.loans.has(loan.loanId),
    check: () => checkLoan(world, loan),
  };
  return loan;
}

interface LoanEntry extends Pick<EntryFields, 'amount' | 'reason'> {
  readonly kind: LedgerKind;
  readonly legs?: readonly Leg[];
}

function writeLoan(world: ExchangeState, loan: Loan, { kind, legs, ...fields }: LoanEntry): void {
  const { loanId, account, asset, collateralAsset } = loan;
  const debt = kind === 'loan_opened' ? undefined : debtOf(world, loan);
  const details = { loanId, asset, collateralAsset, debt };
  record(world, kind, { accountId: account.id, ...fields, details }, legs);
}

function checkLoan(world: ExchangeState, loan: Loan): readonly Threshold[] {
  const { debt, collateral } = valuesOf(world, loan);
  if (debt.gte(collateral.times(loan.liquidationLtv))) {
    liquidateLoan(world, loan);
    return [];
  }
  const called = debt.gte(collateral.times(loan.marginCallLtv));
  if (called !== (loan.state === 'margin_call')) {
    loan.state = called ? 'margin_call' : null;
    writeLoan(world, loan, {
      kind: called ? 'loan_margin_call' : 'loan_margin_call_cleared',
      amount: loan.amount,
    });
  }
  return called
    ? [against(world, loan, loan.liquidationLtv, 1), against(world, loan, loan.marginCallLtv, -1)]
    : [against(world, loan, loan.marginCallLtv, 1)];
}

/** `collateral value * ltv - debt value`, linear in the prices of both assets. */
function against(world: ExchangeState, loan: Loan, ltv: Decimal, direction: 1 | -1): Threshold {
  const { debt, collateral } = valuesOf(world, loan);
  const slopes = new Map<Market, number>();
  const add = (asset: string, slope: Decimal): void => {
    const market = pricingMarket(world, asset);
    if (market !== undefined) slopes.set(market, (slopes.get(market) ?? 0) + toNumber(slope) * direction);
  };
  add(loan.collateralAsset, collateralOf(world, loan).times(ltv));
  add(loan.asset, ZERO.minus(debtOf(world, loan)));
  const perDay = toNumber(loan.amount.times(loan.fundingPerDay).times(assetRate(world, loan.asset)));
  return {
    slack: toNumber(collateral.times(ltv).minus(debt)) * direction,
    slopes,
    drainPerMs: (perDay / 86_400_000) * direction,
  };
}

/** Sells enough collateral at mark to repay the debt and the fee; the rest returns to its owner. */
function liquidateLoan(world: ExchangeState, loan: Loan): void {
  const { asset, collateralAsset, account } = loan;
  const debt = debtOf(world, loan);
  const funding = debt.minus(loan.amount);
  const pledged = collateralOf(world, loan);
  const debtRate = assetRate(world, asset);
  const collateralRate = assetRate(world, collateralAsset);
  const fee = debt.times(world.config.liquidation.loanFee);
  const needed = divide(debt.plus(fee).times(debtRate), collateralRate, MONEY_PLACES, 'up');
  const sold = minDecimal(pledged, needed);
  const proceeds = divide(sold.times(collateralRate), debtRate, MONEY_PLACES, 'down');
  writeLoan(world, loan, {
    kind: 'loan_liquidation',
    amount: sold,
    legs: [
      ...transfer(pledgeBook(loan), BOOKS.counterparty, collateralAsset, sold),
      ...transfer(pledgeBook(loan), `main:${account.id}`, collateralAsset, pledged.minus(sold)),
      ...transfer(BOOKS.counterparty, BOOKS.insurance, asset, proceeds),
      ...transfer(BOOKS.insurance, BOOKS.lending, asset, loan.amount),
      ...transfer(BOOKS.insurance, BOOKS.funding, asset, funding),
    ],
    reason: 'LTV at or above the liquidation LTV',
  });
  account.loans.delete(loan.loanId);
}

/** Repays the funding first, then the loan; an overpayment is cut to the debt. */
export function repay(world: ExchangeState, loan: Loan, offered: Decimal): Lent<CreditLineView | null> {
  const main = `main:${loan.account.id}`;
  if (offered.lte(ZERO)) return invalid('amount', 'amount must be greater than 0');
  const funding = totalFunding(world, loan);
  const amount = minDecimal(offered, loan.amount.plus(funding));
  if (amount.gt(world.ledger.balance(main, loan.asset)))
    return reject(CODES.noBalance, 'amount', 'Not enough balance');
  const fundingPaid = minDecimal(amount, funding);
  const principal = amount.minus(fundingPaid);
  loan.amount = loan.amount.minus(principal);
  loan.fundingCarried = funding.minus(fundingPaid);
  loan.accrualFromMs = world.nowMs;
  const closes = loan.amount.eq(ZERO) && loan.fundingCarried.eq(ZERO);
  writeLoan(world, loan, {
    kind: 'loan_repaid',
    amount,
    legs: [
      ...transfer(main, BOOKS.funding, loan.asset, fundingPaid),
      ...transfer(main, BOOKS.lending, loan.asset, principal),
      ...(closes ? transfer(pledgeBook(loan), main, loan.collateralAsset, collateralOf(world, loan)) : []),
    ],
  });
  if (closes) loan.account.loans.delete(loan.loanId);
  world.dirtyUnits.add(loan);
  return { ok: true, loan: closes ? null : creditLineView(world, loan) };
}

export function addCollateral(world: ExchangeState, loan: Loan, amount: Decimal): Lent {
  const main = `main:${loan.account.id}`;
  if (amount.lte(ZERO)) return invalid('amount', 'amount must be greater than 0');
  if (amount.gt(world.ledger.balance(main, loan.collateralAsset)))
    return reject(CODES.noBalance, 'amount', 'Not enough balance');
  const legs = transfer(main, pledgeBook(loan), loan.collateralAsset, amount);
  writeLoan(world, loan, { kind: 'loan_collateral', amount, legs });
  world.dirtyUnits.add(loan);
  return { ok: true, loan: creditLineView(world, loan) };
}
