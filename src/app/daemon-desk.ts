import { isIPv6 } from 'node:net';
import { z } from 'zod';
import type { WebSettings } from '../config/web.ts';
import { type Control, pauseSchema, silenceSchema } from '../core/controls/controls.ts';
import { processTroubles } from '../core/lines/process-troubles.ts';
import type { ControlDraft, ControlSelector, OperatorControls } from '../core/ports/operator-controls.ts';
import { accountSchema } from '../core/view/account-view.ts';
import { acknowledgedReply, liftedReply, overview, rowsReply } from '../web/api/schemas.ts';
import { type Desk, type DeskReason, idsOf, knownAccount } from './operations.ts';
import { type PlaceConfig, problem } from './place-config.ts';

const TIMEOUT_MS = 5000;
/** The daemon itself seals what it receives over its port. */
const TAKEN = { kind: 'taken' } as const;

interface Asking {
  readonly method?: 'POST' | 'DELETE';
  readonly body?: object;
}

type Ask = <S extends z.ZodType>(path: string, reply: S, asking?: Asking) => Promise<z.output<S>>;

/**
 * Operator desk over the port of a daemon on this machine, for when Redis does not answer. A pause made here holds back
 * that daemon only; it reaches Redis together with what the daemon did alone. undefined: no daemon answers there.
 */
export async function openDaemonDesk(
  found: PlaceConfig,
  { url, why }: { readonly url?: string | undefined; readonly why: DeskReason },
): Promise<Desk | undefined> {
  const { web, config, fault } = found;
  const { token, controlToken } = web ?? {};
  const lost = why === 'redis-lost' ? 'Redis does not answer, and ' : '';
  const base = url ?? addressOf(web);
  if (base === undefined) return undefined;
  const ask: Ask = async (path, reply, { method = 'GET', body } = {}) => {
    const bearer = method === 'GET' ? (token ?? controlToken) : controlToken;
    const answered = await answerOf(`${base}/api/v1/${path}`, {
      method,
      headers: {
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer.reveal()}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (answered === undefined) {
      const cure = 'Nobody knows whether it was done: look with status, then repeat it.';
      throw problem(
        'daemon-silent',
        why === 'redis-lost'
          ? `Redis does not answer, and neither does the daemon at ${base}`
          : `the daemon at ${base} does not answer`,
        cure,
      );
    }
    const { isOk, status, json } = answered;
    const read = isOk ? reply.safeParse(json) : undefined;
    if (read?.success === true) return read.data;
    if (isOk) {
      const at = read?.error?.issues[0]?.path.join('.') ?? '';
      const words = `${lost}what the daemon at ${base} says cannot be read here (${path}${at === '' ? '' : `: ${at}`})`;
      throw problem('daemon-differs', words, 'Use the breakwater that the daemon runs, or look at its page.');
    }
    const said = REFUSAL.safeParse(json).data?.error.message ?? `HTTP ${status}`;
    const words = `${lost}the daemon at ${base} refused: ${said}`;
    throw problem('daemon-refused', words, `${tokenCure(web)} ${HOW_TO_END}`);
  };
  // Tokens go only to a server that at least says it is alive.
  if (!(await isAlive(base))) return undefined;
  const accountIds = idsOf(found) ?? (await idsOfDaemon(ask));
  return {
    accounts: config?.accounts.map(knownAccount),
    accountIds,
    ...(fault === undefined ? {} : { fault }),
    through: { base, why },
    controls: controlsOver(ask),
    // Queues and the newest records are in Redis; the daemon goes on without queues.
    pausedQueues: async () => [],
    watchers: async () => 1,
    records: async () => [],
    troubles: async () => processTroubles(await ask('overview', overview)),
    quietHours: async () => (await ask('overview', overview)).quietHours,
    wasWatched: async (accountId) => accountIds?.includes(accountId) ?? true,
    reachesAll: async () => (await ask('overview', overview)).reachesAll,
    obedience: async () => TAKEN,
    view: async (accountId) => await ask(`accounts/${encodeURIComponent(accountId)}`, accountSchema),
    close: async () => undefined,
  };
}

/** undefined: the daemon does not say. That must not block a pause, which reports its own refusal. */
async function idsOfDaemon(ask: Ask): Promise<readonly string[] | undefined> {
  const said = await ask('rows', rowsReply).catch(() => undefined);
  return said?.rows.map(({ accountId }) => accountId);
}

/** How to hold back a daemon that cannot be asked. */
const HOW_TO_END =
  'To hold it back without that, end its process (SIGTERM, or systemctl stop breakwater): orders at the exchange stay.';

/** undefined, here and below: the config's web section is not known. */
function tokenCure(web: WebSettings | undefined): string {
  if (web === undefined)
    return 'It takes web.token for reading and web.controlToken for changes, from its config: name that with --config.';
  return web.controlToken === undefined
    ? 'It takes web.token for reading and web.controlToken for changes, and the config has no web.controlToken.'
    : 'It takes web.token for reading, web.controlToken for changes.';
}

/** What to do if Redis does not answer, and no daemon answers where one was looked for. */
export function noDeskCure(web: WebSettings | undefined, url?: string): string {
  const base = url ?? addressOf(web);
  const from = url === undefined ? 'web.host and web.port of the config' : '--url';
  const looked =
    base === undefined
      ? `Where a daemon listens that goes on without Redis is not known here, as ${web === undefined ? 'the web section of the config has a mistake' : 'web.port is 0'}`
      : `No daemon that goes on without Redis answers at ${base} (${from})`;
  const named = url === undefined ? ': name it with --url' : '';
  return `Start Redis, or name the right one with --redis. ${looked}${named}. ${tokenCure(web)} ${HOW_TO_END}`;
}

/** undefined: its address is not known. */
function addressOf(web: WebSettings | undefined): string | undefined {
  if (web === undefined || web.port === 0) return undefined;
  const { host, port } = web;
  const base = `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  return base.replace(/\/\/(0\.0\.0\.0|\[::\]):/, '//127.0.0.1:');
}

const TROUBLES_TIMEOUT_MS = 1500;

/** Failures that the daemon on this machine reports; none if no daemon answers, or it does not say. */
export async function troublesOf(web: WebSettings): Promise<readonly string[]> {
  const base = addressOf(web);
  // Tokens go only to a server that at least says it is alive.
  if (base === undefined || !(await isAlive(base, TROUBLES_TIMEOUT_MS))) return [];
  const bearer = web.token ?? web.controlToken;
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer.reveal()}` };
  const answered = await answerOf(`${base}/api/v1/overview`, { headers }, TROUBLES_TIMEOUT_MS);
  const read = answered?.isOk === true ? overview.safeParse(answered.json) : undefined;
  return read?.success === true ? processTroubles(read.data) : [];
}

const REFUSAL = z.object({ error: z.object({ message: z.string() }) });

interface Answered {
  readonly isOk: boolean;
  readonly status: number;
  /** undefined: not JSON. */
  readonly json: unknown;
}

/** undefined: no answer. */
async function answerOf(
  url: string,
  init: RequestInit,
  timeoutMs = TIMEOUT_MS,
): Promise<Answered | undefined> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) });
    const json: unknown = await response.json().catch(() => undefined);
    return { isOk: response.ok, status: response.status, json };
  } catch {
    return undefined;
  }
}

async function isAlive(base: string, timeoutMs = TIMEOUT_MS): Promise<boolean> {
  try {
    const response = await fetch(`${base}/healthz`, { signal: AbortSignal.timeout(timeoutMs) });
    return response.ok && (await response.text()) === 'ok\n';
  } catch {
    return false;
  }
}

function controlsOver(ask: Ask): Pick<OperatorControls, 'put' | 'lift' | 'list'> {
  const list = async (): Promise<readonly Control[]> => {
    const { pauses, silences, acknowledgements } = await ask('overview', overview);
    return [...pauses, ...silences, ...acknowledgements] as readonly Control[];
  };
  return {
    list,
    async put({ kind, expiresAtMs, ...draft }: ControlDraft) {
      const body = { ...draft, forMs: expiresAtMs === null ? null : expiresAtMs - Date.now() };
      if (kind === 'acknowledgement') {
        const asking = { method: 'POST', body } as const;
        const [put] = (await ask('acknowledgements', acknowledgedReply, asking)).acknowledgements;
        if (put === undefined) throw new TypeError('the daemon acknowledged nothing, and did not refuse');
        return put;
      }
      const path = kind === 'pause' ? 'pauses' : 'silences';
      return await ask(path, kind === 'pause' ? pauseSchema : silenceSchema, { method: 'POST', body });
    },
    async lift(selector, { author, reason }) {
      const lifted: Control[] = [];
      for (const { id, kind } of (await list()).filter((control) => isMeant(control, selector))) {
        const asking = { method: 'DELETE', body: { author, reason } } as const;
        const reply = await ask(`${kind}s/${encodeURIComponent(id)}`, liftedReply, asking);
        lifted.push(...(reply.lifted as readonly Control[]));
      }
      return lifted;
    },
  };
}

function isMeant(control: Control, selector: ControlSelector): boolean {
  if (selector.kind === 'id') return control.id === selector.id;
  if (control.kind !== selector.kind || control.accountId !== selector.accountId) return false;
  if (control.kind === 'pause' || selector.kind === 'pause') return true;
  return control.ruleId === selector.ruleId && control.subject === selector.subject;
}
