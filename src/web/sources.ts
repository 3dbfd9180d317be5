import type { z } from 'zod';
import type { OrderProof } from '../core/controls/order-plan.ts';
import type { QuietHoursLine } from '../core/lines/quiet-hours.ts';
import type { AuditReader } from '../core/ports/audit-reader.ts';
import type { HistoryReader } from '../core/ports/history-reader.ts';
import type { OperatorControls } from '../core/ports/operator-controls.ts';
import type { DecimalString } from '../core/quantities/decimal.ts';
import type { SubjectKey } from '../core/rules/subject.ts';
import type { AccountView } from '../core/view/account-view.ts';
import type { Immutable, queueLine, readiness, topUpOffer } from './api/schemas.ts';
import type { stressReply } from './api/stress-schema.ts';

/** What the server shows and does. */
export interface WebSources {
  readonly nowMs: () => number;
  readonly views: ViewSource;
  readonly audit: Pick<AuditReader, 'read' | 'tail' | 'show' | 'inputs'>;
  readonly history: Pick<HistoryReader, 'read'>;
  readonly controls: OperatorControls;
  readonly orders: OrderDesk;
  /** The newest stress test on a schedule; rejects while the store is lost. */
  readonly stress: () => Promise<StressStatus>;
  readonly process: ProcessSource;
  readonly deposits: DepositDesk;
}

/** The accounts of the config as the shared state has them. */
export interface ViewSource {
  ids(): readonly string[];
  /**
   * Accounts by id, unknown ones left out, in no particular order; all without ids. An account that did not
   * change keeps its object. While the store is lost: as last seen.
   */
  read(ids?: readonly string[]): Promise<readonly SourcedView[]>;
  /** Ids of the configured rules of an account; of all accounts without one. */
  ruleIds(accountId: string | null): readonly string[];
}

export interface SourcedView {
  readonly view: AccountView;
  /** Rises when something may have been sent to the exchange, or answered; 0: nothing ever was. */
  readonly acted: number;
}

/** This process, and what it knows of the queues. */
export interface ProcessSource {
  readonly version: string;
  readonly instance: string;
  readonly startedAtMs: number;
  readonly readiness: () => Promise<Readiness>;
  /** Names of what works only in part: `redis`, `exchange_store`, `schedule`, `notify`, `commands`, `log`, `config`. */
  readonly degraded: () => readonly string[];
  /** False while Redis is lost and others may run: they do not hear what is paused or lifted here. */
  readonly reachesAll: () => boolean;
  readonly queues: () => Promise<readonly QueueLine[]>;
  /** null: there are none now. */
  readonly quietHours: () => Promise<QuietHoursLine | null>;
}

/** Its checks: `redis`, `firstEvaluation`, `dataFresh`. */
export type Readiness = Immutable<z.output<typeof readiness>>;

export type QueueLine = Immutable<z.output<typeof queueLine>>;

export type StressStatus = Immutable<z.output<typeof stressReply>>;

/** What has to be known of an order by hand before it is made. */
export interface OrderDesk {
  readonly proof: () => OrderProof;
  /** How far from the mark an activation is placed, a fraction; undefined: the market has no entry. */
  gapOf(accountId: string, market: string): number | undefined;
  /** `operators.maxSlippage`: the daemon carries no order beyond it out. */
  readonly maxSlippage: number;
  /** What amounts of a market are counted in. */
  moneyOf(accountId: string, market: string): string;
}

/** Makes links at which a person pays money in (specification 4.1). */
export interface DepositDesk {
  /** What an account offers; undefined: nothing is configured. */
  offer(accountId: string): TopUpOffer | undefined;
  link(order: TopUpOrder): Promise<TopUpOutcome>;
}

export type TopUpOffer = Immutable<z.output<typeof topUpOffer>>;

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
