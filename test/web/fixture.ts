import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { controlsInForce } from '../../src/core/controls/controls.ts';
import type { AccountView } from '../../src/core/view/account-view.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createMemoryState, type State } from '../../src/state/state.ts';
import { startWebServer, type WebOptions, type WebServer } from '../../src/web/server.ts';
import type { SourcedView, TopUpOffer, TopUpOrder, TopUpOutcome, WebSources } from '../../src/web/sources.ts';
import { account, creditLine, position, rule, text } from '../support/account-view.ts';

export const READ_TOKEN = 'a-read-token-of-some-length';
export const CONTROL_TOKEN = 'a-control-token-of-some-length';

/** An account with a long, a credit line and a rule that fires for the long. */
export function accountView(accountId: string, changes: Partial<AccountView> = {}): AccountView {
  return account(accountId, {
    epoch: { id: 'life1', why: 'empty', sinceMs: 1 },
    judgedAtMs: 1000,
    nextDueAtMs: 2000,
    figuresAtMs: 1000,
    worst: 'critical',
    danger: 0.5,
    jointDistance: 0.041,
    sources: [{ source: 'positions', readAtMs: 900, ageMs: 100, complete: true, setAside: 0, tooOld: false }],
    positions: [
      position('42', {
        sizeBase: text('0.5'),
        basePrice: text('60000'),
        markPrice: text('58000'),
        liquidationPrice: text('55000'),
        liquidationDistance: 0.0517,
        notional: 29_000,
        unrealizedPnl: -1000,
        marginUsage: 0.8,
        stopCover: 'missing',
        unprotectedMs: 5000,
        liquidationProbability1h: 0.2,
        minutesToLiquidation: null,
        marks: [
          {
            ruleId: 'near',
            severity: 'critical',
            field: 'liquidationDistance',
            op: 'below',
            threshold: 0.05,
          },
        ],
      }),
    ],
    creditLines: [
      creditLine({
        amount: text('1000'),
        totalFunding: text('1.5'),
        debt: text('1001.5'),
        currentLtv: 0.7,
        marginCallLtv: 0.75,
        liquidationLtv: 0.85,
        ltvToMarginCall: 0.93,
        collateralMayFall: 0.07,
        minutesToMarginCall: 'none',
        cures: [{ targetLtv: 0.6, repay: text('143'), addCollateralWorth: text('238') }],
        marks: [],
      }),
    ],
    balances: [{ asset: 'USDT', available: text('0') }],
    rules: [
      rule('near', 'position:42', {
        phase: 'firing',
        episode: 1,
        stage: 0,
        sinceMs: 500,
        reason: 'liquidationDistance 5.17 % is below 5.5 %',
        condition: 'liquidationDistance below 5.5 %',
      }),
    ],
    ...changes,
  });
}

/** A server over an in-memory state, whose accounts a test sets directly. */
export interface Fixture {
  readonly server: WebServer;
  readonly state: State;
  readonly views: Map<string, SourcedView>;
  readonly errors: unknown[];
  readonly topUps: TopUpOrder[];
  /** Number of reads of all or some accounts. */
  readonly reads: () => number;
  readonly set: (view: AccountView, acted?: number) => void;
  close(): Promise<void>;
}

export interface FixtureOptions {
  readonly web?: Partial<WebOptions>;
  readonly accounts?: readonly AccountView[];
  readonly offer?: TopUpOffer;
  readonly topUp?: (order: TopUpOrder) => Promise<TopUpOutcome>;
  readonly sources?: Partial<WebSources>;
  readonly process?: Partial<WebSources['process']>;
}

export async function startFixture({
  web = {},
  accounts = [accountView('desk-1'), accountView('desk-2', { worst: null, danger: 0.1, rules: [] })],
  offer,
  topUp = async ({ amount }) => ({ kind: 'made', url: `https://pay.example/${amount}`, uniqueId: 'bw-1' }),
  sources: own = {},
  process = {},
}: FixtureOptions = {}): Promise<Fixture> {
  const state = createMemoryState({ clock: systemClock });
  const views = new Map<string, SourcedView>(accounts.map((view) => [view.accountId, { view, acted: 0 }]));
  const errors: unknown[] = [];
  const topUps: TopUpOrder[] = [];
  let reads = 0;
  const sources: WebSources = {
    nowMs: () => systemClock.nowMs(),
    views: {
      ids: () => [...views.keys()],
      async read(ids = [...views.keys()]) {
        reads += 1;
        return ids.flatMap((id) => views.get(id) ?? []);
      },
      ruleIds: () => ['near', 'ltv'],
    },
    audit: state.audit,
    history: state.history,
    controls: state.controls,
    orders: {
      expected: () => ({ kind: 'taken' }),
      gapOf: () => 0.001,
      moneyOf: () => 'USDT',
      maxSlippage: 0.05,
    },
    process: {
      version: '1.2.3',
      instance: 'i0-test',
      startedAtMs: 1,
      readiness: async () => READY,
      degraded: () => ['notify'],
      reachesAll: () => true,
      goesAlone: false,
      polling: () => 1,
      processes: async () => [{ instance: 'i0-test', host: 'here', acts: true, confirmed: true }],
      queues: async () => [
        { queue: 'poll', waiting: 1, active: 2, delayed: 3, failed: 0, oldestMs: null, isPaused: false },
      ],
      ...process,
    },
    stress: async () => ({ scheduled: false, stored: null }),
    deposits: {
      offer: () => offer,
      link: async (order) => {
        topUps.push(order);
        return await topUp(order);
      },
    },
    ...own,
  };
  const page = await pageFolder();
  const server = await startWebServer({
    host: '127.0.0.1',
    port: 0,
    controlToken: CONTROL_TOKEN,
    metrics: {
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
      scrape: async () => [Buffer.from('a_metric 1\n')],
    },
    readiness: async () => READY,
    sources,
    page,
    onError: (error) => errors.push(error),
    onJobChanged: () => undefined,
    onRefused: () => undefined,
    ...web,
  });
  return {
    server,
    state,
    views,
    errors,
    topUps,
    reads: () => reads,
    set(view, acted = views.get(view.accountId)?.acted ?? 0) {
      views.set(view.accountId, { view, acted });
    },
    async close() {
      await server.close();
      state.close();
      await rm(page, { recursive: true });
    },
  };
}

const READY = { ready: true, checks: [{ name: 'redis', ok: true, why: 'it answers' }] };

async function pageFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-page-'));
  await writeFile(path.join(folder, 'index.html'), '<!doctype html><title>Breakwater</title>');
  await writeFile(path.join(folder, 'page.js'), 'export {};');
  return folder;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly json: unknown;
}

export interface Asking {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The local address that the request comes from. */
  readonly from?: string;
  /** Sent as JSON; a text is sent as it is. */
  readonly body?: unknown;
}

/** Over a separate connection, with any headers. */
export async function ask(
  server: Pick<WebServer, 'port'>,
  url: string,
  asking: Asking = {},
): Promise<Answer> {
  const { method = 'GET', token, headers = {}, from = '127.0.0.1', body } = asking;
  const sent = body === undefined || typeof body === 'string' ? (body ?? '') : JSON.stringify(body);
  const own: Record<string, string> = { connection: 'close' };
  if (token !== undefined) own['authorization'] = `Bearer ${token}`;
  if (sent !== '') {
    own['content-type'] = 'application/json';
    own['content-length'] = String(Buffer.byteLength(sent));
  }
  return await new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: '127.0.0.1',
        localAddress: from,
        port: server.port,
        path: url,
        method,
        headers: { ...own, ...headers },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: text,
            json: parsed(text),
          });
        });
      },
    );
    request.on('error', reject);
    request.end(sent);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The pause of an account, as the daemon's view source finds it. */
export async function pauseOf(state: State, accountId: string) {
  const { controls } = await state.store.read(accountId);
  return controlsInForce(controls, accountId, systemClock.nowMs()).pause;
}
