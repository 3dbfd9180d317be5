import type { BlockReason, RemovalReason } from '../audit/audit-event.ts';
import type { Cover, CoverAnchor, Intent, LaneState, MarketRead, ReadPosition } from '../lanes/lane-state.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import type { Decimal } from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import type { OrderPrices } from './order-prices.ts';

/** An order that should be open, shaped and ready to be sent. */
export interface Want {
  readonly role: 'reduce' | 'cover';
  readonly position: ReadPosition;
  readonly amount: Decimal;
  readonly prices: OrderPrices;
  readonly slippage: number;
  readonly key: string;
  readonly ruleId: string;
  readonly episode: number;
  readonly stage: number;
  readonly targetBase: Decimal;
  /** Nothing of ours on this position can add up to too much: a full close, which the exchange trims. */
  readonly isTrimmed: boolean;
  readonly part?: OwnOrder['part'];
  readonly coverBasis: OwnOrder['coverBasis'];
  readonly anchor: CoverAnchor | null;
  /** Sent again under its own id, to learn whether it is there. */
  readonly resend: OwnOrder | null;
  /** Stands beside an order that may fill as well, and takes too much with it. */
  readonly mayAddUp?: boolean;
  /** Only shows whether orders are taken. */
  readonly isTrial?: boolean;
}

export interface Removal {
  readonly order: OwnOrder;
  readonly why: RemovalReason;
}

/** What is missing and what has to go for the market to hold exactly the orders that are wanted. */
export interface SetDifference {
  readonly place: readonly Want[];
  readonly remove: readonly Removal[];
  /** What should go but cannot be removed; it stays in the accounting. */
  readonly standing: readonly Removal[];
  /** What cannot be done, by the key of its intent or cover. */
  readonly blocked: readonly { readonly key: string; readonly why: BlockReason }[];
  /** Intents on a side that may not be reduced, as the market's net exposure would rise. */
  readonly hedged: readonly string[];
}

/** What may act now: the gate has been asked. */
export interface Admitted {
  readonly intents: readonly Intent[];
  readonly covers: readonly Cover[];
}

export interface SetScene {
  readonly state: LaneState;
  readonly read: MarketRead;
  readonly admitted: Admitted;
  readonly market: MarketSettings;
  readonly settings: AccountSettings;
  readonly nowMs: number;
  /** Whether a cancel may be sent now: without one, what is missing is added beside what stands. */
  readonly mayCancel: boolean;
}
