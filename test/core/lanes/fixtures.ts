import type { LaneContext } from '../../../src/core/intents/admission.ts';
import type { GateContext } from '../../../src/core/intents/gate.ts';
import type { LaneState, ReadPosition } from '../../../src/core/lanes/lane-state.ts';
import type { ReadObservation } from '../../../src/core/lanes/market-read.ts';
import type { DecimalString } from '../../../src/core/quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../../../src/core/quantities/settings.ts';
import type { ActionSpec, Mode } from '../../../src/core/rules/rule.ts';
import type { ActionRequest } from '../../../src/core/rules/subject.ts';
import { PERP, SETTINGS } from '../rules/fixtures.ts';

/** Inputs for table tests: each is complete and ordinary; a test overrides what it is about. */
const { money: _, ...withoutMoney } = PERP;
export const market: MarketSettings = withoutMoney;

export const MARKET = 'BTC_PERP';

export const settings: AccountSettings = {
  ...SETTINGS,
  accountId: 'desk',
  fillWithinMs: 3_000,
  intentTtlMs: 60_000,
  maxRenewals: 2,
  maxAttempts: 5,
  mostSets: 12,
  cadence: { calmMs: 1_000, alertMs: 1_000 },
  marketSettings: (name) => (name.endsWith('_PERP') ? market : undefined),
};

export const openGate: GateContext = {
  paused: false,
  silencedRules: [],
  limited: {},
  modeOf: () => 'enforce',
};

export function contextOf(
  changed: Partial<AccountSettings> = {},
  gate: Partial<GateContext> = {},
): LaneContext {
  return { settings: { ...settings, ...changed }, gate: { ...openGate, ...gate } };
}

/** A position as a lane keeps it: long 1 at 1000, liquidation at 950. */
export function readPositionOf(changed: Partial<ReadPosition> = {}): ReadPosition {
  return {
    positionId: '42',
    positionSide: 'BOTH',
    openDate: 1,
    direction: 'long',
    sizeBase: '1' as DecimalString,
    markPrice: '1000' as DecimalString,
    markError: 0,
    liquidationPrice: '950' as DecimalString,
    distance: 0.05,
    liquidationState: 'none',
    disagreement: false,
    fenceRisk: 0,
    ...changed,
  };
}

/** What an observation shows of these positions, all in one market. */
export function inMarket(positions: readonly ReadPosition[], market = MARKET): ReadObservation['byMarket'] {
  return new Map(positions.length === 0 ? [] : [[market, positions]]);
}

export function readAt(sentAtMs: number, ...positions: readonly ReadPosition[]): ReadObservation {
  return { sentAtMs, receivedAtMs: sentAtMs + 10, complete: true, byMarket: inMarket(positions) };
}

export function action(spec: ActionSpec, changed: Partial<ActionRequest> = {}): ActionRequest {
  return {
    accountId: 'desk',
    ruleId: 'near',
    ruleChecksum: 'abc',
    subjectKind: 'position',
    subject: 'position:42',
    episode: 1,
    stage: 0,
    actionIndex: 0,
    action: spec,
    mode: 'enforce' satisfies Mode,
    severity: 'critical',
    atMs: 0,
    because: 'distance 4 % is below 5 %',
    exemptFromLimits: false,
    ...changed,
  };
}

export const half: ActionSpec = {
  kind: 'reduce',
  target: { kind: 'by', fraction: 0.5 },
  slippageSteps: [0.005, 0.02],
};
export const all: ActionSpec = { kind: 'reduce', target: { kind: 'to', fraction: 0 }, slippageSteps: [0.02] };
export const protect: ActionSpec = { kind: 'protect', at: 0.6, slippage: 0.01 };

/** The lane after an operator has vouched that no order from an earlier store epoch is open in this market. */
export function acknowledgeNoPriorOrders(state: LaneState): LaneState {
  const doubt = state.doubt?.why === 'newStore' && state.orders.length === 0 ? null : state.doubt;
  return { ...state, doubt, priorOrdersPossible: false };
}
