import type { Mode } from '../rules/rule.ts';
import type { DecimalString } from './decimal.ts';

/** What one needs to know of a market to shape an order in it; from the config, the API has no endpoint. */
export interface MarketSettings {
  readonly amountStep: DecimalString;
  readonly priceStep: DecimalString;
  readonly minAmount: DecimalString;
  /** Maintenance margin rate, a fraction. */
  readonly maintenanceMargin: number;
  /** Allowance for the gap between mark and last price when placing an activation, a fraction. */
  readonly basisAllowance: number;
  /** Fee, half the spread and the slippage to expect, a fraction of the notional; absent: 0.1 %. */
  readonly reductionCost?: number;
  /** What the exchange takes of an order that fills at once, a fraction; absent: unknown. */
  readonly takerFee?: number;
  /** Settlement currency, by which totals are kept apart; default: what follows the underscore in the name. */
  readonly money?: string;
}

/** How long an action waits for a person's answer, and what happens without one. */
export interface ApprovalSettings {
  readonly withinMs: number;
  readonly withoutAnswer: 'act' | 'hold';
}

/** How to deal with what the exchange leaves open, and how carefully to act. One per account, frozen. */
export interface AccountSettings {
  readonly accountId: string;
  readonly mode: Mode;
  readonly labels: Readonly<Record<string, string>>;
  /** `signed`: a one-way short has a negative amount. `unsigned`: the side of its liquidation price tells. */
  readonly bothSign: 'signed' | 'unsigned';
  readonly ltvUnit: 'auto' | 'percent' | 'fraction';
  /** Whether the positions share their collateral; `auto`: as their liquidation prices tell. */
  readonly marginModel: 'auto' | 'cross' | 'isolated';
  /** Coins held as collateral: what each is worth, in the money currency of the positions. Absent: none. */
  readonly holdings?: Readonly<Record<string, number>>;
  readonly nonceMode: 'unique' | 'increasing' | 'window';
  /** Whether cancel-all reaches stops that are not yet activated. */
  readonly cancelCoversStops: boolean;
  /** `never`: our orders of a market are never cancelled to be replaced (the owner's orders there are safe). */
  readonly cancel: 'always' | 'never';
  /** `net`: all our orders of a market stay within its net exposure. */
  readonly hedge: 'net' | 'perLeg';
  /** `audited`: act before the fence has passed when liquidation would come first. */
  readonly overshoot: 'audited' | 'never';
  /** How long a request whose reply was lost may still arrive. */
  readonly lateArrivalMs: number;
  /** Bound on how stale a read may be. */
  readonly readLagMs: number;
  /** An order not filled within this time is followed up. */
  readonly fillWithinMs: number;
  readonly intentTtlMs: number;
  /** Nothing is decided on a snapshot older than this. */
  readonly maxSnapshotAgeMs: number;
  /** No order is priced by a read older than this, or than two round trips where the exchange is slower. */
  readonly maxOrderReadAgeMs: number;
  /** Renewals of an intent that expired or was refused while its rule still fires. */
  readonly maxRenewals: number;
  /** Attempts of one intent before it is counted failed. */
  readonly maxAttempts: number;
  /** A reduction until a distance is reached when no more than this part of it is left. */
  readonly distanceTolerance: number;
  /** Largest share of a position that one intent may take away, a fraction; 1 is no bound. */
  readonly largestReduction: number;
  /** Addresses to which withdrawals are expected; absent or empty: every withdrawal is unexpected. */
  readonly withdrawalAllowList?: readonly string[];
  /** Absent: no rule of the account asks before it acts. */
  readonly approval?: ApprovalSettings;
  readonly cadence: { readonly calmMs: number; readonly alertMs: number };
  /** Settings by exact market name, globs already resolved by `marketSettings`. */
  readonly marketSettings: (market: string) => MarketSettings | undefined;
}
