import type { ReduceTarget } from '../core/rules/rule.ts';
import type { Kinds } from '../core/schema/parts.ts';
import type { ConditionInput } from '../simulator/control/condition-routes.ts';
import type { FaultSpec } from '../simulator/http/faults.ts';
import type { RegionState } from '../simulator/http/front.ts';
import type { WalletMove } from '../simulator/model/types.ts';
import type { LatencySpec } from './chance.ts';
import type { ClockSpec, LinkEnd, LinkState } from './machine.ts';

/** A world as plain JSON. Times (`atMs`) are milliseconds since the start; amounts and prices are decimal texts. */
export interface WorldSpec {
  /** Everything left to chance follows from it. */
  readonly seed: number;
  /** Unix milliseconds; default: the beginning of 2026. */
  readonly startMs?: number;
  readonly durationMs: number;
  readonly exchange: ExchangeSpec;
  /** What moves the markets; all other prices stand still. */
  readonly prices?: readonly PriceSpec[];
  /** Empty: nobody protects the accounts. */
  readonly daemons: readonly DaemonSpec[];
  readonly network?: NetworkSpec;
  readonly faults?: readonly TimedFault[];
  readonly events?: readonly TimedEvent[];
}

export interface ExchangeSpec {
  /** Ids as in the config; an account that the config does not have is not protected. */
  readonly accounts: readonly AccountSpec[];
  /** Settles every market that is traded on collateral; default USDT. */
  readonly money?: string;
  /** Start prices by market. A market that the simulated exchange does not list is added. */
  readonly prices?: Readonly<Record<string, string>>;
  /** Terms by market; default: as the exchange lists it. */
  readonly markets?: Readonly<Record<string, MarketTerms>>;
  /** Multiplies the amount at every level of the order books. */
  readonly depth?: string;
  /** Changes to the default readings, by name. */
  readonly readings?: Readonly<Record<string, unknown>>;
}

export interface MarketTerms {
  readonly amountStep?: string;
  readonly priceStep?: string;
  readonly minAmount?: string;
  /** A fraction: 0.03 is 3 %. */
  readonly maintenanceMargin?: string;
  /** Mark price minus last price. */
  readonly basis?: string;
}

export interface AccountSpec {
  readonly id: string;
  readonly collateral: Readonly<Record<string, string>>;
  readonly main?: Readonly<Record<string, string>>;
  readonly spot?: Readonly<Record<string, string>>;
  /** Default 10. */
  readonly leverage?: number;
  readonly hedgeMode?: boolean;
  readonly positions?: readonly PositionSpec[];
  /** Their collateral is added to the account's money. */
  readonly loans?: readonly LoanSpec[];
  /** Accounts of a config that are this account under other API keys. */
  readonly alsoAs?: readonly string[];
}

export interface PositionSpec {
  readonly market: string;
  readonly side: 'long' | 'short';
  readonly amount: string;
  /** Default: the market's price at the start. */
  readonly entry?: string;
}

export interface LoanSpec {
  readonly asset: string;
  readonly amount: string;
  readonly collateralAsset: string;
  readonly collateralAmount: string;
}

export type PriceSpec = { readonly market: string } & (
  | {
      readonly points: readonly (readonly [atMs: number, price: string])[];
      /** Between two points the price moves in a straight line, in steps of this time; absent: it jumps. */
      readonly tickMs?: number;
    }
  | {
      readonly walk: {
        readonly dailyVolatility?: number;
        readonly jumpsPerDay?: number;
        readonly jumpSize?: number;
        readonly tickMs?: number;
      };
    }
  | {
      readonly scenario: {
        readonly name: string;
        readonly magnitude?: string;
        readonly durationMs?: number;
        readonly noise?: number;
        readonly tickMs?: number;
      };
    }
);

export interface DaemonSpec {
  /** Letters, digits and dashes. */
  readonly name: string;
  /** Text of a config file. Keys and the addresses of exchange and Redis are replaced. */
  readonly config: string;
  readonly clock?: ClockSpec;
  /** Default 0. */
  readonly startAtMs?: number;
  /** It uses no store, and keeps its state on the disk of its host. */
  readonly onOwnDisk?: true;
  /** Daemons that name the same store share it; absent: the store that events apply to. */
  readonly store?: string;
}

/** Latencies one way. */
export interface NetworkSpec {
  /** Default 20. */
  readonly toExchange?: LatencySpec;
  /** Default 20. */
  readonly toDaemon?: LatencySpec;
  /** Between a daemon and the shared store; default 0. */
  readonly store?: LatencySpec;
}

export interface TimedFault {
  readonly atMs: number;
  /** Absent: until the end, or until the fault is used up. */
  readonly untilMs?: number;
  readonly fault: FaultSpec;
}

export type TimedEvent = { readonly atMs: number } & WorldEvent;

export type WorldEvent = Kinds<
  Record<'suspend' | 'resume' | 'kill' | 'start' | 'stop', { daemon: string }> & EventFields
>;

interface EventFields {
  stepClock: { daemon: string; byMs: number };
  reload: { daemon: string; config: string };
  store: { state: 'up' | 'down' };
  /** The link of one daemon's host only. */
  link: { daemon: string; to: LinkEnd; state: LinkState };
  /** Like a failover to a host with another clock. */
  stepStoreClock: { byMs: number };
  region: { index: number; state: RegionState };
  /** Thin books, basis, auto-deleveraging, halts and the like; its own times are on the exchange's clock. */
  condition: { condition: ConditionInput };
  setPrice: { market: string; price: string };
  /** By an operator; `account: null`: all accounts. */
  pause: { account: string | null; forMs?: number };
  unpause: { account: string | null };
  silence: { account: string | null; rule: string; forMs: number };
  reduce: {
    account: string;
    markets: readonly string[];
    target: ReduceTarget;
    slippage: number;
    /** Even if it raises the net exposure of its market. */
    flatten?: boolean;
    /** With `flatten`: a stop on either side of the market. */
    urgent?: true;
  };
  /** Answers the open questions of an account; `rule`: only those of this rule. */
  answer: { account: string; decision: 'approve' | 'veto'; rule?: string; by?: string };
  /** Whether notices reach people. */
  people: { state: 'reachable' | 'unreachable' };
  /** By the account's owner, bypassing the daemon. */
  trade: {
    account: string;
    market: string;
    side: 'buy' | 'sell';
    amount: string;
    /** Absent: at market. */
    price?: string;
    positionSide?: 'LONG' | 'SHORT' | 'BOTH';
    reduceOnly?: boolean;
  };
  cancelAll: { account: string; market?: string };
  leverage: { account: string; leverage: number };
  /** Repays the oldest loan. */
  repay: { account: string; amount: string };
  move: { account: string; amount: string } & Pick<WalletMove, 'from' | 'to' | 'ticker'>;
}
