import { brotliCompressSync, gzipSync } from 'node:zlib';

type ContentEncoding = 'gzip' | 'br';

/** A reply is finished text: faults can damage it, and a cache can keep it. */
export interface Reply {
  readonly status: number;
  readonly body: string;
  /** Exchange error code, message and fields when the reply is an error; the log shows them. */
  readonly error?: { readonly code?: number; readonly message: string; readonly fields?: FieldErrors };
  /** JSON where absent. */
  readonly contentType?: string;
  readonly location?: string;
  /** As the Retry-After header has it: seconds or a date. */
  readonly retryAfter?: string;
  readonly encoding?: ContentEncoding;
}

/** What a client sees of a reply: its headers, and its body as it travels. */
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

/** Parameter name to what is wrong with it (specification 7). */
export type FieldErrors = Readonly<Record<string, readonly string[]>>;

export const UNAVAILABLE = 'Service is temporarily unavailable';

export function success(value: unknown): Reply {
  return { status: 200, body: JSON.stringify(value) };
}

interface ErrorDetails {
  readonly fields?: FieldErrors | undefined;
  /** Whether empty `errors` are {} or []. */
  readonly empties?: 'object' | 'array';
}

/** Error body of private endpoints (specification 7). */
export function privateError(
  status: number,
  code: number,
  message: string,
  { fields = {}, empties = 'object' }: ErrorDetails = {},
): Reply {
  const errors = Object.keys(fields).length === 0 ? emptyBody(empties) : fields;
  return { status, body: JSON.stringify({ code, message, errors }), error: { code, message, fields } };
}

/** A key without access: `success` false and code 0 with a permission message (specification 5, rule 3). */
export function permissionError(status: number, message: string): Reply {
  return {
    status,
    body: JSON.stringify({ success: false, code: 0, message, errors: {} }),
    error: { code: 0, message },
  };
}

export const PUBLIC_PREFIX = '/api/v4/public/';

/** The API's error body for a path (specification 7): public endpoints have success, message and params. */
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

/** What stands before the API answers by itself: a page, or nothing at all. */
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

/** An empty list or object as the reading spells it. */
export function emptyBody(empties: 'object' | 'array'): unknown {
  return empties === 'array' ? [] : {};
}
