import { Agent, request } from 'undici';
import { type Draw, mutatedJson, mutatedText, oneOf } from './mutate.ts';
import type { Boundary } from './target.ts';

/** One operation, and valid requests for it. */
export interface Operation {
  readonly method: string;
  readonly path: (draw: Draw) => string;
  readonly body?: ((draw: Draw) => unknown) | undefined;
}

/** A server that is started for a while. */
export interface Served {
  readonly url: string;
  readonly operations: readonly Operation[];
  readonly token?: string;
  /** Takes the next error inside the server; no request may cause one. */
  readonly nextError: () => unknown;
  close(): Promise<void>;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

const JSON_TYPE = 'application/json';
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

function requestOf(draw: Draw, { operations, token }: Pick<Served, 'operations' | 'token'>): Request {
  const operation = oneOf(draw, operations);
  const { method } = operation;
  const [path, body] = [operation.path(draw), operation.body?.(draw)];
  const headers: Record<string, string> = {};
  if (token !== undefined && draw() < 0.8) headers['authorization'] = `Bearer ${token}`;
  if (draw() < 0.9)
    headers['content-type'] = oneOf(draw, [JSON_TYPE, JSON_TYPE, 'text/plain', 'x/y; charset=utf-16']);
  if (draw() < 0.3)
    headers[oneOf(draw, HEADER_NAMES)] = visible(mutatedText(draw, 'text/html', 'abc,;=*/"() ')).slice(
      0,
      6_000,
    );
  const changedPath = draw() < 0.75 ? path : mutatedText(draw, path, PATH);
  const kind = draw();
  const text =
    body === undefined && draw() < 0.7
      ? ''
      : kind < 0.2
        ? JSON.stringify(body ?? {})
        : kind < 0.8
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

/** Keeps only characters that an HTTP client can send. */
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
  // Node's parser rejects too long a head before the server sees it.
  if (status >= 400 && status !== 431 && asked.method !== 'HEAD' && text === '')
    throw new Error(`HTTP ${status} without a word`);
}

/** Accepted input accumulates in a server: replacing it now and then keeps each input cheap. */
const INPUTS_EACH = 2_000;

/** A server answers every request with a status and a word, never with a defect. */
export function httpBoundary(name: string, start: () => Promise<Served>): Boundary {
  return {
    name,
    async open() {
      let served = await start();
      let agent = new Agent({ connections: 1 });
      const { operations, token } = served;
      let count = 0;
      const close = async (): Promise<void> => {
        await agent.close();
        await served.close();
      };
      const renew = async (): Promise<void> => {
        await close();
        served = await start();
        agent = new Agent({ connections: 1 });
      };
      return {
        make(draw) {
          const asked = requestOf(draw, { operations, ...(token === undefined ? {} : { token }) });
          return {
            text: JSON.stringify(asked).slice(0, 3_000),
            async run() {
              count += 1;
              if (count % INPUTS_EACH === 0) await renew();
              const reply = await answered(agent, served.url, asked);
              // The connection is closed after that, and the next request may still use it.
              if (reply.status === 431) {
                await agent.destroy();
                agent = new Agent({ connections: 1 });
              }
              judge(asked, reply);
              const error = served.nextError();
              if (error !== undefined) throw new Error('inside the server', { cause: error });
            },
          };
        },
        rest: renew,
        close,
      };
    },
  };
}
