import type { BlockReason, RemovalReason } from '../audit/audit-event.ts';
import type { Cover, CoverAnchor, Intent, LaneState, MarketRead, ReadPosition } from '../lanes/lane-state.ts';
import type { OwnOrder } from '../lanes/own-order.ts';
import type { Decimal } from '../quantities/decimal.ts';
import type { AccountSettings, MarketSettings } from '../quantities/settings.ts';
import type { OrderPrices } from './order-prices.ts';

/** An order that should be open, shaped and ready to be sent. */
export interface Want
  extends Pick<OwnOrder, 'role' | 'slippage' | 'key' | 'ruleId' | 'coverBasis'>,
    Pick<Cover, 'episode' | 'stage'> {
  readonly position: ReadPosition;
  readonly amount: Decimal;
  readonly prices: OrderPrices;
  readonly targetBase: Decimal;
  /** A full close, which the exchange trims: our orders on this position cannot add up to too much. */
  readonly isTrimmed: boolean;
  readonly anchor: CoverAnchor | null;
  /** The order to send again under its own id, to learn whether it stands. */
  readonly resend: OwnOrder | null;
  /** Stands beside an order that may fill as well; together they may take too much. */
  readonly mayAddUp?: boolean;
  /** Only shows whether orders are accepted. */
  readonly isTrial?: boolean;
}

export interface Removal {
  readonly order: OwnOrder;
  readonly why: RemovalReason;
}

/** Orders to place and to remove so that the market holds exactly the wanted ones. */
export interface SetDifference {
  readonly place: readonly Want[];
  readonly remove: readonly Removal[];
  /** Unwanted orders that cannot be removed now; they stay counted. */
  readonly standing: readonly Removal[];
  /** Intents and covers that cannot be served, by key. */
  readonly blocked: readonly { readonly key: string; readonly why: BlockReason }[];
  /** Intents on a side that may not be reduced, as the market's net exposure would rise. */
  readonly hedged: readonly string[];
}

/** Intents and covers that the gate admits now. */
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
  /** Whether a cancel may be sent now. Without one, missing orders are added beside the standing ones. */
  readonly mayCancel: boolean;
}
