import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { foreignWords } from '../core/redaction/foreign-words.ts';
import { parsedJson } from '../core/text/parsed-json.ts';
import type { FailedAttempt } from './channel.ts';
import type { LinkTemplate } from './message-layout.ts';

/** A receiver's reply; the body is cut off at `maxReplyBytes`. */
export interface HttpReply {
  readonly status: number;
  readonly body: string;
  readonly retryAfterMs: number | undefined;
}

export interface HttpPost {
  /** Often a secret: never part of an error. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export type HttpResult = { readonly kind: 'reply'; readonly reply: HttpReply } | FailedAttempt;

export interface HttpSender {
  post(post: HttpPost, signal?: AbortSignal): Promise<HttpResult>;
  close(): Promise<void>;
}

export interface HttpOptions {
  readonly timeoutMs: number;
  /** May hold a password. */
  readonly proxy?: string;
  /** For dates in Retry-After. */
  readonly nowMs: () => number;
  /** A longer reply is cut off; default 16 KiB. */
  readonly maxReplyBytes?: number;
}

/** The second argument of every channel over HTTP, after its own options. */
export interface ChannelParts {
  readonly name: string;
  readonly links: readonly LinkTemplate[];
  readonly http: HttpSender;
  readonly nowMs: () => number;
}

const MAX_REPLY_BYTES = 16_384;
/** Limits the pause that a receiver may ask for. */
const LONGEST_PAUSE_MS = 300_000;

/** POSTs with a limit on time and reply size. Redirects are not followed: they could leak a signed or secret body. */
export function createHttpSender(options: HttpOptions): HttpSender {
  const { timeoutMs, proxy, nowMs, maxReplyBytes = MAX_REPLY_BYTES } = options;
  const pool = {
    connections: 4,
    pipelining: 1,
    keepAliveTimeout: 10_000,
    connect: { timeout: timeoutMs },
  };
  const dispatcher: Dispatcher =
    proxy === undefined ? new Agent(pool) : new ProxyAgent({ ...pool, uri: proxy });
  return {
    async post({ url, headers, body }, signal) {
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        const { origin, pathname, search } = new URL(url);
        const response = await dispatcher.request({
          origin,
          path: `${pathname}${search}`,
          method: 'POST',
          headers: {
            'content-type': 'application/json; charset=utf-8',
            'user-agent': 'breakwater',
            ...headers,
          },
          body,
          signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        });
        const text = await bounded(response.body, maxReplyBytes);
        const after = retryAfter(response.headers['retry-after'], nowMs());
        return { kind: 'reply', reply: { status: response.statusCode, body: text, retryAfterMs: after } };
      } catch (error) {
        if (signal?.aborted === true) throw signal.reason;
        if (!timeout.aborted) return lostConnection(error);
        return failed('timeout', `no reply within ${timeoutMs} ms`, false);
      }
    },
    // By now nobody waits for a reply.
    close: () => dispatcher.destroy(),
  };
}

async function bounded(body: Dispatcher.ResponseData['body'], most: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= most) break;
  }
  return Buffer.concat(chunks).subarray(0, most).toString('utf8');
}

function retryAfter(header: string | string[] | undefined, nowMs: number): number | undefined {
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined) return undefined;
  const seconds = Number(text);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - nowMs;
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}

const CONNECT_CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name could not be looked up',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
};

/** Uses only the error's code: messages of the network stack name addresses, and addresses can be secret. */
function lostConnection(error: unknown): HttpResult {
  const code = codeOf(error);
  const known = CONNECT_CODES[code];
  if (known !== undefined) return failed('connectFailed', known, false);
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)) {
    return failed('connectFailed', `its certificate is not accepted (${code})`, false);
  }
  return failed(
    'connectionLost',
    code === '' ? 'the connection broke' : `the connection broke (${code})`,
    false,
  );
}

function codeOf(error: unknown): string {
  for (let found = error; found instanceof Error; found = found.cause) {
    if ('code' in found && typeof found.code === 'string' && /^[A-Z0-9_]{1,60}$/.test(found.code))
      return found.code;
  }
  return '';
}

/** Creates a failure. `retryAfterMs` is capped at five minutes. */
export function failed(
  reason: FailedAttempt['reason'],
  words: string,
  permanent: boolean,
  retryAfterMs?: number,
): FailedAttempt {
  return {
    kind: 'failed',
    reason,
    words,
    permanent,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs: Math.min(retryAfterMs, LONGEST_PAUSE_MS) }),
  };
}

/** Classifies a failed reply by its HTTP status. `said` is the receiver's error text, already made safe. */
export function httpFailure({ status, retryAfterMs }: HttpReply, said = ''): FailedAttempt {
  const words = said === '' ? `HTTP ${status}` : `HTTP ${status}: ${said}`;
  if (status === 429) return failed('rateLimited', words, false, retryAfterMs ?? 1000);
  if (status === 408 || status === 425 || status >= 500)
    return failed('unavailable', words, false, retryAfterMs);
  if (status === 401 || status === 403) return failed('unauthorized', words, true);
  if (status === 404 || status === 410) return failed('notFound', words, true);
  if (status >= 300 && status < 400) return failed('rejected', `${words} (redirects are not followed)`, true);
  return failed('rejected', words, true);
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Parses the JSON object of a reply; undefined if it is something else. */
export function jsonObject(text: string): JsonObject | undefined {
  const value = parsedJson(text);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as JsonObject) : undefined;
}

/** Returns a secret address and the parts of it that a receiver could repeat on their own. */
export function secretsOfUrl(url: string): readonly string[] {
  const { pathname, search, searchParams } = new URL(url);
  const parts = [...pathname.split('/'), ...searchParams.values()];
  return [url, search, pathname.slice(1), ...parts.filter((part) => part.length >= SECRET_PART)];
}

const SECRET_PART = 8;

/** Makes a receiver's text safe for a log: one short line without the given secrets or anything that looks like one. */
export function safeWords(text: string, secrets: readonly string[] = []): string {
  return foreignWords(secrets, { maxLength: 160, opaqueLength: 20 })(text);
}
