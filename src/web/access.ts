import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { ApiError } from './api/errors.ts';

/**
 * Who may use a route. `open`: everybody, as it shows nothing of the accounts (the page's files, health). `read`: with
 * the read token, where one is set. `control`: with the control token, from a page of this server or from no page.
 */
export type Access = 'open' | 'read' | 'control';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route without one keeps the server from starting. */
    access?: Access;
  }
}

/** Current secrets; a reload of the config may change them. */
export interface WebTokens {
  readonly read?: string | undefined;
  /** Absent: nothing can be changed through this server. */
  readonly control?: string | undefined;
}

const MESSAGES = {
  origin: 'this was asked for by a page of another site',
  read: 'this needs the read token: Authorization: Bearer ...',
  controlOff:
    'this server changes nothing: set web.controlToken to at least 16 characters from the environment or a file',
  control: 'this needs the control token: Authorization: Bearer ...',
} as const;

/** Why a request may not have its route; undefined: it may. */
export function admit(
  request: FastifyRequest,
  access: Access,
  tokens: WebTokens,
  ownOrigin: string | undefined,
): ApiError | undefined {
  if (access === 'open') return undefined;
  const isNavigation = request.headers['sec-fetch-mode'] === 'navigate' && request.method === 'GET';
  if (!isNavigation && !isFromHere(request, ownOrigin)) {
    return new ApiError(403, 'originRefused', MESSAGES.origin);
  }
  if (access === 'read') {
    return mayRead(request, tokens) ? undefined : new ApiError(401, 'readTokenNeeded', MESSAGES.read);
  }
  if (tokens.control === undefined) return new ApiError(403, 'controlOff', MESSAGES.controlOff);
  return mayControl(request, tokens) ? undefined : new ApiError(401, 'controlTokenNeeded', MESSAGES.control);
}

/** The control token also permits reading. */
export function mayRead(request: FastifyRequest, tokens: WebTokens): boolean {
  return tokens.read === undefined || isGiven(request, tokens.read) || mayControl(request, tokens);
}

export function mayControl(request: FastifyRequest, { control }: WebTokens): boolean {
  return control !== undefined && isGiven(request, control);
}

/** Browsers say where a request comes from. `same-site` is refused too: another program on another port. */
function isFromHere({ headers }: FastifyRequest, ownOrigin: string | undefined): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  const { origin } = headers;
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  return new URL(origin).host === (headers.host ?? '').toLowerCase() || origin === ownOrigin;
}

/** As `Bearer TOKEN`, or as the password of `Basic` for the queues' page, whose token a browser asks people for. */
function isGiven({ headers, url }: FastifyRequest, token: string): boolean {
  const given = givenToken(headers.authorization ?? '', url.startsWith('/queues'));
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

function givenToken(authorization: string, takesBasic: boolean): string | undefined {
  const bearer = /^Bearer +(.+)$/i.exec(authorization)?.[1];
  if (bearer !== undefined) return bearer.trimEnd();
  if (!takesBasic) return undefined;
  const basic = /^Basic +([\w+/=-]+)$/i.exec(authorization)?.[1];
  if (basic === undefined) return undefined;
  const text = Buffer.from(basic, 'base64').toString();
  return text.slice(text.indexOf(':') + 1);
}

/** The same length for every text. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/.test(host);
}

/**
 * Guards against DNS rebinding: a page on the web can point a name of its own at our address, and `Host` then shows
 * that name. When bound to all addresses, IP addresses and the configured names are accepted.
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

/** The host without its port, without the brackets of IPv6. */
function nameOf(header: string | undefined): string {
  const text = (header ?? '').toLowerCase();
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(text);
  return bracketed?.[1] ?? text.replace(/:\d+$/, '');
}
