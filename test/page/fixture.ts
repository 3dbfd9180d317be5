import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import path from 'node:path';
import { accountRow } from '../../src/core/lines/account-row.ts';
import type { AccountView } from '../../src/core/view/account-view.ts';
import { headlineOf } from '../../src/core/view/state-line.ts';
import { PAGE_POLICY } from '../../src/web/headers.ts';
import type {
  CostsReply,
  OrderPreview,
  PageAction,
  PageOverview,
  PageStoryEntry,
  PageStress,
} from '../../src/web/page/contract.d.ts';
import { account, position, rule, text } from '../support/account-view.ts';

/**
 * A server that serves the page as the daemon does, under the same policy, with a scripted API: it does on demand what
 * a real daemon rarely does, such as losing the stream.
 */

const ROOT = path.resolve(import.meta.dirname, '../..');
const PAGE = path.join(ROOT, 'src/web/page');
const PACKAGES = path.join(ROOT, 'node_modules');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

export interface FixtureState {
  overview: PageOverview;
  accounts: AccountView[];
  actions: PageAction[];
  stories: Record<string, PageStoryEntry[]>;
  history: { atMs: number; values: Record<string, number | string> }[];
  stress: PageStress;
  costs: CostsReply;
  preview: OrderPreview;
  readToken: string | undefined;
  controlToken: string;
  /** The user of the read token. */
  knownAs: string | null;
  /** Answers 503 to the stream and to everything else. */
  isDown: boolean;
}

export interface Fixture {
  readonly url: string;
  readonly state: FixtureState;
  readonly asked: readonly Asked[];
  /** The accounts that each open stream watches. */
  streams(): readonly (readonly string[])[];
  /** Sends an event to every stream. */
  emit(name: string, data: unknown): void;
  changeAccount(accountId: string, changed: Partial<AccountView>): void;
  changeOverview(changed: Partial<PageOverview>): void;
  cut(): void;
  close(): Promise<void>;
}

export async function startFixture(state: Partial<FixtureState> = {}): Promise<Fixture> {
  const full: FixtureState = {
    overview: overview(),
    accounts: [],
    actions: [],
    stories: {},
    history: [],
    stress: { scheduled: false, stored: null },
    costs: { fromMs: 0, isComplete: true, totals: [] },
    preview: { plan: [], closesWhen: '', obstacles: [] },
    readToken: undefined,
    controlToken: 'the-control-token',
    knownAs: null,
    isDown: false,
    ...state,
  };
  const asked: Asked[] = [];
  const streams = new Map<ServerResponse, readonly string[]>();
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    void answer(request, response, { state: full, asked, streams });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const emit = (name: string, data: unknown): void => {
    for (const stream of streams.keys()) send(stream, name, data);
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state: full,
    asked,
    streams: () => [...streams.values()],
    emit,
    changeAccount(accountId, changed) {
      full.accounts = full.accounts.map((account) =>
        account.accountId === accountId ? { ...account, ...changed } : account,
      );
      emit('account', { accountId, changed });
      emit('rows', { rows: full.accounts.filter((one) => one.accountId === accountId).map(accountRow) });
      emit('overview', { changed: { headline: headlineOf(full.accounts) } });
    },
    changeOverview(changed) {
      full.overview = { ...full.overview, ...changed };
      emit('overview', { changed: { headline: headlineOf(full.accounts), ...changed } });
    },
    cut() {
      for (const stream of streams.keys()) stream.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

interface Scene {
  readonly state: FixtureState;
  readonly asked: Asked[];
  readonly streams: Map<ServerResponse, readonly string[]>;
}

async function answer(request: IncomingMessage, response: ServerResponse, scene: Scene): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://fixture');
  if (!url.pathname.startsWith('/api/')) return page(url.pathname, response);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const ask: Asked = {
    method: request.method ?? '',
    path: decodeURIComponent(url.pathname.slice('/api/v1'.length)),
    query: url.searchParams,
    authorization: request.headers.authorization,
    body: text === '' ? undefined : JSON.parse(text),
  };
  scene.asked.push(ask);
  const { state } = scene;
  if (state.isDown) return json(response, 503, { error: { code: 'stateLost', message: 'Redis is lost' } });
  const isRead = ask.method === 'GET';
  const needed = isRead || state.knownAs !== null ? state.readToken : state.controlToken;
  if (needed !== undefined && ask.authorization !== `Bearer ${needed}`) {
    const code = isRead ? 'readTokenNeeded' : 'controlTokenNeeded';
    return json(response, 401, {
      error: { code, message: `this needs the ${isRead ? 'read' : 'control'} token` },
    });
  }
  if (ask.path === '/events') return stream(ask, response, scene);
  const [status, body] = isRead ? read(ask, url.pathname.slice('/api/v1'.length), state) : change(ask, state);
  return json(response, status, body);
}

function page(pathname: string, response: ServerResponse): void {
  const isAsset = pathname.startsWith('/assets/');
  const name = isAsset ? pathname.slice('/assets/'.length) : 'index.html';
  const vendored = { 'uplot.js': 'uPlot.esm.js', 'uplot.css': 'uPlot.min.css' }[name];
  const library = name.startsWith('lit-html/') ? name : `uplot/dist/${vendored}`;
  const isOwn = vendored === undefined && !name.startsWith('lit-html/');
  const file = isOwn ? path.join(PAGE, name) : path.join(PACKAGES, library);
  try {
    const text = readFileSync(file);
    response.writeHead(200, {
      'content-type': TYPES[path.extname(name)] ?? 'application/octet-stream',
      'content-security-policy': PAGE_POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
    });
    response.end(text);
  } catch {
    response.writeHead(404).end();
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function stream({ query }: Asked, response: ServerResponse, { state, streams }: Scene): void {
  const ids = new Set((query.get('accounts') ?? '').split(',').filter((id) => id !== ''));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  streams.set(response, [...ids]);
  response.on('close', () => streams.delete(response));
  send(response, 'hello', { version: 'test', atMs: Date.now() });
  send(response, 'overview', { changed: { ...state.overview, headline: headlineOf(state.accounts) } });
  if (query.get('rows') !== null) {
    const rows = state.accounts.map(accountRow);
    send(response, 'rows', { rows, ids: rows.map(({ accountId }) => accountId), cursor: 'a.1' });
  }
  for (const account of state.accounts.filter(({ accountId }) => ids.has(accountId))) {
    send(response, 'account', { accountId: account.accountId, changed: account });
  }
}

function send(stream: ServerResponse, name: string, data: unknown): void {
  stream.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}

function read({ path: asked, query }: Asked, rawPath: string, state: FixtureState): [number, unknown] {
  if (asked === '/me') return [200, { name: state.knownAs, scopes: ['read'], address: '127.0.0.1' }];
  if (asked === '/overview')
    return [200, { ...state.overview, headline: headlineOf(state.accounts), atMs: Date.now() }];
  if (asked === '/actions') return [200, { actions: state.actions }];
  if (asked === '/stress') return [200, state.stress];
  if (asked === '/rows') return [200, { atMs: Date.now(), rows: state.accounts.map(accountRow) }];
  const [, segment = '', rest = ''] = /^\/accounts\/([^/]+)(.*)$/.exec(rawPath) ?? [];
  const accountId = decodeURIComponent(segment);
  const account = state.accounts.find((found) => found.accountId === accountId);
  if (account === undefined) return [404, { error: { code: 'notFound', message: 'no such account' } }];
  if (rest === '') return [200, account];
  if (rest === '/costs') return [200, state.costs];
  if (rest === '/history') return [200, { subject: query.get('subject'), points: state.history }];
  if (rest === '/top-ups') return [200, { offer: { tickers: ['USD'], minAmount: '20', maxAmount: '5000' } }];
  if (rest === '/story') {
    const subject = query.get('subject');
    const entries = (state.stories[accountId] ?? []).filter(
      (entry) => subject === null || entry.subject === subject,
    );
    return [200, { entries, nextBeforeSeq: null }];
  }
  const seq = Number(/^\/audit\/(\d+)$/.exec(rest)?.[1]);
  return Number.isNaN(seq)
    ? [404, { error: { code: 'notFound', message: 'nothing here' } }]
    : [200, { hash: 'abc', record: { seq }, inputs: { liquidationDistance: 0.041 } }];
}

function change({ method, path: asked, body }: Asked, state: FixtureState): [number, unknown] {
  const given = body as { accountId: string | null; reason: string; author: string; forMs: number | null };
  if (method === 'POST' && asked === '/pauses') {
    const expiresAtMs = given.forMs === null ? null : Date.now() + given.forMs;
    const pause = { kind: 'pause', id: 'p1', atMs: Date.now(), ...given, expiresAtMs } as const;
    state.overview = { ...state.overview, pauses: [pause] };
    return [201, pause];
  }
  if (method === 'DELETE' && asked.startsWith('/pauses/')) {
    state.overview = { ...state.overview, pauses: [] };
    return [200, { lifted: [] }];
  }
  if (method === 'POST' && asked.endsWith('/orders/preview')) return [200, state.preview];
  if (method === 'POST' && asked.endsWith('/orders')) return [201, { order: { id: 'o1' }, ...state.preview }];
  if (method === 'DELETE' && asked.includes('/orders/')) return [200, { order: { id: 'o2' } }];
  if (method === 'POST' && asked.endsWith('/top-ups')) {
    return [201, { url: 'https://pay.example/deposit?x=1', uniqueId: 'u-1', opensWith: 'referrer' }];
  }
  if (method === 'POST' && asked.endsWith('/answers')) return [201, { order: { id: 'a1' } }];
  if (method === 'POST' && asked === '/acknowledgements') return [201, { acknowledgements: [] }];
  if (method === 'POST' && asked === '/silences') return [201, { id: 's1', ...given }];
  return [404, { error: { code: 'notFound', message: 'nothing here' } }];
}

export function overview(changed: Partial<PageOverview> = {}): PageOverview {
  const atMs = Date.now();
  return {
    version: '0.1.0',
    instance: 'i0-test',
    atMs,
    startedAtMs: atMs - 3_600_000,
    mode: 'enforce',
    accounts: 1,
    firing: { critical: 0, warning: 0, info: 0 },
    headline: { kind: 'calm', severity: null, words: 'desk-1 calm.', groups: [] },
    pauses: [],
    silences: [],
    acknowledgements: [],
    refusedControls: [],
    health: {
      ready: true,
      checks: [
        { name: 'redis', ok: true, why: '' },
        { name: 'dataFresh', ok: true, why: '' },
      ],
    },
    degraded: [],
    reachesAll: true,
    degradedWords: {},
    queues: [
      { queue: 'poll', waiting: 0, active: 1, delayed: 4, failed: 0, oldestMs: null, isPaused: false },
    ],
    polling: 1,
    exchange: { ok: true, words: 'it answers' },
    oldestJudgedAtMs: atMs - 2_000,
    may: { control: true, operate: true, topUp: true },
    ...changed,
  };
}

/** An account with an open question and a notice. */
export function asked(accountId: string): AccountView {
  const size = { market: 'BTC_PERP', positionId: '1' } as const;
  const atMs = Date.now() - 20_000;
  return {
    ...endangered(accountId),
    mode: 'approve',
    questions: [
      {
        reference: '4c604367-1',
        ruleId: 'near-liquidation',
        subject: 'position:1',
        stage: 0,
        state: 'waiting',
        answerable: true,
        settledBy: null,
        askedMs: atMs,
        untilMs: atMs + 3_600_000,
        withoutAnswer: 'act',
        delivered: true,
        targets: [{ ...size, targetBase: text('0.25'), sizeBase: text('0.5') }],
        orders: [
          {
            ...size,
            role: 'reduce',
            side: 'sell',
            amount: text('0.25'),
            activationPrice: text('29471'),
            price: text('29200'),
            status: 'observed',
            clientOrderId: 'bw2.x',
          },
        ],
        answer: null,
      },
    ],
    notices: [
      {
        ruleId: 'near-liquidation',
        subject: 'position:1',
        market: 'BTC_PERP',
        severity: 'critical',
        episode: 7,
        stage: 0,
        sinceMs: atMs,
        toldAtMs: atMs,
        acknowledged: null,
      },
    ],
  };
}

/** A stress test with a crash that the rules survive, one that they do not, and a rally. */
export function stressed(): PageStress {
  const atMs = Date.now() - 3 * 3_600_000;
  const run = { atMs, durationMs: 41_000, outcome: 'complete', words: '' } as const;
  const played = (scenario: string, title: string, conditions: string) => ({
    scenario,
    title,
    conditions,
    about: `What ${title} was.`,
  });
  return {
    scheduled: true,
    stored: {
      version: 1,
      lastRun: run,
      nextAtMs: atMs + 86_400_000,
      result: {
        ...run,
        accounts: 7,
        leftOut: ['Account borrower: its loan of 5 BTC is left out.', 'Account x: it has not been read yet.'],
        leftOutCount: 2,
        cases: [
          {
            ...played('2020-03-12', '12 March 2020', 'crash'),
            liquidatedWithout: 2,
            liquidatedWith: 0,
            keptWithout: 0.59,
            keptWith: 0.969,
          },
          {
            ...played('shock-down-20', 'Shock -20 %', 'calm'),
            liquidatedWithout: 3,
            liquidatedWith: 1,
            keptWithout: 0.4,
            keptWith: 0.45,
          },
          {
            ...played('rally', 'Rally', 'crash'),
            liquidatedWithout: 0,
            liquidatedWith: 0,
            keptWithout: 1.12,
            keptWith: 1.1,
          },
        ],
        accountCases: [],
      },
    },
  };
}

/** The same account with its first position endangered, the rule firing and an order sent. */
export function endangered(accountId: string): AccountView {
  const atMs = Date.now();
  return account(accountId, {
    state: {
      kind: 'acting',
      cause: 'orderActive',
      words: 'acting: reducing BTC_PERP until 10 % away',
      severity: 'critical',
      sinceMs: atMs - 11_000,
    },
    worst: 'critical',
    danger: 1_000,
    nearest: 0.0412,
    jointDistance: 0.0412,
    positions: [
      position('1', { liquidationDistance: 0.0412, markPrice: text('26074.5'), unrealizedPnl: -5888.25 }),
    ],
    rules: [
      rule('near-liquidation', 'position:1', {
        phase: 'firing',
        episode: 1,
        stage: 0,
        sinceMs: atMs - 12_000,
        reason: 'liquidationDistance 4.12 % is below 5 %',
      }),
    ],
    intents: [
      {
        key: 'k1',
        market: 'BTC_PERP',
        positionId: '1',
        ruleId: 'near-liquidation',
        mode: 'enforce',
        target: 'reduce until 10 % from liquidation',
        targetBase: text('0.62'),
        openedMs: atMs - 11_000,
        deadlineMs: atMs + 60_000,
        failures: 0,
        state: 'the order is out',
        ended: false,
      },
    ],
    orders: [
      {
        market: 'BTC_PERP',
        role: 'reduce',
        positionId: '1',
        side: 'sell',
        amount: text('0.88'),
        activationPrice: text('26070'),
        price: text('25939.6'),
        status: 'open',
        clientOrderId: 'bw-1',
      },
    ],
  });
}
