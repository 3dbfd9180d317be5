import { toNumber, ZERO } from '../../src/core/quantities/decimal.ts';
import type { Reply } from '../../src/simulator/http/reply.ts';
import type { CollateralOrder, Rejection } from '../../src/simulator/model/types.ts';
import type { World } from '../../src/world/open-world.ts';

/** A change of the replies to one endpoint, all sent with HTTP 200: gets the body, returns the new one or its text. */
export type Alter = (body: unknown, request: Readonly<Record<string, unknown>>) => unknown;

/** Lets the exchange answer in another's words: its own ledger stays true. Keys are paths behind `/api/v4/`. */
export function alterReplies(world: World, alters: Readonly<Record<string, Alter>>): void {
  const { front } = world.exchange;
  const receive = front.receive.bind(front);
  front.receive = (region, request, connection) => {
    const alter = alters[request.path.replace('/api/v4/', '')];
    const asked = alter === undefined || request.body.length === 0 ? {} : parsed(request.body.toString());
    receive(region, request, {
      send: (reply, dateText, isCut) =>
        connection.send(alter === undefined ? reply : altered(reply, alter, asked), dateText, isCut),
      reset: () => connection.reset(),
    });
  };
}

const parsed = (text: string) => JSON.parse(text) as Record<string, unknown>;

function altered(reply: Reply, alter: Alter, asked: Record<string, unknown>): Reply {
  const body = alter(JSON.parse(reply.body), asked);
  return { ...reply, status: 200, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

export interface Refused {
  readonly order: CollateralOrder;
  readonly mark: number;
  readonly atMs: number;
}

/** What is wrong with an order, as the exchange says it; undefined: nothing. `mark`: of its market now. */
export type Refuse = (
  order: CollateralOrder,
  mark: number,
) => Pick<Rejection, 'code' | 'errors'> | { readonly pass: CollateralOrder } | undefined;

/** Adds a rule on orders to the exchange. Returns what it refuses, as it happens. */
export function refuseOrders(world: World, refuse: Refuse): readonly Refused[] {
  const { model } = world.exchange;
  const place = model.placeCollateralOrder.bind(model);
  const refused: Refused[] = [];
  model.placeCollateralOrder = (id, order) => {
    const mark = toNumber(model.market(order.market)?.mark ?? ZERO);
    const wrong = refuse(order, mark);
    if (wrong === undefined) return place(id, order);
    if ('pass' in wrong) return place(id, wrong.pass);
    refused.push({ order, mark, atMs: world.elapsedMs() });
    return { ok: false, message: 'Validation failed', ...wrong };
  };
  return refused;
}
