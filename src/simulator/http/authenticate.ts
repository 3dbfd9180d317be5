import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Readings } from '../model/readings.ts';
import { isJsonObject } from '../schemas.ts';
import { privateError, type Reply } from './reply.ts';

/** One API key pair and its account. The secret is held as an opaque key object. */
export interface ApiKey {
  readonly apiKey: string;
  readonly secret: KeyObject;
  readonly accountId: string;
}

export interface SignedRequest {
  readonly path: string;
  readonly body: Buffer;
  readonly apiKey: string | undefined;
  readonly payload: string | undefined;
  readonly signature: string | undefined;
}

type Authentication =
  | {
      readonly kind: 'ok';
      readonly accountId: string;
      readonly apiKey: string;
      readonly nonce: string;
      readonly params: RequestParams;
    }
  | { readonly kind: 'refused'; readonly reply: Reply; readonly accountId?: string };

export type RequestParams = Readonly<Record<string, unknown>>;

const SIGNATURE_SYNTAX = /^[0-9a-fA-F]{128}$/;

export function makeApiKey(accountId: string, apiKey: string, apiSecret: string): ApiKey {
  return { accountId, apiKey, secret: createSecretKey(apiSecret, 'utf8') };
}

/** Authenticates a request (specification 5). Verifies the signature before it interprets any byte of the body. */
export function authenticate(
  request: SignedRequest,
  findKey: (apiKey: string) => ApiKey | undefined,
  { nonceType, payloadMatch, errorWords }: Pick<Readings, 'nonceType' | 'payloadMatch' | 'errorWords'>,
): Authentication {
  const unauthorized = () => refused('Unauthorized request.', undefined, 401, errorWords === 'live' ? 10 : 0);
  if (!request.payload) return refused('Payload not provided.');
  if (!request.apiKey || !request.signature) return unauthorized();
  const key = findKey(request.apiKey);
  if (key === undefined) return unauthorized();
  if (!isSigned(key.secret, request.payload, request.signature)) return unauthorized();
  const { accountId } = key;
  const params = parsedObject(request.body.toString());
  const isSame =
    payloadMatch === 'bytes'
      ? request.payload === request.body.toString('base64')
      : isDeepStrictEqual(params, parsedObject(Buffer.from(request.payload, 'base64').toString()));
  if (!isSame) return refused('Invalid payload', accountId);
  if (params === undefined) return refused('Invalid payload', accountId, 400);
  const target = params['request'];
  if (typeof target !== 'string' || target === '') return refused('Request not provided.', accountId);
  if (target !== request.path) return refused('Invalid payload', accountId);
  const nonce = nonceOf(params['nonce'], nonceType);
  if (typeof nonce !== 'string' || nonce === '') return refused('Nonce not provided.', accountId);
  return { kind: 'ok', accountId, apiKey: key.apiKey, nonce, params };
}

/** With `stringOrNumber` a safe integer counts as its digits. */
function nonceOf(nonce: unknown, nonceType: Readings['nonceType']): unknown {
  return nonceType === 'stringOrNumber' && Number.isSafeInteger(nonce) ? String(nonce) : nonce;
}

/** Compares with the hex HMAC-SHA512 of the payload (specification 5, rule 2), in constant time. */
function isSigned(secret: KeyObject, payload: string, signature: string): boolean {
  if (!SIGNATURE_SYNTAX.test(signature)) return false;
  const expected = createHmac('sha512', secret).update(payload).digest();
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'));
}

/** Parses a text that is a JSON object; `undefined` for any other. */
export function parsedObject(text: string): RequestParams | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function refused(message: string, accountId?: string, status = 401, code = 0): Authentication {
  return { kind: 'refused', reply: privateError(status, code, message), ...(accountId ? { accountId } : {}) };
}
