import { type Queue, Worker } from 'bullmq';
import { type RedisTarget, workerConnection } from '../../src/queues/connection.ts';
import { openQueues } from '../../src/queues/producers.ts';
import { startSimulatedExchange } from '../../src/simulator/start-simulated-exchange.ts';
import { startHealthServer } from '../../src/web/health.ts';
import { startPrivateRedis, targetOf } from '../support/redis.ts';
import { CONTROL_TOKEN, type Fixture, startFixture } from '../web/fixture.ts';
import { type JsonSchema, type Known, valueOf } from './from-schema.ts';
import { httpBoundary, type Operation, type Served } from './http.ts';
import { type Draw, oneOf } from './mutate.ts';

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
