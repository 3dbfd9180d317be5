import type { Expectation } from '../core/controls/daemon-sign.ts';
import type { AuditReader } from '../core/ports/audit-reader.ts';
import type { HistoryReader } from '../core/ports/history-reader.ts';
import type { OperatorControls } from '../core/ports/operator-controls.ts';
import type { DecimalString } from '../core/quantities/decimal.ts';
import type { SubjectKey } from '../core/rules/subject.ts';
import type { OutputOf } from '../core/schema/parts.ts';
import type { AccountView } from '../core/view/account-view.ts';
import type { processLine, queueLine, readiness, stressReply, topUpOffer } from './api/schemas.ts';

/** Everything that the API shows and does. */
export interface WebSources {
  readonly nowMs: () => number;
  readonly views: ViewSource;
  readonly audit: Pick<AuditReader, 'read' | 'tail' | 'show' | 'inputs' | 'prune'>;
  readonly history: Pick<HistoryReader, 'read'>;
  readonly controls: OperatorControls;
  readonly orders: OrderDesk;
  /** Returns the newest scheduled stress test; rejects while the store is lost. */
  readonly stress: () => Promise<StressStatus>;
  readonly process: ProcessSource;
  readonly deposits: DepositDesk;
}

/** The configured accounts, from the shared state. */
export interface ViewSource {
  ids(): readonly string[];
  /**
   * Returns accounts by id, or all without ids, in no particular order; unknown ones are left out. An unchanged account
   * keeps its object. While the store is lost, the last known views are returned.
   */
  read(ids?: readonly string[]): Promise<readonly SourcedView[]>;
  /** Ids of the configured rules of an account; null: of all accounts. */
  ruleIds(accountId: string | null): readonly string[];
}

export interface SourcedView {
  readonly view: AccountView;
  /** Rises when a request may have been sent to the exchange, or answered; 0: none ever was. */
  readonly acted: number;
}

/** This process and its view of the queues. */
export interface ProcessSource {
  readonly version: string;
  readonly instance: string;
  readonly startedAtMs: number;
  readonly readiness: () => Promise<Readiness>;
  /** What works only in part: values of `DegradedReason`, and `mirror`. */
  readonly degraded: () => readonly string[];
  /** False while Redis is lost and other processes may run: they do not learn what is paused or lifted here. */
  readonly reachesAll: () => boolean;
  /** It goes on without Redis while that is lost. */
  readonly goesAlone: boolean;
  /** Which processes obey what this one does; resolves when all do, or after `withinMs`. */
  readonly processes: (withinMs: number) => Promise<readonly ProcessLine[]>;
  readonly queues: () => Promise<readonly QueueLine[]>;
  /** Number of processes that run and poll. */
  readonly polling: () => number;
}

/** The checks are `redis`, if there is one, `firstEvaluation` and `dataFresh`. */
export type Readiness = OutputOf<typeof readiness>;

export type QueueLine = OutputOf<typeof queueLine>;

export type ProcessLine = OutputOf<typeof processLine>;

export type StressStatus = OutputOf<typeof stressReply>;

/** What must be known about an operator order before it is submitted. */
export interface OrderDesk {
  /** What the daemons that run will do with an order made here. */
  expected(slippageSteps: readonly number[]): Expectation;
  /** Distance of an activation price from the mark price, a fraction; undefined if the market has no entry. */
  gapOf(accountId: string, market: string): number | undefined;
  /** `operators.maxSlippage`: daemons refuse orders with a larger slippage. */
  readonly maxSlippage: number;
  /** The money currency of a market. */
  moneyOf(accountId: string, market: string): string;
}

/** Makes deposit links, at which a person pays in money (specification 4.1). */
export interface DepositDesk {
  /** Returns what an account offers; undefined if nothing is configured. */
  offer(accountId: string): TopUpOffer | undefined;
  link(order: TopUpOrder): Promise<TopUpOutcome>;
}

export type TopUpOffer = OutputOf<typeof topUpOffer>;

export interface TopUpOrder {
  readonly accountId: string;
  readonly subject: SubjectKey;
  readonly ticker: string;
  readonly amount: DecimalString;
  readonly author: string;
}

export type TopUpOutcome =
  | { readonly kind: 'made'; readonly url: string; readonly uniqueId: string }
  /** `words` are for people and contain nothing personal. */
  | { readonly kind: 'refused' | 'unknown'; readonly code: string; readonly words: string };
