import { brotliCompressSync, gzipSync } from 'node:zlib';

type ContentEncoding = 'gzip' | 'br';

/** A reply with its body as text, so that faults can damage it and a cache can keep it. */
export interface Reply {
  readonly status: number;
  readonly body: string;
  /** Error code, message and fields of an error reply, for the log. */
  readonly error?: { readonly code?: number; readonly message: string; readonly fields?: FieldErrors };
  /** JSON if absent. */
  readonly contentType?: string;
  readonly location?: string;
  /** Value of the Retry-After header: seconds or a date. */
  readonly retryAfter?: string;
  readonly encoding?: ContentEncoding;
}

export function onTheWire(
  reply: Reply,
  dateText: string,
): { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer } {
  const plain = Buffer.from(reply.body);
  const { encoding, retryAfter, location } = reply;
  const body = encoding === undefined ? plain : COMPRESS[encoding](plain);
  return {
    headers: {
      'content-type': reply.contentType ?? 'application/json; charset=utf-8',
      'content-length': String(body.length),
      'cache-control': 'no-store',
      date: dateText,
      ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
      ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
      ...(location === undefined ? {} : { location }),
    },
    body,
  };
}

const COMPRESS: Readonly<Record<ContentEncoding, (body: Buffer) => Buffer>> = {
  gzip: (body) => gzipSync(body),
  br: (body) => brotliCompressSync(body),
};

/** Maps a parameter name to what is wrong with it (specification 7). */
export type FieldErrors = Readonly<Record<string, readonly string[]>>;

export const UNAVAILABLE = 'Service is temporarily unavailable';

export function success(value: unknown): Reply {
  return { status: 200, body: JSON.stringify(value) };
}

interface ErrorDetails {
  readonly fields?: FieldErrors | undefined;
  /** Spelling of empty `errors`: {} or []. */
  readonly empties?: 'object' | 'array';
}

/** Error reply of private endpoints (specification 7). */
export function privateError(
  status: number,
  code: number,
  message: string,
  { fields = {}, empties = 'object' }: ErrorDetails = {},
): Reply {
  const errors = Object.keys(fields).length === 0 ? emptyBody(empties) : fields;
  return { status, body: JSON.stringify({ code, message, errors }), error: { code, message, fields } };
}

/** Reply to a key without permission: `success` false, code 0 and a message (specification 5, rule 3). */
export function permissionError(status: number, message: string): Reply {
  return {
    status,
    body: JSON.stringify({ success: false, code: 0, message, errors: {} }),
    error: { code: 0, message },
  };
}

export const PUBLIC_PREFIX = '/api/v4/public/';

/** Error reply of the API for a path (specification 7). Public endpoints have success, message and params. */
export function apiError(
  path: string,
  status: number,
  message: string,
  { code = 0, fields }: { readonly code?: number; readonly fields?: FieldErrors | undefined } = {},
): Reply {
  if (!path.startsWith(PUBLIC_PREFIX)) return privateError(status, code, message, { fields });
  return { status, body: JSON.stringify({ success: false, message, params: [] }), error: { message } };
}

const GATEWAY_TITLES: Readonly<Record<number, string>> = {
  403: 'Forbidden',
  404: 'Not Found',
  429: 'Too Many Requests',
  502: 'Bad Gateway',
  503: 'Service Temporarily Unavailable',
  504: 'Gateway Timeout',
};

/** Reply of a gateway in front of the API: an HTML page or an empty body. */
export function gatewayReply(status: number, kind: 'html' | 'empty'): Reply {
  const title = `${status} ${GATEWAY_TITLES[status] ?? 'Error'}`;
  const page = `<html>\n<head><title>${title}</title></head>\n<body><h1>${title}</h1></body>\n</html>\n`;
  return {
    status,
    body: kind === 'html' ? page : '',
    contentType: kind === 'html' ? 'text/html' : 'text/plain',
    error: { message: title },
  };
}

/** An empty result in the spelling of the reading. */
export function emptyBody(empties: 'object' | 'array'): unknown {
  return empties === 'array' ? [] : {};
}
