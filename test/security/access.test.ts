import { type Queue, Worker } from 'bullmq';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { workerConnection } from '../../src/queues/connection.ts';
import { openQueues, type Queues } from '../../src/queues/producers.ts';
import { API_ROUTES } from '../../src/web/api/openapi.ts';
import { errorReply } from '../../src/web/api/schemas.ts';
import type { JobChange } from '../../src/web/board.ts';
import type { ServedRoute } from '../../src/web/server.ts';
import { type PrivateRedis, startPrivateRedis, targetOf } from '../support/redis.ts';
import { FULL, sliceAt } from '../support/slice.ts';
import {
  type Answer,
  type Asking,
  ask,
  CONTROL_TOKEN,
  type Fixture,
  READ_TOKEN,
  startFixture,
} from '../web/fixture.ts';

/** Refusals of every route. The server lists its own routes, so that a new one is tested automatically. */

let redis: PrivateRedis;
let queues: Queues;
/** With both tokens; with the control token only; with none. */
let guarded: Fixture;
let local: Fixture;
let readOnly: Fixture;
let routes: readonly ServedRoute[];
const changes: JobChange[] = [];

beforeAll(async () => {
  redis = await startPrivateRedis();
  queues = openQueues({
    target: targetOf(redis.url),
    prefix: redis.prefix.replace(/:$/, ''),
    onError: () => undefined,
  });
  await Promise.all(queues.all.map((queue) => queue.waitUntilReady()));
  const web = { queues: queues.all, onJobChanged: (change: JobChange) => changes.push(change) };
  guarded = await startFixture({ web: { ...web, token: READ_TOKEN, names: ['breakwater.internal'] } });
  local = await startFixture({ web });
  readOnly = await startFixture({ web: { ...web, controlToken: undefined } });
  routes = await guarded.server.routes();
});

afterAll(async () => {
  for (const fixture of [guarded, local, readOnly]) await fixture.close();
  await queues.close();
  await redis.stop();
});

/** A URL that leads to the route. */
function urlOf({ url }: ServedRoute): string {
  return url
    .replace('*', url.startsWith('/assets') ? 'page.js' : 'css/main.css')
    .replaceAll(
      /:(\w+)/g,
      (_whole, name: string) => ({ id: 'desk-1', seq: '1', queueName: 'poll' })[name] ?? 'x',
    );
}

/** Queries and bodies that the API accepts, so that only access decides. */
const TAKEN: Readonly<Record<string, string>> = { getHistory: '?subject=account' };
const BODIES: Readonly<Record<string, unknown>> = {
  pause: { accountId: 'desk-1', forMs: 60_000, author: 'a', reason: 'r' },
  silence: { accountId: 'desk-1', ruleId: 'near', subject: null, forMs: 60_000, author: 'a', reason: 'r' },
  resume: { author: 'a', reason: 'r' },
  liftSilence: { author: 'a', reason: 'r' },
  acknowledge: { accountId: 'desk-1', ruleId: 'near', author: 'a' },
  liftAcknowledgement: { author: 'a', reason: 'r' },
  topUp: { subject: 'creditLine:USDT@1', amount: '1' },
};

function operationOf({ method, url }: ServedRoute) {
  return API_ROUTES.find((route) => route.path === url && route.method === method);
}

async function call(fixture: Fixture, route: ServedRoute, asking: Asking = {}): Promise<Answer> {
  const operation = operationOf(route);
  const body = operation === undefined ? undefined : BODIES[operation.id];
  const query = TAKEN[operation?.id ?? ''] ?? '';
  return await ask(fixture.server, `${urlOf(route)}${query}`, {
    method: route.method,
    from: nextAddress(),
    ...(body === undefined ? {} : { body }),
    ...asking,
  });
}

let asked = 0;

/** Many wrong tokens from one address are slowed down, so each request uses another address. */
function nextAddress(): string {
  asked += 1;
  return `127.1.${asked >> 8}.${asked & 255}`;
}

/** By its scope: includes routes that only read but need a control scope. */
const isChange = ({ access }: ServedRoute): boolean => access === 'control' || access === 'operate';

/**
 * One of `all` for a route, others for the next routes and with another seed of the run: among all routes each is used
 * many times. `FULL=1`: all for each route.
 */
function turnOf<T>(all: readonly T[], route: ServedRoute): readonly T[] {
  return FULL ? all : sliceAt(all, all.length, inject('fastCheckSeed') + routes.indexOf(route));
}

/** A route without an end is requested only where it is refused. */
const ends = ({ url }: ServedRoute): boolean => url !== '/api/v1/events';

async function each(check: (route: ServedRoute) => Promise<unknown>): Promise<void> {
  for (const route of routes) {
    const problem = await check(route).then(
      () => undefined,
      (error: unknown) => String(error),
    );
    expect({ route: `${route.method} ${route.url}`, problem }).toEqual({
      route: `${route.method} ${route.url}`,
      problem: undefined,
    });
  }
}

describe('the routes', () => {
  test('match the known list: open ones reveal nothing, changes need control', () => {
    const of = (access: string) =>
      routes
        .filter((route) => route.access === access && !route.url.startsWith('/queues'))
        .map(({ method, url }) => `${method} ${url}`);
    expect(
      of('open')
        .filter((name) => name.startsWith('GET'))
        .sort(),
    ).toEqual(
      [
        '/',
        '/accounts/:id',
        '/accounts/:id/credit-lines/:subject',
        '/accounts/:id/positions/:positionId',
        '/assets/*',
        '/assets/lit-html/directive-helpers.js',
        '/assets/lit-html/directive.js',
        '/assets/lit-html/directives/guard.js',
        '/assets/lit-html/directives/repeat.js',
        '/assets/lit-html/lit-html.js',
        '/assets/uplot.css',
        '/assets/uplot.iife.js',
        '/assets/uplot.js',
        '/healthz',
        '/readyz',
      ].map((url) => `GET ${url}`),
    );
    expect(of('control').sort()).toEqual([
      'DELETE /api/v1/acknowledgements/:id',
      'DELETE /api/v1/pauses/:id',
      'DELETE /api/v1/silences/:id',
      'GET /api/v1/processes',
      'HEAD /api/v1/processes',
      'POST /api/v1/accounts/:id/answers',
      'POST /api/v1/acknowledgements',
      'POST /api/v1/pauses',
      'POST /api/v1/silences',
    ]);
    expect(of('operate').sort()).toEqual([
      'DELETE /api/v1/accounts/:id/orders/:orderId',
      'POST /api/v1/accounts/:id/audit/prunings',
      'POST /api/v1/accounts/:id/orders',
      'POST /api/v1/accounts/:id/orders/preview',
      'POST /api/v1/accounts/:id/top-ups',
    ]);
    const unsafe = routes.filter(
      ({ method, access }) =>
        method !== 'GET' && method !== 'HEAD' && access !== 'control' && access !== 'operate',
    );
    expect(unsafe.map(({ method, url }) => `${method} ${url}`)).toEqual([]);
    expect(routes.length).toBeGreaterThan(60);
  });
});

describe('every route', () => {
  test("answers only under the server's own names", async () => {
    await each(async (route) => {
      for (const host of turnOf(['evil.example', 'localhost.evil.example', '10.0.0.1'], route)) {
        const answer = await call(guarded, route, { token: CONTROL_TOKEN, headers: { host } });
        expect([host, answer.status]).toEqual([host, 403]);
      }
      if (!ends(route)) return;
      const answer = await call(guarded, route, {
        token: CONTROL_TOKEN,
        headers: { host: 'breakwater.internal:80' },
      });
      expect([401, 403]).not.toContain(answer.status);
    });
  });

  test('that is not open requires the exact token', async () => {
    const wrong = [
      '',
      'x',
      READ_TOKEN.slice(1),
      `${READ_TOKEN}x`,
      READ_TOKEN.toUpperCase(),
      `${READ_TOKEN.slice(0, -1)}y`,
      'é'.repeat(20),
      'undefined',
      'null',
    ];
    await each(async (route) => {
      for (const token of [undefined, ...turnOf(wrong, route)]) {
        const headers = token === undefined ? {} : { authorization: `Bearer ${encodeURI(token)}` };
        const answer = await call(guarded, route, { headers });
        expect([token, answer.status === 401]).toEqual([token, route.access !== 'open']);
        if (route.access !== 'open') expect(answer.headers['www-authenticate']).toMatch(/^(Bearer|Basic )/);
      }
    });
  });

  test('that only reads accepts either token, and one that changes only the control token', async () => {
    await each(async (route) => {
      const asReader = await call(guarded, route, { token: READ_TOKEN, headers: abort(route) });
      expect(asReader.status === 401).toBe(isChange(route));
      if (!ends(route)) return;
      const asController = await call(guarded, route, { token: CONTROL_TOKEN });
      expect([401, 403]).not.toContain(asController.status);
    });
  });

  test('accepts a token only in its header: not in the URL, a cookie, or as Basic outside of /queues', async () => {
    await each(async (route) => {
      if (route.access === 'open') return;
      const url = urlOf(route);
      const basic = `Basic ${Buffer.from(`any:${CONTROL_TOKEN}`).toString('base64')}`;
      const tries: [string, Record<string, string>][] = [
        [`${url}?token=${CONTROL_TOKEN}&access_token=${CONTROL_TOKEN}`, {}],
        [url, { cookie: `token=${CONTROL_TOKEN}` }],
        [url, { 'x-token': CONTROL_TOKEN, 'proxy-authorization': `Bearer ${CONTROL_TOKEN}` }],
        [url, { authorization: CONTROL_TOKEN }],
        ...(url.startsWith('/queues')
          ? []
          : [[url, { authorization: basic }] as [string, Record<string, string>]]),
      ];
      for (const [target, headers] of turnOf(tries, route)) {
        expect((await ask(guarded.server, target, { method: route.method, headers })).status).toBe(401);
      }
    });
  });

  test('that is not open is refused to pages of other sites and of other ports of this machine', async () => {
    const foreign: Readonly<Record<string, string>>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://localhost:1' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    ];
    await each(async (route) => {
      if (route.access === 'open') return;
      for (const headers of turnOf(foreign, route)) {
        expect((await call(local, route, { token: CONTROL_TOKEN, headers })).status).toBe(403);
      }
      if (!ends(route)) return;
      const own = {
        origin: `http://localhost:${local.server.port}`,
        host: `localhost:${local.server.port}`,
        'sec-fetch-site': 'same-origin',
      };
      expect([401, 403]).not.toContain(
        (await call(local, route, { token: CONTROL_TOKEN, headers: own })).status,
      );
    });
  });

  test('that changes something does nothing while no control token is set', async () => {
    await each(async (route) => {
      if (!isChange(route)) return;
      const answer = await call(readOnly, route, { token: CONTROL_TOKEN });
      expect(answer.status).toBe(403);
      if (route.method !== 'HEAD') expect(answer.json).toMatchObject({ error: { code: 'controlOff' } });
    });
    expect(await readOnly.state.controls.list()).toEqual([]);
  });

  test('sets the browser security headers, also when it refuses', async () => {
    await each(async (route) => {
      const answers = [
        await call(guarded, route, {}),
        await call(guarded, route, { headers: { host: 'evil.example' } }),
      ];
      if (ends(route)) answers.push(await call(guarded, route, { token: CONTROL_TOKEN }));
      for (const { headers } of answers) {
        expect(headers).toMatchObject({
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'referrer-policy': 'same-origin',
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-resource-policy': 'same-origin',
        });
        const policy = String(headers['content-security-policy']);
        expect(policy).toMatch(/^default-src 'none'; /);
        expect(policy).toContain("frame-ancestors 'none'");
        expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe/);
        expect(headers).not.toHaveProperty('access-control-allow-origin');
        expect(headers).not.toHaveProperty('set-cookie');
        expect(headers).not.toHaveProperty('server');
        expect(headers).not.toHaveProperty('x-powered-by');
      }
    });
  });

  test('answers its own methods only', async () => {
    const known = Map.groupBy(routes, ({ url }) => url);
    for (const [url, of] of known) {
      const methods = new Set(of.map(({ method }) => method));
      const [route] = of;
      if (route === undefined) continue;
      for (const method of turnOf(
        ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'],
        route,
      )) {
        if (methods.has(method) || overlaps(method, url)) continue;
        const answer = await ask(guarded.server, urlOf(route), { method, token: CONTROL_TOKEN });
        expect([`${method} ${url}`, answer.status]).toEqual([`${method} ${url}`, 404]);
      }
    }
  });

  test('changes nothing when read', async () => {
    await each(async (route) => {
      if (!ends(route) || (route.method !== 'GET' && route.method !== 'HEAD')) return;
      const answer = await call(local, route, { token: CONTROL_TOKEN });
      expect(answer.status).toBeLessThan(500);
    });
    expect(local.topUps).toEqual([]);
    expect(
      (await local.state.audit.tail('desk-1', 10)).filter(
        ({ record }) => !['control', 'epochStarted'].includes(record.content.kind),
      ),
    ).toEqual([]);
  });

  test('accepts a body only as JSON', async () => {
    await each(async (route) => {
      const operation = operationOf(route);
      if (operation?.body === undefined) return;
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/json5',
      ]) {
        const answer = await call(guarded, route, {
          token: CONTROL_TOKEN,
          headers: { 'content-type': type },
        });
        expect([type, answer.status, answer.json]).toMatchObject([
          type,
          415,
          { error: { code: 'contentType' } },
        ]);
      }
      const large = await call(guarded, route, {
        token: CONTROL_TOKEN,
        body: { reason: 'x'.repeat(20_000) },
      });
      expect([large.status, large.json]).toMatchObject([413, { error: { code: 'tooLarge' } }]);
      const broken = await call(guarded, route, { token: CONTROL_TOKEN, body: '{"a":' });
      expect(broken.status).toBe(400);
      expect(errorReply.safeParse(broken.json).success).toBe(true);
    });
  });
});

/** The queues' page has parameters where other routes have words. */
function overlaps(method: string, url: string): boolean {
  const pattern = (of: string): RegExp =>
    new RegExp(`^${of.replaceAll(/:\w+/g, '[^/]+').replace('*', '.*')}$`);
  return routes.some(
    (other) => other.method === method && pattern(other.url).test(url.replaceAll(/:(\w+)/g, 'x')),
  );
}

/** A listener is refused or never ends: only refusals matter here. */
function abort(route: ServedRoute): Readonly<Record<string, string>> {
  return ends(route) ? {} : { 'sec-fetch-site': 'cross-site' };
}

describe('the page', () => {
  test('accepts links from elsewhere, and its answers may not be used by other sites', async () => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    const page = await ask(guarded.server, '/accounts/desk-1/positions/42', { headers });
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
        "require-trusted-types-for 'script'; trusted-types lit-html",
    );
  });

  test.each([
    { url: '/', type: 'text/html; charset=utf-8' },
    { url: '/assets/page.js', type: 'text/javascript; charset=utf-8' },
    { url: '/assets/uplot.css', type: 'text/css; charset=utf-8' },
  ])('$url is sent once to a browser that caches it', async ({ url, type }) => {
    const first = await ask(guarded.server, url);
    expect([first.status, first.headers['content-type'], first.headers['cache-control']]).toEqual([
      200,
      type,
      'no-cache',
    ]);
    const { etag } = first.headers;
    // As a proxy names a compressed version.
    const again = await ask(guarded.server, url, {
      headers: { 'if-none-match': `"other", W/${String(etag)}` },
    });
    expect([again.status, again.body, again.headers['etag']]).toEqual([304, '', etag]);
    const changed = await ask(guarded.server, url, { headers: { 'if-none-match': '"other"' } });
    expect([changed.status, changed.body]).toEqual([200, first.body]);
    const head = await ask(guarded.server, url, { method: 'HEAD' });
    expect([head.status, head.body, head.headers['etag']]).toEqual([200, '', etag]);
  });

  test.each([
    '/assets/nowhere.js',
    '/assets/../../package.json',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/assets/..%2fserver.ts',
    '/assets/contract.d.ts',
    '/assets/.env',
    '/assets/',
    '/assets//etc/passwd',
    '/queues/static/../../package.json',
    '/queues/static/%2e%2e/%2e%2e/index.ejs',
  ])('%s is not there', async (url) => {
    expect([400, 403, 404]).toContain((await ask(guarded.server, url, { token: CONTROL_TOKEN })).status);
  });
});

describe('the queues’ page', () => {
  const basic = (token: string) => ({
    authorization: `Basic ${Buffer.from(`any:${token}`).toString('base64')}`,
  });

  test('is shown after the browser asked for the token, and runs only its own scripts', async () => {
    const refused = await ask(guarded.server, '/queues/');
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([
      401,
      'Basic realm="Breakwater queues", charset="UTF-8"',
    ]);
    const page = await ask(guarded.server, '/queues/', { headers: basic(READ_TOKEN) });
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const listed = await ask(guarded.server, '/queues/api/queues', { headers: basic(READ_TOKEN) });
    expect(listed.json).toMatchObject({
      queues: [{ readOnlyMode: true }, { readOnlyMode: true }, { readOnlyMode: true }],
    });
  });

  test('is shown where no read token is set, and a wrong token counts once', async () => {
    const refusals: string[] = [];
    const open = await startFixture({
      web: { queues: queues.all, onRefused: (why) => refusals.push(why) },
    });
    onTestFinished(() => open.close());
    const page = await ask(open.server, '/queues/', { headers: basic('wrong'), from: nextAddress() });
    expect([page.status, refusals]).toEqual([200, ['wrongToken']]);
  });

  test('returns at most as many jobs as its page offers, for any query', async () => {
    const notify = queues.all.find(({ name }) => name === 'notify');
    if (notify === undefined) throw new Error('a queue');
    const data = { name: 'x', data: {} };
    await notify.addBulk(Array.from({ length: 320 }, () => data));
    try {
      const askFor = async (query: string, prefix = '/queues', token = READ_TOKEN) =>
        await ask(guarded.server, `${prefix}/api/queues?activeQueue=notify&status=waiting&${query}`, {
          headers: basic(token),
        });
      const shown = async (query: string): Promise<unknown> => {
        const { json } = await askFor(query);
        const found = json as { queues: readonly { name: string; jobs: readonly unknown[] }[] };
        return found.queues.find(({ name }) => name === 'notify')?.jobs.length;
      };
      expect(await shown('')).toBe(10);
      expect(await shown('jobsPerPage=300')).toBe(300);
      expect(await shown('jobsPerPage=300&page=2')).toBe(20);
      for (const many of ['301', '1e9', '1e999', 'Infinity', '0x7fffffff', '%20400']) {
        for (const { status, json } of [
          await askFor(`jobsPerPage=${many}`),
          await askFor(`jobsPerPage=${many}`, '/queues/control', CONTROL_TOKEN),
        ]) {
          expect([many, status]).toEqual([many, 400]);
          expect(json).toEqual({
            error: { code: 'badRequest', message: 'jobsPerPage: must be at most 300' },
          });
        }
      }
      expect((await askFor('page=1e300')).status).toBe(400);
      // Refused by the board itself.
      for (const odd of ['jobsPerPage=-1', 'jobsPerPage=400&jobsPerPage=400', 'jobsPerPage[]=400']) {
        const { status, json } = await askFor(odd);
        const { queues: listed = [] } = json as { queues?: readonly { jobs: readonly unknown[] }[] };
        expect([odd, status < 500, listed.some(({ jobs }) => jobs.length > 10)]).toEqual([odd, true, false]);
      }
    } finally {
      await notify.obliterate({ force: true });
    }
  });

  test('repeats and removes failed jobs with the control token, and changes nothing else', async () => {
    const notify = queues.all.find(({ name }) => name === 'notify');
    if (notify === undefined) throw new Error('a queue');
    const change = async (board: string, what: string, headers: Readonly<Record<string, string>>) =>
      (await ask(guarded.server, `${board}/api/queues/notify/${what}`, { method: 'PUT', headers })).status;
    const control = basic(CONTROL_TOKEN);
    for (const headers of [basic(READ_TOKEN), {}])
      expect(await change('/queues/control', 'pause', headers)).toBe(401);
    expect(await change('/queues', 'pause', control)).toBe(405);
    for (const what of [
      'pause',
      'empty',
      'obliterate',
      'promote',
      'clean/failed',
      'retry/failed',
      'concurrency',
    ])
      expect([what, await change('/queues/control', what, control)]).toEqual([what, 405]);
    expect(await notify.isPaused()).toBe(false);
    const waiting = await notify.add('test', {});
    expect(await change('/queues/control', `${waiting.id}/clean`, control)).toBe(409);
    const failed = await failedJob(notify);
    expect(
      await change('/queues/control', `${failed}/clean`, { ...control, origin: 'https://evil.example' }),
    ).toBe(403);
    expect(await change('/queues', `${failed}/clean`, control)).toBe(405);
    expect(await notify.getJobState(failed)).toBe('failed');
    expect(await change('/queues/control', `${failed}/retry`, control)).toBe(204);
    expect(await notify.getJobState(failed)).toBe('waiting');
    await notify.obliterate({ force: true });
    const other = await failedJob(notify);
    expect(await change('/queues/control', `${other}/clean`, control)).toBe(204);
    expect(await notify.getJobState(other)).toBe('unknown');
    const by = { queue: 'notify', author: 'somebody (control token, 127.0.0.1)' };
    await expect
      .poll(() => changes)
      .toEqual([
        { ...by, job: failed, change: 'repeated' },
        { ...by, job: other, change: 'removed' },
      ]);
    await notify.obliterate({ force: true });
  });
});

/** Id of the job. */
async function failedJob(queue: Queue): Promise<string> {
  const work = async (): Promise<never> => Promise.reject(new Error('it fails'));
  const worker = new Worker(queue.name, work, {
    connection: workerConnection(targetOf(redis.url)),
    prefix: queue.opts.prefix ?? '',
  });
  try {
    const { id = '' } = await queue.add('test', {});
    await expect.poll(() => queue.getJobState(id)).toBe('failed');
    return id;
  } finally {
    await worker.close();
  }
}
