import type { Reply } from '../../src/simulator/http/reply.ts';
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
