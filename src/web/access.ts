import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../core/text/loopback.ts';
import { ApiError } from './api/errors.ts';
import { clientOf, type ProxyList, plainAddress } from './connections.ts';
import { ANOTHER_AFTER_MS, type TokenGuesses } from './guesses.ts';
import { tokenHashOf } from './token.ts';

/**
 * `read`: look. `control`: pause, silence, acknowledge, answer questions. `operate`: submit operator orders, make
 * deposit links, retry failed jobs.
 */
export const SCOPES = ['read', 'control', 'operate'] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * Who may use a route. `open`: everybody, because it shows nothing of the accounts (the page's files, health). A scope:
 * callers with this scope. Such requests from pages of other sites are refused, except for navigation.
 */
export type Access = 'open' | Scope;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Required: a route without it keeps the server from starting. */
    access?: Access;
  }
  interface FastifyRequest {
    caller: Asker;
  }
}

export interface Asker {
  /** Address of the client, behind trusted proxies. */
  readonly address: string;
  /** Absent for an anonymous caller. */
  readonly identity?: Identity;
}

/** Returns the author for the audit: the caller's known name, else the name they claim (`said`), with their address. */
export function authorWords({ identity, address }: Asker, said = 'somebody'): string {
  if (identity?.isOwn === true) return `${identity.name} (${address})`;
  return `${said} (${[...new Set([identity?.name, address])].filter((part) => part !== undefined).join(', ')})`;
}

export interface Identity {
  readonly name: string;
  /** Whether it belongs to one user. Otherwise several people share a token and state their name. */
  readonly isOwn: boolean;
  readonly scopes: readonly Scope[];
}

export interface WebUser {
  readonly scopes: readonly Scope[];
  /** `sha256:` and 64 hexadecimal digits. Absent: only a proxy's header can name this user. */
  readonly tokenHash?: string | undefined;
}

export interface AccessOptions {
  /** Read token. */
  readonly token?: string | undefined;
  /** Control token: every scope. Without it, and without users with the scope, nothing can be changed. */
  readonly controlToken?: string | undefined;
  /** It came by a way that only an operator on this machine has. */
  readonly isLocal: (request: IncomingMessage) => boolean;
  /** People and programs with their own token, or named by a trusted proxy. */
  readonly users?: Readonly<Record<string, WebUser>>;
  readonly proxies: ProxyList;
  /** Header in which trusted proxies name the user. */
  readonly identityHeader?: string | undefined;
  readonly guesses: TokenGuesses;
  readonly onRefused: (why: 'wrongToken' | 'slowedDown', client: string) => void;
}

const MESSAGES = {
  origin: 'this was asked for by a page of another site',
  read: 'this needs the read token: Authorization: Bearer ...',
  controlOff:
    'this server changes nothing: set web.controlToken to at least 16 characters from the environment or a file, or ' +
    'give somebody in web.users the scope',
  control: 'this needs the control token: Authorization: Bearer ...',
  slowedDown: 'too many wrong tokens came from this address: try again later',
} as const;

export class AccessControl {
  readonly #options: AccessOptions;
  readonly #byHash = new Map<string, Identity>();
  readonly #byName = new Map<string, Identity>();

  constructor(options: AccessOptions) {
    this.#options = options;
    const { token, controlToken, users = {} } = options;
    for (const [name, { scopes, tokenHash }] of Object.entries(users)) {
      const identity: Identity = { name, isOwn: true, scopes: [...new Set<Scope>(['read', ...scopes])] };
      this.#byName.set(name, identity);
      if (tokenHash !== undefined) this.#byHash.set(tokenHash, identity);
    }
    const share = (name: string, text: string | undefined, scopes: readonly Scope[]): void => {
      if (text !== undefined) this.#byHash.set(tokenHashOf(text), { name, isOwn: false, scopes });
    };
    share('read token', token, ['read']);
    share('control token', controlToken, SCOPES);
  }

  /** Whether everybody may read: there is neither a read token nor a user. */
  get isReadOpen(): boolean {
    return this.#options.token === undefined && this.#byName.size === 0;
  }

  /** Reports whether any token or user has the scope. */
  can(scope: Scope): boolean {
    return [...this.#byHash.values(), ...this.#byName.values()].some(({ scopes }) => scopes.includes(scope));
  }

  /** Identifies the caller. `isSlowedDown`: it sent a token that was not judged, because of too many wrong ones. */
  identify(request: FastifyRequest): { readonly caller: Asker; readonly isSlowedDown: boolean } {
    if (this.#options.isLocal(request.raw))
      return { caller: { address: THIS_MACHINE.name, identity: THIS_MACHINE }, isSlowedDown: false };
    const address = plainAddress(request.ip);
    const given = givenToken(request.headers.authorization ?? '', request.url.startsWith('/queues'));
    if (given === undefined) {
      const identity = this.#namedByProxy(request);
      return { caller: identity === undefined ? { address } : { address, identity }, isSlowedDown: false };
    }
    const identity = this.#byHash.get(tokenHashOf(given));
    const client = clientOf(address);
    const verdict = this.#options.guesses.judge(client, identity?.name);
    if (verdict === 'right' && identity !== undefined)
      return { caller: { address, identity }, isSlowedDown: false };
    if (verdict !== 'right') this.#options.onRefused(verdict === 'wrong' ? 'wrongToken' : verdict, client);
    return { caller: { address }, isSlowedDown: verdict === 'slowedDown' };
  }

  /** The identity header counts only if a trusted proxy sent it, and sent it once: anybody can send such a header. */
  #namedByProxy({ raw, socket }: FastifyRequest): Identity | undefined {
    const { identityHeader, proxies } = this.#options;
    if (identityHeader === undefined || !proxies.has(socket.remoteAddress)) return undefined;
    const named = raw.headersDistinct[identityHeader.toLowerCase()] ?? [];
    return named.length === 1 ? this.#byName.get(named[0] ?? '') : undefined;
  }

  mayRead({ identity }: Asker): boolean {
    return this.isReadOpen || identity !== undefined;
  }

  /** Returns why a request may not use its route; undefined if it may. */
  admit(
    request: FastifyRequest,
    access: Access,
    isSlowedDown: boolean,
    ownOrigin: string | undefined,
  ): ApiError | undefined {
    if (access === 'open') return undefined;
    const isNavigation = request.headers['sec-fetch-mode'] === 'navigate' && request.method === 'GET';
    if (!isNavigation && !isFromHere(request, ownOrigin)) {
      return new ApiError(403, 'originRefused', MESSAGES.origin);
    }
    const { caller } = request;
    if (access === 'read' && this.mayRead(caller)) return undefined;
    const { identity } = caller;
    if (identity?.scopes.includes(access) === true) return undefined;
    if (access !== 'read' && !this.can(access)) return new ApiError(403, 'controlOff', MESSAGES.controlOff);
    if (isSlowedDown) return new ApiError(429, 'slowedDown', MESSAGES.slowedDown);
    if (identity?.isOwn === true) {
      const message = `${identity.name} may ${identity.scopes.join(' and ')}; this needs the scope ${access}`;
      return new ApiError(403, 'scopeMissing', message);
    }
    return access === 'read'
      ? new ApiError(401, 'readTokenNeeded', MESSAGES.read)
      : new ApiError(401, 'controlTokenNeeded', MESSAGES.control);
  }
}

/** An operator on this machine, who says who they are. */
export const THIS_MACHINE: Identity = { name: 'this machine', isOwn: false, scopes: SCOPES };

/** Value of `Retry-After`: seconds until one more token is judged. */
export const RETRY_AFTER = String(Math.ceil(ANOTHER_AFTER_MS / 1000));

/** Checks the origin headers that browsers send. `same-site` is refused: it can be another program on another port. */
function isFromHere({ headers }: FastifyRequest, ownOrigin: string | undefined): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  const { origin } = headers;
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  return new URL(origin).host === (headers.host ?? '').toLowerCase() || origin === ownOrigin;
}

/** Reads `Bearer TOKEN`. For the queues' page also the password of `Basic`, because there the browser asks for it. */
function givenToken(authorization: string, takesBasic: boolean): string | undefined {
  const bearer = /^Bearer +(.+)$/i.exec(authorization)?.[1];
  if (bearer !== undefined) return bearer.trimEnd();
  if (!takesBasic) return undefined;
  const basic = /^Basic +([\w+/=-]+)$/i.exec(authorization)?.[1];
  if (basic === undefined) return undefined;
  const text = Buffer.from(basic, 'base64').toString();
  return text.slice(text.indexOf(':') + 1);
}

/**
 * Guards against DNS rebinding: a web page can point its own domain at this server, and `Host` then shows that domain.
 * A server bound to all addresses accepts IP addresses and the configured names.
 */
export function allowedNames(
  host: string,
  names: readonly string[],
): { readonly has: (header: string | undefined) => boolean } {
  const known = new Set([host, ...names].map((name) => name.toLowerCase()));
  if (isLoopback(host)) for (const name of ['localhost', '127.0.0.1', '::1']) known.add(name);
  const isAny = host === '0.0.0.0' || host === '::';
  return {
    has(header) {
      const name = nameOf(header);
      return known.has(name) || (isAny && isIP(name) !== 0);
    },
  };
}

function nameOf(header: string | undefined): string {
  const text = (header ?? '').toLowerCase();
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text);
  return bracketed?.[1] ?? text.replace(/:\d+$/, '');
}
