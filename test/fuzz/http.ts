import { Agent, request } from 'undici';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../src/simulator/start-simulated-exchange.ts';
import { CONTROL_TOKEN, type Fixture, startFixture } from '../web/fixture.ts';
import { type Draw, mutatedJson, mutatedText, oneOf } from './mutate.ts';
import type { Boundary } from './target.ts';

interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

interface Known {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

const PATH = 'abcxyz0129-_.~%/?&=:+ ';
const HEADER_NAMES = [
  'accept',
  'accept-encoding',
  'authorization',
  'origin',
  'referer',
  'x-forwarded-for',
  'if-none-match',
  'last-event-id',
];

function requestOf(draw: Draw, known: readonly Known[], token: string | undefined): Request {
  const { method, path, body } = oneOf(draw, known);
  const headers: Record<string, string> = {};
  if (token !== undefined && draw() < 0.8) headers['authorization'] = `Bearer ${token}`;
  if (draw() < 0.9)
    headers['content-type'] = oneOf(draw, [
      'application/json',
      'application/json',
      'text/plain',
      'x/y; charset=utf-16',
    ]);
  if (draw() < 0.3)
    headers[oneOf(draw, HEADER_NAMES)] = visible(mutatedText(draw, 'text/html', 'abc,;=*/"() ')).slice(
      0,
      6_000,
    );
  const changedPath = draw() < 0.75 ? path : mutatedText(draw, path, PATH);
  const text =
    body === undefined && draw() < 0.7
      ? ''
      : draw() < 0.8
        ? mutatedJson(draw, body ?? {})
        : mutatedText(draw, JSON.stringify(body ?? {}), '{}[]":,0123456789eE+-. ');
  const changedMethod =
    draw() < 0.9 ? method : oneOf(draw, ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS']);
  return {
    method: changedMethod,
    path: `/${encodeURI(visible(changedPath).slice(0, 4_000)).replace(/^\/+/, '')}`,
    headers,
    body: changedMethod === 'GET' || changedMethod === 'HEAD' ? '' : text,
  };
}

/** What an HTTP client lets through at all. */
const visible = (text: string): string => text.replaceAll(/[^\u0020-\u007e]/g, '');

async function answered(
  agent: Agent,
  base: string,
  asked: Request,
): Promise<{ status: number; text: string }> {
  const { method, path, headers, body } = asked;
  const reply = await request(`${base}${path}`, {
    method: method as 'GET',
    headers,
    ...(body === '' ? {} : { body }),
    dispatcher: agent,
  });
  if (String(reply.headers['content-type']).startsWith('text/event-stream')) {
    reply.body.destroy();
    return { status: reply.statusCode, text: '' };
  }
  return { status: reply.statusCode, text: await reply.body.text() };
}

function judge(asked: Request, { status, text }: { readonly status: number; readonly text: string }): void {
  if (status >= 500 && status !== 503) throw new Error(`HTTP ${status}: ${text.slice(0, 300)}`);
  if (/node_modules|\bat .*\.ts:\d/.test(text))
    throw new Error(`a stack in the reply: ${text.slice(0, 300)}`);
  if (status >= 400 && asked.method !== 'HEAD' && text === '')
    throw new Error(`HTTP ${status} without a word`);
}

const BY = { author: 'me', reason: 'a reason' };
const WEB_REQUESTS: readonly Known[] = [
  ...[
    '/',
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/api/v1/overview',
    '/api/v1/accounts?query=desk&firing=true&limit=10&offset=0',
    '/api/v1/accounts/desk-1',
    '/api/v1/accounts/desk-1/history?subject=position:42&fromMs=1&limit=5',
    '/api/v1/accounts/desk-1/story?subject=position:42&limit=5&beforeSeq=9',
    '/api/v1/accounts/desk-1/audit/1',
    '/api/v1/actions?limit=5',
    '/api/v1/stress',
    '/api/v1/events?accounts=desk-1',
  ].map((path) => ({ method: 'GET', path })),
  { method: 'POST', path: '/api/v1/pauses', body: { ...BY, accountId: 'desk-1', forMs: 60_000 } },
  { method: 'DELETE', path: '/api/v1/pauses/1', body: BY },
  {
    method: 'POST',
    path: '/api/v1/silences',
    body: { ...BY, accountId: 'desk-1', ruleId: 'near', subject: 'position:42', forMs: 60_000 },
  },
  {
    method: 'POST',
    path: '/api/v1/acknowledgements',
    body: { ...BY, accountId: 'desk-1', ruleId: 'near', subject: 'position:42', episode: 1, stage: 0 },
  },
  {
    method: 'POST',
    path: '/api/v1/accounts/desk-1/top-ups',
    body: { subject: 'creditLine:USDT@1700000000', amount: '10', ticker: 'USD', author: 'me' },
  },
];

/** Whatever is asked of the daemon's own server, it answers with a status and a word, never with a defect. */
export const WEB: Boundary = {
  name: 'web',
  async open() {
    const fixture: Fixture = await startFixture();
    const agent = new Agent({ connections: 1 });
    return {
      make(draw) {
        const asked = requestOf(draw, WEB_REQUESTS, CONTROL_TOKEN);
        return {
          text: JSON.stringify(asked).slice(0, 3_000),
          async run() {
            judge(asked, await answered(agent, fixture.server.url, asked));
            if (fixture.errors.length > 0) throw fixture.errors.shift();
          },
        };
      },
      async close() {
        await agent.close();
        await fixture.close();
      },
    };
  },
};

const PARAMETERS: Readonly<Record<string, string>> = {
  account: 'account-1',
  market: 'BTC_PERP',
  name: 'crash',
  index: '0',
  id: '1',
  order: '1',
  loan: '1',
  token: 'x',
};

/** What the second port says of itself, with its own examples. */
async function documented(controlUrl: string): Promise<readonly Known[]> {
  const reply = await fetch(`${controlUrl}/`);
  const { endpoints } = (await reply.json()) as {
    readonly endpoints: readonly {
      readonly method: string;
      readonly path: string;
      readonly example?: unknown;
    }[];
  };
  return endpoints.map(({ method, path, example: body }) => ({
    method,
    path: path.replaceAll(/:(\w+)/g, (_, name: string) => PARAMETERS[name] ?? 'x'),
    body,
  }));
}

/** The simulator's second port takes what it documents, and says what it expected instead of anything else. */
export const CONTROL: Boundary = {
  name: 'control',
  async open() {
    let simulator: RunningSimulator = await startSimulatedExchange({ speed: 0, limits: [] });
    const known = await documented(simulator.controlUrl);
    const agent = new Agent({ connections: 1 });
    let count = 0;
    return {
      make(draw) {
        const asked = requestOf(draw, known, undefined);
        return {
          text: JSON.stringify(asked).slice(0, 3_000),
          async run() {
            count += 1;
            // What was accepted adds up: a new exchange now and then keeps each input cheap.
            if (count % 2_000 === 0) {
              await simulator.close();
              simulator = await startSimulatedExchange({ speed: 0, limits: [] });
            }
            judge(asked, await answered(agent, simulator.controlUrl, asked));
            const [error] = simulator.internalErrors;
            if (error !== undefined) throw new Error('inside the exchange', { cause: error });
          },
        };
      },
      async close() {
        await agent.close();
        await simulator.close();
      },
    };
  },
};
