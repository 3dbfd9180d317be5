import type { World } from '../../src/world/open-world.ts';
import type { Instead } from './errors.ts';
import type { Mutation } from './mutations.ts';

/** Which replies are foreign: their number from one on, and whether the breach has come. */
export const MOMENTS = {
  always: () => true,
  'from the breach on': (_reply: number, isBreached: boolean) => isBreached,
  'each third': (reply: number) => reply % 3 === 0,
  'the first': (reply: number) => reply === 1,
  'from the second on': (reply: number) => reply > 1,
} as const;
export type Moment = keyof typeof MOMENTS;

export type Foreign =
  | { readonly kind: 'field'; readonly field: string; readonly mutation: Mutation }
  | { readonly kind: 'whole'; readonly change: (body: string) => string }
  | ({ readonly kind: 'instead' } & Instead);

/** Replies to one endpoint as another server writes them; the ledger of the exchange stays true. Counts them. */
export function teach(
  world: World,
  path: string,
  foreign: Foreign,
  isNow: (elapsedMs: number, reply: number) => boolean,
): { readonly count: number } {
  const { front } = world.exchange;
  const receive = front.receive.bind(front);
  const counted = { asked: 0, count: 0 };
  front.receive = (region, request, connection) => {
    if (request.path !== `/api/v4/${path}`) return receive(region, request, connection);
    counted.asked += 1;
    if (!isNow(world.elapsedMs(), counted.asked)) return receive(region, request, connection);
    counted.count += 1;
    const dateText = new Date(world.startMs + world.elapsedMs()).toUTCString();
    if (foreign.kind === 'instead' && foreign.applied !== true)
      return connection.send(replyOf(foreign), dateText, false);
    receive(region, request, {
      reset: () => connection.reset(),
      send: (reply, date, isCut) => {
        if (foreign.kind === 'instead') return connection.send(replyOf(foreign), date, isCut);
        const isGood = reply.status === 200 && reply.body !== '';
        connection.send(isGood ? { ...reply, body: changed(reply.body, foreign) } : reply, date, isCut);
      },
    });
  };
  return counted;
}

const replyOf = ({ status, body, contentType }: Instead) => ({
  status,
  body,
  ...(contentType === undefined ? {} : { contentType }),
});

function changed(body: string, foreign: Exclude<Foreign, { kind: 'instead' }>): string {
  if (foreign.kind === 'whole') return foreign.change(body);
  return JSON.stringify(inRecords(JSON.parse(body), foreign.field, foreign.mutation));
}

/** Applies a mutation to the field wherever it stands. */
export function inRecords(value: unknown, field: string, mutation: Mutation): unknown {
  if (Array.isArray(value)) return value.map((item) => inRecords(item, field, mutation));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).flatMap(([name, item]) =>
    name === field
      ? Object.entries(mutation.apply(name, item))
      : [[name, inRecords(item, field, mutation)] as const],
  );
  return Object.fromEntries(entries);
}

/** Whole replies in other forms. */
export const WHOLE: Readonly<Record<string, (body: string) => string>> = {
  'behind a byte-order mark': (body) => `\uFEFF${body}`,
  'with spaces': (body) => JSON.stringify(JSON.parse(body), null, 2),
  'in `result`': (body) => `{"result":${body}}`,
  'in `data`': (body) => `{"data":${body}}`,
  'in `records`': (body) => `{"records":${body},"total":1}`,
  'in a list': (body) => `[${body}]`,
  'with success': (body) => (body.startsWith('{') ? `{"success":true,${body.slice(1)}` : body),
  twice: (body) => `${body}\n${body}`,
  'first in a list': (body) =>
    (body.startsWith('[{') ? body.slice(1, -1).split('},{')[0] + '}' : body).replace(/}}$/, '}'),
};
