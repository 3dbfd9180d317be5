/** The readings of what the specification leaves open about orders. */
export interface Readings {
  /** Whether a client order id is used up for ever, or only while its order is open. */
  readonly idScope: 'ever' | 'open';
  readonly cancelCoversStops: boolean;
  readonly trigger: 'last' | 'mark';
  readonly triggersAtEquality: boolean;
  readonly nonce: 'unique' | 'increasing';
  readonly readLagMs: number;
  readonly hedgeMode: boolean;
  /** Whether a record shows when its position was opened. */
  readonly showsOpenDate: boolean;
  /** Whether a liquidation takes a position at once, or a part of it at every price. */
  readonly liquidates: 'whole' | 'parts';
}

export interface ModelPosition {
  readonly id: string;
  readonly side: 'LONG' | 'SHORT' | 'BOTH';
  readonly sign: 1 | -1;
  lots: number;
  readonly entry: number;
  readonly openDate: number;
}

export interface ModelRequest {
  readonly clientOrderId: string;
  readonly side: 'buy' | 'sell';
  readonly positionSide: 'LONG' | 'SHORT' | 'BOTH';
  readonly lots: number;
  readonly activation: number;
  readonly limit: number;
}

export interface ModelOrder<Tag> {
  readonly request: ModelRequest;
  readonly tag: Tag;
  left: number;
  state: 'stop' | 'active';
  readonly triggerSign: 1 | -1;
}

export type PlaceReply =
  | { readonly kind: 'placed'; readonly lots: number; readonly status: 'NEW' | 'FILLED' | 'PARTIALLY_FILLED' }
  | { readonly kind: 'refused'; readonly code: 116 | 36 | 429 };

export interface Fill<Tag> {
  readonly atMs: number;
  readonly positionId: string;
  readonly openDate: number;
  readonly before: number;
  readonly after: number;
  readonly netBefore: number;
  readonly netAfter: number;
  readonly tag: Tag;
}

/** The whole state at one time. */
export interface Snapshot {
  readonly atMs: number;
  readonly mark: number;
  readonly collateral: number;
  readonly positions: readonly Readonly<ModelPosition>[];
}
