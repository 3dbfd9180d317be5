import { randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { z } from 'zod';
import type { WebSettings } from '../../config/web.ts';
import {
  type Acknowledgement,
  type Control,
  type OperatorOrder,
  type Pause,
  pauseSchema,
  type Silence,
  silenceSchema,
} from '../../core/controls/controls.ts';
import { isLoopback } from '../../core/text/loopback.ts';
import { type AccountView, accountSchema } from '../../core/view/account-view.ts';
import {
  accountsReply,
  acknowledgedReply,
  answerReply,
  liftedReply,
  overview,
  rowsReply,
} from '../../web/api/schemas.ts';
import { doorProof, PROOF_HEADER } from '../../web/token.ts';
import { type PlaceConfig, readForUrl, readPlaceConfig } from '../place-config.ts';
import { reachable, readDoorFiles } from './door-file.ts';

/** Where a daemon is looked for. */
export interface DoorPlace {
  /** The config of the daemons: it says where they write down their doors, and where they listen. */
  readonly config?: string;
  /** Only the daemon there. */
  readonly url?: string;
  /** Instead of the one that the daemon wrote down, or that the config has. */
  readonly token?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface Signed {
  readonly author: string;
  readonly reason: string;
}

interface Answering {
  readonly reference: string;
  readonly decision: 'approve' | 'veto';
}

/** The API of a running daemon: the one place where something is changed. Rejects with a DoorError. */
export interface Door {
  readonly base: string;
  /** Why the config as a whole is unusable, for people; absent: it is usable, or none was read. */
  readonly fault?: string;
  overview(): Promise<z.output<typeof overview>>;
  rows(): Promise<z.output<typeof rowsReply>['rows']>;
  view(accountId: string): Promise<AccountView>;
  /** Every account, most endangered first. */
  views(): Promise<readonly AccountView[]>;
  pause(draft: Signed & Pick<Pause, 'accountId'> & { readonly forMs: number | null }): Promise<Pause>;
  silence(
    draft: Signed & Pick<Silence, 'accountId' | 'ruleId' | 'subject'> & { readonly forMs: number },
  ): Promise<Silence>;
  acknowledge(
    draft: Signed & {
      readonly accountId: string | null;
      readonly ruleId?: string | undefined;
      readonly subject?: string | undefined;
      readonly forMs?: number | undefined;
    },
  ): Promise<readonly Acknowledgement[]>;
  answer(accountId: string, draft: Signed & Answering): Promise<OperatorOrder>;
  /** Resolves to what was in force. */
  lift(control: Pick<Control, 'kind' | 'id'>, by: Signed): Promise<readonly Control[]>;
}

/** `unclear`: the request was sent, and nobody knows whether it was done. `silent`: nothing was sent. */
export type DoorFailure = 'unreachable' | 'silent' | 'unclear' | 'differs' | 'token' | 'refused';

interface DoorRefusal {
  readonly status?: number;
  readonly code?: string;
}

export class DoorError extends Error {
  readonly kind: DoorFailure;
  readonly code: string;
  readonly cure: string;
  /** Of a refusal. */
  readonly status: number | undefined;

  constructor(
    kind: DoorFailure,
    message: string,
    cure: string,
    { status, code = kind === 'token' ? 'token-refused' : `daemon-${kind}` }: DoorRefusal = {},
  ) {
    super(message);
    this.name = 'DoorError';
    this.kind = kind;
    this.code = code;
    this.cure = cure;
    this.status = status;
  }
}

/** One that hangs is found out within this time. */
const ALIVE_MS = 2_000;
const ANSWER_MS = 5_000;

/** Finds the daemon. @throws DoorError; an Error with a `cure`: `config-refused` */
export async function openDoor(place: DoorPlace): Promise<Door> {
  const { found, refusal } = placeConfig(place);
  const { candidates, faults } = await candidatesOf(place, found);
  const lives = await Promise.all(candidates.map(lifeOf));
  const named = (life: Life): Candidate | undefined => candidates.find((_, index) => lives[index] === life);
  const open = named('alive');
  const said = [...(found.fault === undefined ? [] : [found.fault]), ...faults.map((words) => `${words}.`)];
  const fault = said.length === 0 ? {} : { fault: said.join(' ') };
  if (open !== undefined) return { ...doorAt(open), ...fault };
  const hung = named('silent');
  if (hung !== undefined)
    throw new DoorError('silent', `the daemon at ${hung.url} does not answer`, HUNG_CURE);
  const [nearest] = candidates.toReversed();
  if (nearest === undefined && refusal !== undefined) throw refusal;
  const strange = named('unproven');
  const words =
    strange === undefined
      ? `no daemon answers ${nearest === undefined ? 'on this machine' : `at ${nearest.url}`}`
      : `what answers at ${strange.url} does not prove to be the daemon of this config`;
  throw new DoorError(
    'unreachable',
    words,
    [...faults.map((one) => `${one}.`), cureOf(place, found)].join(' '),
  );
}

const HUNG_CURE =
  'If it hangs, end its process (SIGTERM, or systemctl stop breakwater): orders at the exchange stay.';

function cureOf({ url }: DoorPlace, { web }: PlaceConfig): string {
  if (url !== undefined) return 'It is asked where --url says.';
  const own =
    web === undefined
      ? 'The web section of the config has a mistake'
      : `It is looked for where a daemon with this config has written down its address${web.port === 0 ? '' : ', and at web.host and web.port of the config'}`;
  return `${own}. One elsewhere is named by --url; only one with the role web answers.`;
}

/** `refusal`: the config could not be read; the place where it is may still be enough. */
function placeConfig({ config, url, token, env }: DoorPlace): {
  readonly found: PlaceConfig;
  readonly refusal?: Error;
} {
  if (url !== undefined) return { found: readForUrl(token === undefined ? config : undefined, env) };
  if (config === undefined) return { found: readForUrl(undefined, env) };
  try {
    return { found: readPlaceConfig(config, env, false) };
  } catch (error) {
    const refusal = error as Error;
    return { found: { ...readForUrl(undefined, env), fault: `${refusal.message}.` }, refusal };
  }
}

interface Candidate {
  readonly url: string;
  readonly token: string | undefined;
  /**
   * What it proves itself with, before anything is said to it. null: it cannot, as it wrote nothing down for this user:
   * anybody may have taken its port. undefined: it needs not, as somebody named it, or it is on another machine.
   */
  readonly proof?: string | null;
}

async function candidatesOf(place: DoorPlace, { web, redis }: PlaceConfig) {
  const { config, url, token, env } = place;
  const isEnough = config === undefined || (url !== undefined && token !== undefined);
  const { doors, faults } = isEnough
    ? { doors: [], faults: [] }
    : await readDoorFiles({ configFile: config, mirror: redis?.mirror, env });
  const found: Candidate[] = doors
    .filter((door) => url === undefined || door.url === url)
    .map((door) => ({ url: door.url, token: token ?? door.token, proof: door.token }));
  const asked = url ?? addressOf(web);
  const ownToken = token ?? (web?.controlToken ?? web?.token)?.reveal();
  if (asked !== undefined) {
    const isProof = url === undefined && isLoopback(new URL(asked).hostname);
    found.push({ url: asked, token: ownToken, ...(isProof ? { proof: null } : {}) });
  }
  return { candidates: found, faults };
}

/** undefined: its address is not known. */
function addressOf(web: WebSettings | undefined): string | undefined {
  if (web === undefined || web.port === 0) return undefined;
  const { host, port } = web;
  return reachable(`http://${isIPv6(host) ? `[${host}]` : host}:${port}`);
}

interface Asking {
  readonly method?: 'POST' | 'DELETE';
  readonly body?: object;
  readonly timeoutMs?: number;
}

function doorAt({ url: base, token }: Candidate): Door {
  const ask = async <S extends z.ZodType>(
    path: string,
    reply: S,
    asking: Asking = {},
  ): Promise<z.output<S>> => {
    const { method = 'GET', body, timeoutMs = ANSWER_MS } = asking;
    const answered = await answerOf(`${base}/api/v1/${path}`, timeoutMs, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (answered === undefined) {
      const message = `the daemon at ${base} does not answer any more`;
      if (method === 'GET') throw new DoorError('silent', message, HUNG_CURE);
      throw new DoorError('unclear', message, UNCLEAR_CURE);
    }
    const { isOk, status, json } = answered;
    if (!isOk) throw refusalOf(base, { status, json, hadToken: token !== undefined });
    const read = reply.safeParse(json);
    if (read.success) return read.data;
    const at = read.error.issues[0]?.path.join('.') ?? '';
    const words = `what the daemon at ${base} says cannot be read here (${path}${at === '' ? '' : `: ${at}`})`;
    throw new DoorError('differs', words, 'Use the breakwater that the daemon runs, or look at its page.');
  };
  const post = <S extends z.ZodType>(path: string, reply: S, body: object) =>
    ask(path, reply, { method: 'POST', body });
  return {
    base,
    overview: () => ask('overview', overview),
    rows: async () => (await ask('rows', rowsReply)).rows,
    view: (accountId) => ask(`accounts/${encodeURIComponent(accountId)}`, accountSchema),
    async views() {
      const views: AccountView[] = [];
      for (let total = 1; views.length < total; ) {
        const page = await ask(`accounts?limit=100&offset=${views.length}`, accountsReply);
        views.push(...page.accounts);
        total = page.accounts.length === 0 ? 0 : page.total;
      }
      return views;
    },
    pause: (draft) => post('pauses', pauseSchema, draft),
    silence: (draft) => post('silences', silenceSchema, draft),
    acknowledge: async (draft) => (await post('acknowledgements', acknowledgedReply, draft)).acknowledgements,
    answer: async (accountId, draft) =>
      (await post(`accounts/${encodeURIComponent(accountId)}/answers`, answerReply, draft)).order,
    async lift({ kind, id }, by) {
      const asking = { method: 'DELETE', body: by } as const;
      try {
        return (await ask(`${kind}s/${encodeURIComponent(id)}`, liftedReply, asking)).lifted;
      } catch (error) {
        // It ended in the meantime.
        if (error instanceof DoorError && error.status === 404) return [];
        throw error;
      }
    },
  };
}

const UNCLEAR_CURE = 'Nobody knows whether it was done: look with status, then repeat it.';
const TOKEN_CURE =
  'On the machine of the daemon none is needed by its own user. Else name one with --token env:NAME or file:PATH: that of one of web.users with the scope, or web.controlToken.';

const REFUSAL = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** Of refusals that say what became of it. */
const OWN_CODES: Readonly<Record<string, string>> = {
  answeredBefore: 'answered-before',
  notWaiting: 'not-waiting',
};

function refusalOf(
  base: string,
  { status, json, hadToken }: { readonly status: number; readonly json: unknown; readonly hadToken: boolean },
): DoorError {
  const { code = '', message = `HTTP ${status}` } = REFUSAL.safeParse(json).data?.error ?? {};
  if (status === 401) {
    const why = hadToken ? 'does not know this token: it is wrong, or no longer valid' : 'asks for a token';
    return new DoorError('token', `the daemon at ${base} ${why}`, TOKEN_CURE, { status });
  }
  if (status === 403 || status === 429) {
    return new DoorError('token', `the daemon at ${base} refused: ${message}`, TOKEN_CURE, { status });
  }
  if (code === 'stateLost') return new DoorError('unclear', message, UNCLEAR_CURE, { status });
  const own = OWN_CODES[code];
  return new DoorError('refused', message, '', { status, ...(own === undefined ? {} : { code: own }) });
}

interface Answered {
  readonly isOk: boolean;
  readonly status: number;
  /** undefined: not JSON. */
  readonly json: unknown;
}

/** undefined: no answer. */
async function answerOf(url: string, timeoutMs: number, init: RequestInit): Promise<Answered | undefined> {
  try {
    const bounds = { redirect: 'error', signal: AbortSignal.timeout(timeoutMs) } as const;
    const response = await fetch(url, { ...init, ...bounds });
    const json: unknown = await response.json().catch(() => undefined);
    return { isOk: response.ok, status: response.status, json };
  } catch {
    return undefined;
  }
}

type Life = 'alive' | 'unproven' | 'silent' | 'nobody';

/** Tokens go only to a server that says it is alive, and proves it. `silent`: it does not say so. */
async function lifeOf({ url, proof }: Candidate): Promise<Life> {
  const nonce = randomBytes(16).toString('base64url');
  try {
    const bounds = { redirect: 'error', signal: AbortSignal.timeout(ALIVE_MS) } as const;
    const response = await fetch(`${url}/healthz?nonce=${nonce}`, bounds);
    if (!response.ok || (await response.text()) !== 'ok\n') return 'silent';
    if (proof === undefined) return 'alive';
    const wanted = proof === null ? undefined : doorProof(proof, nonce, Number(new URL(url).port));
    return response.headers.get(PROOF_HEADER) === wanted ? 'alive' : 'unproven';
  } catch (error) {
    return (error as Error).name === 'TimeoutError' ? 'silent' : 'nobody';
  }
}
