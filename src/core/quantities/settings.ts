import type { Mode } from '../rules/rule.ts';
import type { DecimalString } from './decimal.ts';

/** Terms of a market for shaping orders; from the config, since the API has no endpoint for them. */
export interface MarketSettings {
  readonly amountStep: DecimalString;
  readonly priceStep: DecimalString;
  readonly minAmount: DecimalString;
  /** Maintenance margin rate, a fraction. */
  readonly maintenanceMargin: number;
  /** Allowance for the gap between mark and last price when placing an activation, a fraction. */
  readonly basisAllowance: number;
  /** Bounds that refusals have named. Absent: none. */
  readonly bounds?: TaughtBounds;
  /** Expected fee, half spread and slippage, a fraction of the notional; absent: 0.1 %. */
  readonly reductionCost?: number;
  /** Fee of an order that fills at once, a fraction; absent: unknown. */
  readonly takerFee?: number;
  /** Settlement currency, which separates totals; default: the part of the name after the last underscore. */
  readonly money?: string;
}

/** Bounds of orders that no setting names; absent: none is known. */
export interface TaughtBounds {
  /** Least amount times limit price, money. */
  readonly minTotal?: DecimalString | undefined;
  /** Most amount that one order may have, base units. */
  readonly mostAmount?: DecimalString | undefined;
  /** Of a price, parts of the mark. */
  readonly lowestPart?: number | undefined;
  readonly highestPart?: number | undefined;
  /** Of a reduction, a fraction: prices further away were refused without a bound. */
  readonly mostSlippage?: number | undefined;
}

/** How long an action waits for a person's answer, and what happens without one. */
export interface ApprovalSettings {
  readonly withinMs: number;
  readonly withoutAnswer: 'act' | 'hold';
}

/** How to interpret what the exchange leaves open, and how cautiously to act. One per account, frozen. */
export interface AccountSettings {
  readonly accountId: string;
  readonly mode: Mode;
  readonly labels: Readonly<Record<string, string>>;
  /** `signed`: a one-way short has a negative amount. `unsigned`: its liquidation price may show the side. */
  readonly bothSign: 'signed' | 'unsigned';
  readonly ltvUnit: 'auto' | 'percent' | 'fraction';
  /** Whether positions share their collateral; `auto`: derived from their liquidation prices. */
  readonly marginModel: 'auto' | 'cross' | 'isolated';
  /** Worth of each coin held as collateral, in the money currency of the positions. Absent: none. */
  readonly holdings?: Readonly<Record<string, number>>;
  readonly nonceMode: 'unique' | 'increasing' | 'window';
  /** Whether cancel-all also cancels stops that are not yet activated. */
  readonly cancelCoversStops: boolean;
  /** `never`: our orders of a market are never cancelled and replaced, which keeps the owner's orders there. */
  readonly cancel: 'always' | 'never';
  /** `possible`: the owner may have orders, which a cancel would take down too: none is sent in calm. */
  readonly ownOrders: 'possible' | 'none';
  /** `net`: all our orders of a market stay within its net exposure. */
  readonly hedge: 'net' | 'perLeg';
  /** `audited`: act before the fence has passed if liquidation would come first. */
  readonly overshoot: 'audited' | 'never';
  /** How long a request without a reply may still arrive. */
  readonly lateArrivalMs: number;
  /** Maximum delay of what a read shows. */
  readonly readLagMs: number;
  /** An order not filled within this time is followed up. */
  readonly fillWithinMs: number;
  readonly intentTtlMs: number;
  /** Older snapshots decide nothing. */
  readonly maxSnapshotAgeMs: number;
  /** Maximum age of the read that prices an order, or two round trips if the exchange is slower. */
  readonly maxOrderReadAgeMs: number;
  /** How often an intent that expired or was refused is renewed while its rule still fires. */
  readonly maxRenewals: number;
  /** Attempts of one intent before it counts as failed. */
  readonly maxAttempts: number;
  /** Order sets of one market that change nothing before its lane holds back; one a minute is forgotten. */
  readonly mostSets: number;
  /** A reduction to a distance counts as reached once at most this fraction of the reduction remains. */
  readonly distanceTolerance: number;
  /** Largest part of a position that one intent may close, a fraction; 1: no limit. */
  readonly largestReduction: number;
  /** Expected withdrawal addresses; absent or empty: every withdrawal is unexpected. */
  readonly withdrawalAllowList?: readonly string[];
  /** Absent: no rule of the account asks for approval. */
  readonly approval?: ApprovalSettings;
  readonly cadence: { readonly calmMs: number; readonly alertMs: number };
  /** Settings by exact market name; `marketLookup` resolves the globs. */
  readonly marketSettings: (market: string) => MarketSettings | undefined;
}
