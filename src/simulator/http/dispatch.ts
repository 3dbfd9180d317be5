import { type ApiKey, authenticate, type NonceType, type RequestParams } from './authenticate.ts';
import { NonceCheck, type NonceRule } from './nonce-check.ts';
import type { RateLimiter } from './rate-limit.ts';
import { gatewayReply, permissionError, privateError, publicError, type Reply } from './reply.ts';

/** What a key needs support to have enabled, or its owner to have granted. */
export type KeyPermission = 'creditLine' | 'fiatDeposit' | 'trading';

export type KeyPermissions = Readonly<Record<KeyPermission, boolean>>;

export interface EndpointRequest {
  /** Empty for public endpoints. */
  readonly accountId: string;
  readonly params: RequestParams;
  /** How old the state is that a read must show, in exchange milliseconds; 0 for the present. */
  readonly staleMs: number;
}

/** One endpoint: where it is, who may use it, and what it answers. */
export interface ServedEndpoint {
  readonly name: string;
  readonly httpMethod: 'GET' | 'POST';
  readonly path: string;
  readonly permission?: KeyPermission;
  /** It changes something; all others only read. */
  readonly isCommand?: boolean;
  readonly handle: (request: EndpointRequest) => Reply;
}

/** Largest request body that is read; a real front end has such a bound too. */
export const MAX_BODY_BYTES = 64 * 1024;

/** A request as it came in, complete. */
export interface IncomingRequest {
  readonly httpMethod: string;
  readonly path: string;
  readonly body: Buffer;
  /** The body was larger than the server reads. */
  readonly oversized: boolean;
  readonly contentType: string | undefined;
  readonly apiKey: string | undefined;
  readonly payload: string | undefined;
  readonly signature: string | undefined;
  readonly referer: string | undefined;
  readonly userAgent: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly address: string;
}

/** A reply, and what was learned of the request on the way. */
export interface Dispatched {
  readonly reply: Reply;
  readonly accountId?: string;
  readonly nonce?: string;
  readonly params?: RequestParams;
  /** It reached an endpoint that changes things, with a valid signature. */
  readonly isCommand?: boolean;
}

export interface DispatchParts {
  readonly endpoints: ReadonlyMap<string, ServedEndpoint>;
  readonly limiter: RateLimiter;
  readonly findKey: (apiKey: string) => ApiKey | undefined;
  readonly permissionsOf: (accountId: string) => KeyPermissions;
  readonly nonceRuleOf: (accountId: string) => NonceRule;
  readonly nonceType: () => NonceType;
  /** Who answers above a rate limit: the API, or a gateway with a page or without a body. */
  readonly rateLimitReply: () => 'json' | 'html' | 'empty';
  /** Whether the gateway challenges clients that do not name themselves. */
  readonly demandsUserAgent: () => boolean;
  /** HTTP status of a permission refusal: the specification leaves it open. */
  readonly permissionStatus: () => number;
  /** Server time that nonces are compared with, Unix milliseconds. */
  readonly serverTimeMs: () => number;
  /** For the rate limits; never steps back. */
  readonly monotonicMs: () => number;
  /** A bug in an endpoint; the client gets 500. */
  readonly onInternalError: (error: unknown) => void;
}

const NO_PERMISSION = "You don't have permission to use this endpoint.";
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** Decides a request: limits, authentication, nonce, permission, then the endpoint itself. */
export class Dispatcher {
  readonly #parts: DispatchParts;
  readonly #nonces = new NonceCheck();

  constructor(parts: DispatchParts) {
    this.#parts = parts;
  }

  forgetKey(apiKey: string): void {
    this.#nonces.forget(apiKey);
  }

  dispatch(request: IncomingRequest, staleMs: number): Dispatched {
    const isPublic = request.path.startsWith('/api/v4/public/');
    if (!request.userAgent && this.#parts.demandsUserAgent()) return { reply: gatewayReply(403, 'html') };
    if (!this.#parts.limiter.admit(request.path, request.address, this.#parts.monotonicMs())) {
      const kind = this.#parts.rateLimitReply();
      return { reply: kind === 'json' ? tooMany(isPublic) : gatewayReply(429, kind) };
    }
    const endpoint = this.#parts.endpoints.get(request.path);
    if (endpoint === undefined || endpoint.httpMethod !== request.httpMethod) {
      return { reply: notFound(isPublic) };
    }
    if (endpoint.httpMethod === 'GET') {
      return { reply: this.#run(endpoint, { accountId: '', params: {}, staleMs }) };
    }
    return unreadable(request) ?? this.#dispatchPrivate(endpoint, request, staleMs);
  }

  #dispatchPrivate(endpoint: ServedEndpoint, request: IncomingRequest, staleMs: number): Dispatched {
    const authentication = authenticate(request, this.#parts.findKey, this.#parts.nonceType());
    if (authentication.kind === 'refused') return authentication;
    const { accountId, apiKey, nonce, params } = authentication;
    const known = { accountId, nonce, params, isCommand: endpoint.isCommand === true };
    const nonceRefusal = this.#nonces.use(this.#parts.nonceRuleOf(accountId), {
      apiKey,
      nonce,
      window: params['nonceWindow'] === true,
      serverTimeMs: this.#parts.serverTimeMs(),
    });
    if (nonceRefusal !== undefined) return { ...known, reply: nonceRefusal };
    if (endpoint.permission !== undefined && !this.#parts.permissionsOf(accountId)[endpoint.permission]) {
      return { ...known, reply: permissionError(this.#parts.permissionStatus(), NO_PERMISSION) };
    }
    return { ...known, reply: this.#run(endpoint, { accountId, params, staleMs }) };
  }

  #run(endpoint: ServedEndpoint, request: EndpointRequest): Reply {
    try {
      return endpoint.handle(request);
    } catch (error) {
      this.#parts.onInternalError(error);
      return privateError(500, 0, 'Internal error');
    }
  }
}

function unreadable(request: IncomingRequest): Dispatched | undefined {
  if (request.oversized) return { reply: privateError(413, 0, 'Request body is too large.') };
  if (request.contentType !== undefined && JSON_TYPE.test(request.contentType)) return undefined;
  return { reply: privateError(415, 0, 'Content-Type must be application/json.') };
}

function tooMany(isPublic: boolean): Reply {
  const message = 'Too many requests.';
  return isPublic ? publicError(429, message) : privateError(429, 0, message);
}

function notFound(isPublic: boolean): Reply {
  const message = 'Endpoint does not exist.';
  return isPublic ? publicError(404, message) : privateError(404, 0, message);
}
