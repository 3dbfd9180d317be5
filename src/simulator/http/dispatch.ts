import type { AccountDirectory, KeyPermission } from '../accounts.ts';
import { ParamReader } from '../endpoints/params.ts';
import type { ExchangeModel } from '../model/exchange-model.ts';
import { authenticate, type RequestParams, type SignedRequest } from './authenticate.ts';
import { NonceCheck } from './nonce-check.ts';
import type { RateLimiter } from './rate-limit.ts';
import { apiError, gatewayReply, PUBLIC_PREFIX, permissionError, privateError, type Reply } from './reply.ts';

export interface EndpointRequest {
  /** Empty for public endpoints. */
  readonly accountId: string;
  readonly reader: ParamReader;
  /** Age of the state that a read must show, in exchange milliseconds; 0 for the present. */
  readonly staleMs: number;
}

/** One endpoint: its path, permission and handler. Public endpoints are GET, all others POST. */
export interface ServedEndpoint {
  readonly name: string;
  readonly path: string;
  readonly permission?: KeyPermission;
  /** The endpoint may change something; all others only read. */
  readonly isCommand?: boolean;
  readonly handle: (request: EndpointRequest) => Reply;
}

/** Largest request body that is read; real front ends have such a bound too. */
export const MAX_BODY_BYTES = 64 * 1024;

export interface IncomingRequest extends SignedRequest {
  readonly httpMethod: string;
  /** The body was larger than the server reads. */
  readonly oversized: boolean;
  readonly contentType: string | undefined;
  readonly referer: string | undefined;
  readonly userAgent: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly address: string;
}

/** A reply, and what dispatching learned about the request. */
export interface Dispatched {
  readonly reply: Reply;
  readonly accountId?: string;
  readonly nonce?: string;
  readonly params?: RequestParams;
  /** The request was validly signed, for an endpoint that changes something. */
  readonly isCommand?: boolean;
}

export interface DispatchParts {
  readonly endpoints: ReadonlyMap<string, ServedEndpoint>;
  readonly limiter: RateLimiter;
  readonly accounts: AccountDirectory;
  readonly model: ExchangeModel;
  /** Server time for the nonce window, Unix milliseconds. */
  readonly serverTimeMs: () => number;
  /** For the rate limits; never steps back. */
  readonly monotonicMs: () => number;
  /** Called for a bug in an endpoint; the client gets 500. */
  readonly onInternalError: (error: unknown) => void;
}

const NO_PERMISSION = "You don't have permission to use this endpoint.";
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** Answers a request: checks limits, authentication, nonce and permission, then calls the endpoint. */
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
    const { path } = request;
    const { userAgent, rateLimitReply } = this.#parts.model.readings();
    if (!request.userAgent && userAgent === 'demanded') return { reply: gatewayReply(403, 'html') };
    if (!this.#parts.limiter.admit(path, request.address, this.#parts.monotonicMs())) {
      const isOfApi = rateLimitReply === 'json';
      return {
        reply: isOfApi ? apiError(path, 429, 'Too many requests.') : gatewayReply(429, rateLimitReply),
      };
    }
    const endpoint = this.#parts.endpoints.get(path);
    const isPublic = path.startsWith(PUBLIC_PREFIX);
    if (endpoint === undefined || request.httpMethod !== (isPublic ? 'GET' : 'POST')) {
      return { reply: apiError(path, 404, 'Endpoint does not exist.') };
    }
    if (isPublic)
      return { reply: this.#run(endpoint, { accountId: '', reader: new ParamReader({}), staleMs }) };
    return unreadable(request) ?? this.#dispatchPrivate(endpoint, request, staleMs);
  }

  #dispatchPrivate(endpoint: ServedEndpoint, request: IncomingRequest, staleMs: number): Dispatched {
    const { accounts, model, serverTimeMs } = this.#parts;
    const readings = model.readings();
    const authentication = authenticate(request, (apiKey) => accounts.findKey(apiKey), readings);
    if (authentication.kind === 'refused') return authentication;
    const { accountId, apiKey, nonce, params } = authentication;
    const known = { accountId, nonce, params, isCommand: endpoint.isCommand === true };
    const access = accounts.access(accountId);
    const nonceRefusal = this.#nonces.use(access.nonceRule ?? readings.nonceRule, {
      apiKey,
      nonce,
      window: params['nonceWindow'] === true,
      serverTimeMs: serverTimeMs(),
    });
    if (nonceRefusal !== undefined) return { ...known, reply: nonceRefusal };
    if (endpoint.permission !== undefined && !access.permissions[endpoint.permission]) {
      return { ...known, reply: permissionError(Number(readings.permissionRefusal), NO_PERMISSION) };
    }
    return { ...known, reply: this.#run(endpoint, { accountId, reader: new ParamReader(params), staleMs }) };
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

/** Newer requests of the live service spell the field `clientOrderId`. */
export function clientOrderIdOf(params: RequestParams = {}): string | undefined {
  const id = params['client_order_id'] ?? params['clientOrderId'];
  return typeof id === 'string' ? id : undefined;
}
