import { type Queue, Worker } from 'bullmq';
import { createLinkDesk } from '../../src/app/web/link-desk.ts';
import type { LinkTarget } from '../../src/core/controls/signed-link.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { type RedisTarget, workerConnection } from '../../src/queues/connection.ts';
import { openQueues } from '../../src/queues/producers.ts';
import { startSimulatedExchange } from '../../src/simulator/start-simulated-exchange.ts';
import { createLinkSigner } from '../../src/state/links/link-signer.ts';
import { createMemoryLinkUses } from '../../src/state/links/link-uses.ts';
import { createMemoryState } from '../../src/state/state.ts';
import { startHealthServer } from '../../src/web/health.ts';
import { startPrivateRedis, targetOf } from '../support/redis.ts';
import { accountView, CONTROL_TOKEN, type Fixture, startFixture } from '../web/fixture.ts';
import { type JsonSchema, type Known, valueOf } from './from-schema.ts';
import { httpBoundary, type Operation, type Served } from './http.ts';
import { type Draw, mutatedJson, mutatedText, oneOf } from './mutate.ts';

/** Names that exist in the servers below. */
const PARAMETERS: Known = {
  // The web server's.
  id: ['desk-1', 'desk-1', '1'],
  accountId: ['desk-1'],
  accounts: ['desk-1', 'desk-1,desk-2'],
  ruleId: ['near'],
  subject: ['position:42', 'creditLine:USDT@1700000000'],
  seq: ['1'],
  fromMs: [1],
  forMs: [60_000],
  amount: ['10'],
  ticker: ['USD'],
  '*': ['page.js', 'static/css/main.css', '../package.json'],
  // The queues' page's.
  queueName: ['poll', 'act', 'notify'],
  activeQueue: ['poll', 'notify'],
  jobId: ['job-1', 'job-1', '1'],
  queueStatus: ['failed', 'completed'],
  // The control port's.
  account: ['account-1'],
  market: ['BTC_PERP'],
  name: ['crash'],
  index: ['0'],
  order: ['1'],
  loan: ['1'],
  token: ['x'],
};

/** A route in the server's notation: `/things/:id`. */
const pathIn = (route: string) => (draw: Draw) =>
  route.replaceAll(/:(\w+)|\*/g, (all, name: string | undefined) =>
    String(oneOf(draw, PARAMETERS[name ?? all] ?? ['x'])),
  );

interface Documented {
  readonly parameters: readonly { readonly in: string; readonly name: string; readonly schema: JsonSchema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
}

/** Every route of a server, with its own description of parameters and body. */
async function operationsOf({ server }: Fixture, api: JsonSchema, only = ''): Promise<readonly Operation[]> {
  const paths = api['paths'] as Readonly<Record<string, Readonly<Record<string, Documented>>>>;
  const routes = await server.routes();
  return routes
    .filter(({ url }) => url.startsWith(only))
    .map(({ method, url }) => {
      const documented = paths[url.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
      const asked = documented?.parameters.filter((parameter) => parameter.in === 'query') ?? [];
      const query = {
        type: 'object',
        properties: Object.fromEntries(asked.map(({ name, schema }) => [name, schema])),
      };
      const body = documented?.requestBody?.content['application/json']?.schema;
      return {
        method,
        path: (draw) =>
          `${pathIn(url)(draw)}${queryText(valueOf(draw, query, { root: api, known: PARAMETERS }))}`,
        body: body && ((draw) => valueOf(draw, body, { root: api, known: PARAMETERS })),
      };
    });
}

function queryText(query: unknown): string {
  const pairs = Object.entries(query as Readonly<Record<string, unknown>>);
  return pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${name}=${String(value)}`).join('&')}`;
}

async function apiOf({ server }: Fixture): Promise<JsonSchema> {
  return (await (await fetch(`${server.url}/api/v1/openapi.json`)).json()) as JsonSchema;
}

const served = (fixture: Fixture, operations: readonly Operation[]): Served => ({
  url: fixture.server.url,
  operations,
  token: CONTROL_TOKEN,
  nextError: () => fixture.errors.shift(),
  close: () => fixture.close(),
});

/** The daemon's server: page, API, metrics, health. */
export const WEB = httpBoundary('web', async () => {
  const fixture = await startFixture({ offer: { tickers: ['USD'], minAmount: null, maxAmount: null } });
  return served(fixture, await operationsOf(fixture, await apiOf(fixture)));
});

/** The queues' page, on real queues that each have a failed job. */
export const BOARD = httpBoundary('board', async () => {
  const redis = await startPrivateRedis();
  const prefix = redis.prefix.replace(/:$/, '');
  const target = targetOf(redis.url);
  const errors: unknown[] = [];
  const queues = openQueues({ target, prefix, onError: (_queue, error) => errors.push(error) });
  const fixture = await startFixture({ web: { queues: queues.all } });
  await failOne(queues.all, target);
  const own = served(fixture, await operationsOf(fixture, await apiOf(fixture), '/queues'));
  return {
    ...own,
    nextError: () => errors.shift() ?? own.nextError(),
    async close() {
      await own.close();
      await queues.close();
      await redis.stop();
    },
  };
});

/** Without a stack: the board shows the job's error. */
const FAILURE = Object.assign(new Error('it fails'), { stack: 'Error: it fails' });

async function failOne(queues: readonly Queue[], target: RedisTarget): Promise<void> {
  for (const queue of queues) {
    const failed = Promise.withResolvers<void>();
    const worker = new Worker(queue.name, async () => Promise.reject(FAILURE), {
      connection: workerConnection(target),
      prefix: queue.opts.prefix ?? '',
    });
    worker.on('failed', () => failed.resolve());
    await queue.add('test', {}, { jobId: 'job-1' });
    await failed.promise;
    await worker.close();
  }
}

/** The separate listener for probes. */
export const HEALTH = httpBoundary('health', async () => {
  const errors: unknown[] = [];
  const server = await startHealthServer({
    host: '127.0.0.1',
    port: 0,
    readiness: async () => ({ ready: true, checks: [] }),
    onError: (error) => errors.push(error),
  });
  return {
    url: server.url,
    operations: ['/healthz', '/readyz', '/'].map((path) => ({ method: 'GET', path: () => path })),
    nextError: () => errors.shift(),
    close: () => server.close(),
  };
});

/** The simulator's control port accepts what it documents, and answers anything else with what it expected. */
export const CONTROL = httpBoundary('control', async () => {
  const simulator = await startSimulatedExchange({ speed: 0, limits: [] });
  const { endpoints } = (await (await fetch(`${simulator.controlUrl}/`)).json()) as {
    readonly endpoints: readonly {
      readonly method: string;
      readonly path: string;
      readonly example?: unknown;
    }[];
  };
  return {
    url: simulator.controlUrl,
    operations: endpoints.map(({ method, path, example }) => ({
      method,
      path: pathIn(path),
      body: example === undefined ? undefined : () => example,
    })),
    nextError: () => simulator.internalErrors[0],
    close: () => simulator.close(),
  };
});

const SIGNER = createLinkSigner('an-operators-key-of-the-fuzzer-00000');
const OF_RULE = { ruleId: 'near', subject: 'position:42' } as const;
const TARGETS: readonly LinkTarget[] = [
  { kind: 'acknowledge', accountId: 'desk-1', ...OF_RULE, episode: 1, stage: 0 },
  { kind: 'acknowledgeAll', ...OF_RULE, saidAtMs: 8e12 },
  { kind: 'answer', accountId: 'desk-1', decision: 'approve', questionId: 'asked1', revision: 2 },
];

/** A valid link, one with changed contents sealed by somebody with the key, or random letters. */
function linkIn(draw: Draw): string {
  const link = { target: oneOf(draw, TARGETS), sentTo: 'ops', expiresAtMs: Date.now() + 60_000 };
  const kind = draw();
  const said = kind < 0.2 ? link : (JSON.parse(mutatedJson(draw, link)) as typeof link);
  const token = SIGNER.token(said);
  return `/links/${kind < 0.8 ? token : mutatedText(draw, token, 'abcXYZ019-_.=%')}`;
}

/**
 * Links in messages, with the desk behind them: a valid signature does not imply that this version wrote the contents.
 */
export const LINKS = httpBoundary('links', async () => {
  const state = createMemoryState({ clock: systemClock });
  const notice = { ...OF_RULE, market: 'BTC_PERP', severity: 'critical', episode: 1, stage: 0 } as const;
  const told = { ...notice, sinceMs: 1, toldAtMs: 1, acknowledged: null } as const;
  const accounts = ['desk-1', 'desk-2'].map((id) => accountView(id, { notices: [told] }));
  const links = createLinkDesk({
    signer: SIGNER,
    uses: createMemoryLinkUses(),
    redact: (text) => text,
    controls: state.controls,
    views: async (ids) => accounts.filter(({ accountId }) => ids?.includes(accountId) ?? true),
    clock: systemClock,
  });
  const fixture = await startFixture({ web: { links } });
  const form = (draw: Draw): string =>
    `author=${oneOf(draw, ['ann', '%00%0a', 'x'.repeat(5_000), '%E0%A4%A', ''])}`;
  return {
    ...served(fixture, [
      { method: 'GET', path: linkIn },
      { method: 'POST', path: linkIn, body: form, type: 'application/x-www-form-urlencoded' },
    ]),
    async close() {
      await fixture.close();
      state.close();
    },
  };
});
