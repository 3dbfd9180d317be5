import type { DecimalString } from '../quantities/decimal.ts';
import type { Quantity } from '../quantities/quantity.ts';
import type { ActionSpec, Mode, Severity, SubjectKind } from './rule.ts';

/** Identity of what a rule judges, stable across polls: `position:42`, `creditLine:BTC@1700000000`, `account`. */
export type SubjectKey = string;

export type Direction = 'long' | 'short';

/** `none` is the API's null; a value that the API does not document is `unrecognised`. */
export type LiquidationStateValue = 'none' | 'margin_call' | 'liquidation' | 'unrecognised';

/** One position of one complete read, for targets and order sets. Amounts and prices are decimal texts. */
export interface PositionView {
  readonly positionId: string;
  readonly market: string;
  /** Unix seconds, as reported; another one under the same id is another position. Absent: not said. */
  readonly openDate?: number;
  /** As reported; an order of ours in hedge mode names the side it reduces. */
  readonly positionSide: 'LONG' | 'SHORT' | 'BOTH';
  readonly direction: Quantity<Direction>;
  /** Absolute size in the stock currency. */
  readonly sizeBase: DecimalString;
  readonly markPrice: Quantity<DecimalString>;
  /** Bound on the error of `markPrice`, same unit. */
  readonly markError: Quantity<number>;
  /** `none`: the exchange says that there is no liquidation price. */
  readonly liquidationPrice: Quantity<DecimalString>;
  readonly liquidationDistance: Quantity<number>;
  readonly liquidationState: LiquidationStateValue | undefined;
  /** As reported: average entry price, and what partial closes have realized. Absent: not said. */
  readonly basePrice?: DecimalString;
  readonly realizedPnl?: DecimalString;
  /** What stands behind it: its own margin (isolated), or what it shares with others; absent: not known. */
  readonly margin?: 'own' | 'shared';
  /** Where its pool is used up if all markets move together; absent: no nearer than its own, or not known. */
  readonly jointLiquidationPrice?: DecimalString;
  /** Negative distance while the exchange does not liquidate: alert, no sizing. */
  readonly disagreement: boolean;
  /** Chance of crossing the liquidation price within `horizonMs`; unknown without enough samples. */
  readonly liquidationProbability: (horizonMs: number) => Quantity<number>;
}

/** What evaluating asks to be done: one action of one stage of one episode. Plain data, goes to the audit. */
export interface ActionRequest {
  readonly accountId: string;
  readonly ruleId: string;
  readonly ruleChecksum: string;
  readonly subjectKind: SubjectKind;
  readonly subject: SubjectKey;
  readonly episode: number;
  /** 0 is the rule's own `do`, 1.. its escalation stages. */
  readonly stage: number;
  /** Index within the stage's actions. */
  readonly actionIndex: number;
  readonly action: ActionSpec;
  readonly mode: Mode;
  readonly severity: Severity;
  /** When this stage began, Unix milliseconds. */
  readonly atMs: number;
  /** Why this stage acts, in words with figures. */
  readonly because: string;
  /** True when the state is margin_call, liquidation or unrecognised: limits do not hold it back. */
  readonly exemptFromLimits: boolean;
  /** The condition does not hold any more, and the rule is only kept firing; absent: it holds. */
  readonly hasCleared?: boolean | undefined;
}
