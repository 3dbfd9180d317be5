import { Agent } from 'undici';
import { z } from 'zod';
import {
  acknowledge,
  answer,
  LIFTS,
  pruneAudit,
  putPause,
  putSilence,
} from '../../web/api/control-routes.ts';
import { getOutcome, preview, submit, withdraw } from '../../web/api/order-routes.ts';
import {
  getAccount,
  getOverview,
  getStory,
  listAccounts,
  listProcesses,
  listRows,
} from '../../web/api/read-routes.ts';
import type { ApiRoute } from '../../web/api/route.ts';
import { readForUrl, readPlaceConfig } from '../place-config.ts';
import { actorOf, findSockets } from './door-folders.ts';

/** Where a daemon is looked for: at its socket on this machine, or elsewhere by its URL. */
export interface DoorPlace {
  /** The config of the daemons. */
  readonly config?: string;
  readonly url?: string;
  /** For the URL; default: the config's. */
  readonly token?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** By when everything is to be answered, by `performance.now()`. Default: 5 s for each request. */
  readonly untilMs?: () => number;
}

/** What commands ask a daemon. */
const ROUTES = {
  overview: getOverview,
  rows: listRows,
  account: getAccount,
  accounts: listAccounts,
  story: getStory,
  processes: listProcesses,
  pause: putPause,
  silence: putSilence,
  acknowledge,
  answer,
  'lift pause': LIFTS.pause,
  'lift silence': LIFTS.silence,
  'lift acknowledgement': LIFTS.acknowledgement,
  'plan order': preview,
  order: submit,
  'order outcome': getOutcome,
  withdraw,
  prune: pruneAudit,
} as const;

type Routes = typeof ROUTES;

interface Asked<K extends keyof Routes> {
  readonly params?: z.output<Routes[K]['params']>;
  readonly query?: Partial<z.output<NonNullable<Routes[K]['query']>>>;
  readonly body?: z.output<NonNullable<Routes[K]['body']>>;
}

/** The API of a running daemon: the one place where something is changed. Rejects with a DoorError. */
export type Door = Awaited<ReturnType<typeof openDoor>>;

/** `unclear`: the request was sent, and nobody knows whether it was done. `silent`: nothing was sent. */
export type DoorFailure = 'unreachable' | 'silent' | 'unclear' | 'differs' | 'token' | 'refused';

export class DoorError extends Error {
  readonly kind: DoorFailure;
  readonly cure: string;
  /** The API's own code of a refusal, and its HTTP status. */
  readonly refusal: { readonly status: number; readonly code: string } | undefined;

  constructor(kind: DoorFailure, message: string, cure: string, refusal?: DoorError['refusal']) {
    super(message);
    this.name = 'DoorError';
    this.kind = kind;
    this.cure = cure;
    this.refusal = refusal;
  }
}

/** One that hangs is found out within this time. */
const ALIVE_MS = 1_000;
const ANSWER_MS = 5_000;
/** Connections at a time: one command asks about every account. */
const AT_ONCE = 8;

/** Finds the daemon. @throws DoorError; an Error with a `cure`: `config-refused` */
export async function openDoor(place: DoorPlace) {
  const { candidates, faults, closed = [], refusal } = await candidatesOf(place);
  const lives = await Promise.all(candidates.map((one) => lifeOf(one)));
  const named = (life: Life['kind']): Candidate | undefined =>
    candidates.find((_, index) => lives[index]?.kind === life);
  const open = named('alive');
  if (open !== undefined) {
    const others = candidates.filter((one, index) => one !== open && lives[index]?.kind !== 'nobody');
    return { ...doorAt(open, place), faults, neighbours: others.flatMap(({ acts }) => acts ?? []) };
  }
  const hung = named('silent');
  if (hung !== undefined)
    throw new DoorError('silent', `the daemon at ${hung.base} does not answer`, HUNG_CURE);
  if (refusal !== undefined) throw refusal;
  const [why] = lives.flatMap((life) => (life.kind === 'nobody' ? (life.why ?? []) : []));
  const where =
    place.url === undefined
      ? 'no daemon with this config runs that this user can reach'
      : `no daemon answers at ${place.url}${why === undefined ? '' : ` (${why})`}`;
  throw new DoorError(
    'unreachable',
    where,
    [...faults, ...closed, place.url === undefined ? REACH_CURE : ''].join(' ').trim(),
  );
}

const HUNG_CURE =
  'If it hangs, end its process (SIGTERM, or systemctl stop breakwater): orders at the exchange stay.';
const REACH_CURE =
  'On its machine its own user reaches it, and root if it is a service in /run/breakwater or /var/lib/breakwater; elsewhere name it with --url.';
const UNCLEAR_CURE = 'Nobody knows whether it was done: look with status, then repeat it.';
const TOKEN_CURE =
  'On the machine of the daemon its own user needs none. Else name one with --token env:NAME or file:PATH: that of one of web.users with the scope, or web.controlToken.';

interface Candidate {
  readonly base: string;
  readonly origin: string;
  readonly agent: Agent;
  readonly token?: string | undefined;
  /** The process, if it is on this machine and acts. */
  readonly acts?: string | undefined;
}

/** `refusal`: the config could not be read; the place where it is may still be enough. */
async function candidatesOf({ config, url, token, env }: DoorPlace) {
  if (url !== undefined) {
    const { web, fault } = readForUrl(token === undefined ? config : undefined, env);
    const known = token ?? (web?.controlToken ?? web?.token)?.reveal();
    const agent = new Agent({ pipelining: 0, connections: AT_ONCE });
    const candidate: Candidate = { base: url, origin: url, agent, token: known };
    return { candidates: [candidate], faults: fault === undefined ? [] : [fault] };
  }
  if (config === undefined) return { candidates: [], faults: [] };
  const { found, refusal } = readIfPossible(config, env);
  const folders = { configFile: config, stateDir: found.stateDir, env };
  const { sockets, skipped, closed } = await findSockets(folders);
  const candidates = sockets.map(
    (socketPath): Candidate => ({
      base: socketPath,
      origin: 'http://localhost',
      agent: new Agent({ pipelining: 0, connections: AT_ONCE, connect: { socketPath } }),
      acts: actorOf(socketPath),
    }),
  );
  const said = (words: readonly string[]) => words.map((one) => `${one}.`);
  const faults = [...(found.fault === undefined ? [] : [found.fault]), ...said(skipped)];
  return { candidates, faults, closed: said(closed), refusal };
}

function readIfPossible(config: string, env: DoorPlace['env']) {
  try {
    return { found: readPlaceConfig(config, env, false), refusal: undefined };
  } catch (error) {
    return { found: readForUrl(config, env), refusal: error as Error };
  }
}

/** `silent`: it listens, and does not say that it is alive. `nobody`: no daemon can be there; `why`, if known. */
type Life = { readonly kind: 'alive' | 'silent' } | { readonly kind: 'nobody'; readonly why?: string };

/** Errors of names, routes and certificates: whatever is there, it is not a daemon that hangs. */
const NO_DAEMON = /CERT|TLS|SSL|EPROTO|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH/;

/** Asks only whether it is alive: a request goes to a daemon that has said so. */
async function lifeOf({ origin, agent }: Candidate): Promise<Life> {
  try {
    const signal = AbortSignal.timeout(ALIVE_MS);
    const { statusCode, body } = await agent.request({ origin, path: '/healthz', method: 'GET', signal });
    return { kind: (await body.text()) === 'ok\n' && statusCode === 200 ? 'alive' : 'silent' };
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (/^(ECONNREFUSED|ENOENT)$/.test(code)) return { kind: 'nobody' };
    return NO_DAEMON.test(code) ? { kind: 'nobody', why: message } : { kind: 'silent' };
  }
}

function doorAt({ base, origin, agent, token }: Candidate, { untilMs }: DoorPlace) {
  const leftMs = (): number =>
    Math.max(1, Math.round(untilMs === undefined ? ANSWER_MS : untilMs() - performance.now()));
  const ask = async <K extends keyof Routes>(
    what: K,
    asked: Asked<K> = {},
  ): Promise<z.output<Routes[K]['reply']>> => {
    const { method, reply, path: pattern }: ApiRoute = ROUTES[what];
    const path = pathOf(pattern, asked);
    const isHarmless = method === 'GET' || what === 'plan order';
    const answered = await agent
      .request({
        origin,
        path,
        method,
        signal: AbortSignal.timeout(leftMs()),
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(asked.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(asked.body === undefined ? {} : { body: JSON.stringify(asked.body) }),
      })
      .then(async ({ statusCode, body }) => ({
        status: statusCode,
        json: await body.json().catch(() => undefined),
      }))
      .catch(() => undefined);
    if (answered === undefined) {
      const message = `the daemon at ${base} does not answer any more`;
      if (isHarmless) throw new DoorError('silent', message, HUNG_CURE);
      throw new DoorError('unclear', message, UNCLEAR_CURE);
    }
    if (answered.status >= 300) throw refusalOf(base, answered, token !== undefined, isHarmless);
    const read = reply.safeParse(answered.json);
    if (read.success) return read.data as z.output<Routes[K]['reply']>;
    const at = [path, ...(read.error.issues[0]?.path ?? [])].join(' ');
    const words = `what the daemon at ${base} says cannot be read here (${at})`;
    throw new DoorError('differs', words, 'Use the breakwater that the daemon runs, or look at its page.');
  };
  /** The daemon's URL or socket, for messages. */
  return { base, ask, leftMs };
}

function pathOf(
  pattern: string,
  { params = {}, query }: Pick<Asked<keyof Routes>, 'params' | 'query'>,
): string {
  const values = params as Readonly<Record<string, string>>;
  const path = pattern.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  if (query === undefined) return path;
  const search = Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]);
  return `${path}?${new URLSearchParams(search).toString()}`;
}

const REFUSAL = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

function refusalOf(
  base: string,
  { status, json }: { readonly status: number; readonly json: unknown },
  hadToken: boolean,
  isHarmless: boolean,
): DoorError {
  const { code = '', message = `HTTP ${status}` } = REFUSAL.safeParse(json).data?.error ?? {};
  if (status === 401) {
    const why = hadToken ? 'does not know this token: it is wrong, or no longer valid' : 'asks for a token';
    return new DoorError('token', `the daemon at ${base} ${why}`, TOKEN_CURE);
  }
  if (status === 403 || status === 429)
    return new DoorError('token', `the daemon at ${base} refused: ${message}`, TOKEN_CURE);
  if (status >= 500)
    return new DoorError(isHarmless ? 'silent' : 'unclear', message, isHarmless ? '' : UNCLEAR_CURE);
  return new DoorError('refused', message, '', { status, code });
}
