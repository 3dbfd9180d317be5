import { toNumber } from '../../src/core/quantities/decimal.ts';
import type { World } from '../../src/world/open-world.ts';

/** What can be seen of a market of an account: with every request of the account, as the exchange then has it. */
export interface Sight {
  readonly kind: 'sight';
  readonly atMs: number;
  readonly markets: ReadonlyMap<string, readonly SeenPosition[]>;
}

export interface SeenPosition {
  readonly positionId: number;
  readonly size: string;
  readonly mark: number;
  readonly priceStep: number;
  readonly direction: 'long' | 'short';
  /** Part of the mark; null: there is no liquidation price. */
  readonly distance: number | null;
  readonly isCalled: boolean;
}

/** A request of a daemon that orders or cancels, as it arrived, whatever became of it. */
export interface Arrival {
  readonly kind: 'order' | 'cancel';
  readonly atMs: number;
  /** Null: the whole account. */
  readonly market: string | null;
  readonly clientOrderId: string;
}

export type Seen = Sight | Arrival;

const KINDS = {
  '/api/v4/order/collateral/stop-limit': 'order',
  '/api/v4/order/cancel/all': 'cancel',
} as const;

/**
 * An exchange answers 429 to a nonce, before it looks at what is asked, and the client sends the same at once again by
 * itself: so often, and within this time, it is no other order or cancel.
 */
const MOST_REPEATS = 2;
const REPEATED_WITHIN_MS = 1_000;

/** Notes what arrives at the exchange and what is to be seen there, by account; attach it before the world runs. */
export function witness(world: World): ReadonlyMap<string, readonly Seen[]> {
  const { exchange, spec } = world;
  const seen = new Map<string, Seen[]>(spec.exchange.accounts.map(({ id }) => [id, []]));
  const { front } = exchange;
  /** What was answered 429 last: when, and how often it had arrived again. */
  const refused = new Map<string, { readonly atMs: number; readonly repeats: number }>();
  const receive = front.receive.bind(front);
  front.receive = (region, request, connection) => {
    const id = [...seen.keys()].find((one) => exchange.accounts.access(one).apiKey === request.apiKey);
    const notes = seen.get(id ?? '');
    const look = (): void => {
      if (id !== undefined) notes?.push(sightOf(world, id));
    };
    look();
    const kind = KINDS[request.path as keyof typeof KINDS];
    const atMs = world.elapsedMs();
    const arrival = kind && arrivalOf(kind, request.body.toString(), atMs);
    const asked = [id, kind, arrival?.market, arrival?.clientOrderId].join(' ');
    const before = refused.get(asked);
    refused.delete(asked);
    const repeats = before !== undefined && atMs - before.atMs <= REPEATED_WITHIN_MS ? before.repeats + 1 : 0;
    const isRepeat = repeats > 0 && repeats <= MOST_REPEATS;
    if (arrival !== undefined && !isRepeat) notes?.push(arrival);
    receive(region, request, {
      send: (reply, dateText, isCut) => {
        look();
        const isRefused = kind !== undefined && reply.status === 429;
        if (isRefused) refused.set(asked, { atMs: world.elapsedMs(), repeats: isRepeat ? repeats : 0 });
        connection.send(reply, dateText, isCut);
      },
      reset: () => connection.reset(),
    });
  };
  return seen;
}

function arrivalOf(kind: Arrival['kind'], body: string, atMs: number): Arrival {
  const { market, client_order_id, clientOrderId } = JSON.parse(body) as Record<string, string | undefined>;
  return { kind, atMs, market: market ?? null, clientOrderId: client_order_id ?? clientOrderId ?? '' };
}

function sightOf(world: World, accountId: string): Sight {
  const { model } = world.exchange;
  const positions = model.openPositions(accountId).map((position) => {
    const { positionId, market, direction, amount, markPrice, liquidationPrice, liquidationState } = position;
    const mark = toNumber(markPrice);
    const room = liquidationPrice === null ? null : (mark - toNumber(liquidationPrice)) / mark;
    const seen: SeenPosition = {
      positionId,
      size: String(amount),
      mark,
      priceStep: Number(String(model.market(market)?.spec.priceStep ?? 0)),
      direction,
      distance: room === null ? null : direction === 'long' ? room : -room,
      isCalled: liquidationState !== null,
    };
    return { market, seen };
  });
  const markets = Map.groupBy(positions, ({ market }) => market);
  return {
    kind: 'sight',
    atMs: world.elapsedMs(),
    markets: new Map([...markets].map(([market, all]) => [market, all.map(({ seen }) => seen)])),
  };
}
