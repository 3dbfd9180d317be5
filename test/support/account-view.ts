import type { DecimalString } from '../../src/core/quantities/decimal.ts';
import type {
  AccountView,
  CreditLineLine,
  PositionLine,
  RuleLine,
} from '../../src/core/view/account-view.ts';
import type { StateLine } from '../../src/core/view/state-line.ts';

/** Accounts as page, API and metrics receive them: ordinary and complete, with changes given by a test. */

export const text = (value: string): DecimalString => value as DecimalString;

export function position(id: string, changed: Partial<PositionLine> = {}): PositionLine {
  return {
    subject: `position:${id}`,
    positionId: id,
    market: 'BTC_PERP',
    direction: 'long',
    sizeBase: text('1.500'),
    basePrice: text('30000'),
    markPrice: text('29500.5'),
    liquidationPrice: text('25000'),
    liquidationState: 'none',
    liquidationDistance: 0.1525,
    disagreement: false,
    notional: 44_250.75,
    unrealizedPnl: -749.25,
    marginUsage: 0.62,
    stopCover: 'ok',
    unprotectedMs: 0,
    liquidationProbability1h: 0.0123,
    minutesToLiquidation: 'none',
    marks: [
      {
        ruleId: 'near-liquidation',
        severity: 'critical',
        field: 'liquidationDistance',
        op: 'below',
        threshold: 0.05,
      },
      {
        ruleId: 'thin-cushion',
        severity: 'warning',
        field: 'liquidationDistance',
        op: 'below',
        threshold: 0.1,
      },
    ],
    ...changed,
  };
}

export function creditLine(changed: Partial<CreditLineLine> = {}): CreditLineLine {
  return {
    subject: 'creditLine:USDT@1700000000',
    asset: 'USDT',
    amount: text('50000'),
    totalFunding: text('12.5'),
    debt: text('50012.5'),
    currentLtv: 0.74,
    initialLtv: 0.6,
    marginCallLtv: 0.8,
    liquidationLtv: 0.9,
    ltvToMarginCall: 0.925,
    collateralMayFall: 0.075,
    minutesToMarginCall: 95,
    cures: [{ targetLtv: 0.6, repay: text('9462'), addCollateralWorth: text('15771') }],
    marks: [{ ruleId: 'ltv-high', severity: 'critical', field: 'currentLtv', op: 'above', threshold: 0.7 }],
    ...changed,
  };
}

export function rule(ruleId: string, subject: string, changed: Partial<RuleLine> = {}): RuleLine {
  return {
    ruleId,
    subject,
    severity: 'critical',
    mode: 'enforce',
    phase: 'inactive',
    frozen: false,
    episode: 0,
    stage: null,
    sinceMs: null,
    silenced: false,
    reason: 'liquidationDistance 15.25 % is not below 5 %',
    condition: 'liquidationDistance below 5 %',
    ...changed,
  };
}

export const CALM: StateLine = {
  kind: 'calm',
  cause: 'nothing',
  words: 'calm: 15.25 % from liquidation (BTC_PERP)',
  severity: null,
  sinceMs: null,
};

export function account(accountId: string, changed: Partial<AccountView> = {}): AccountView {
  const atMs = Date.now();
  return {
    accountId,
    state: CALM,
    labels: { desk: 'arb' },
    mode: 'enforce',
    pause: null,
    silences: [],
    epoch: null,
    judgedAtMs: atMs,
    nextDueAtMs: atMs + 5_000,
    figuresAtMs: atMs,
    worst: null,
    danger: 0,
    jointDistance: 0.12,
    nearest: 0.12,
    atRisk: [{ money: 'PERP', worth: 44_250.75 }],
    sources: [{ source: 'positions', readAtMs: atMs, ageMs: 0, complete: true, setAside: 0, tooOld: false }],
    failures: [],
    positions: [position('1')],
    creditLines: [],
    balances: [{ asset: 'USDT', available: text('1250.75') }],
    rules: [rule('near-liquidation', 'position:1')],
    notices: [],
    intents: [],
    orders: [],
    inbox: [],
    questions: [],
    doubts: [],
    refused: null,
    ...changed,
  };
}
