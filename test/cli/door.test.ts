import { execFile } from 'node:child_process';
import { chmod, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { makeToken } from '../../src/web/token.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { move, ours, polls } from '../daemon/scene.ts';
import { eventually, troubles } from '../daemon/world.ts';
import { runCommandLine } from '../support/cli.ts';
import { freePort } from '../support/redis.ts';
import { expectEnd, expectOk, json, type OperatorWorld, openOperatorWorld, pauseIn } from './operator.ts';

/** Commands that change something are clients of a daemon: how they find it, and what they say if it does not do it. */

const BY = ['--author', 'ann', '--reason', 'looking into it'];
const FALLS = `  - id: falls
    on: position
    when: { liquidationDistance: { below: 30% } }
    keepFiringFor: 10m
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
/** Each says the true thing within this time. */
const SAID_MS = 3_000;
const CHANGES: readonly (readonly string[])[] = [
  ['pause', ...BY],
  ['resume', ...BY],
  ['silence', '--rule', 'far', '--for', '1h', ...BY],
  ['silence', '--rule', 'far', '--lift', ...BY],
  ['acknowledge', '--all', ...BY],
  ['approve', 'long', '4c604367-1', '--yes', ...BY],
  ['veto', 'long', '4c604367-1', ...BY],
];

/** A config whose doors are kept in a folder of its own. */
async function openKept(parts: Parameters<typeof openOperatorWorld>[0] = {}) {
  const world = await openOperatorWorld(parts);
  const folder = path.join(path.dirname(world.configFile), 'kept');
  const env = { ...world.env, STATE_DIRECTORY: folder };
  const doors = async () => await readdir(path.join(folder, 'door')).catch(() => []);
  return {
    world,
    start: (more: Parameters<OperatorWorld['start']>[0] = {}) => world.start({ env, ...more }),
    cli: (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
      world.cli(args, { env: { ...env, ...more } }),
    doors,
    fileOf: async () => path.join(folder, 'door', (await doors())[0] ?? ''),
  };
}

async function timed<T>(work: () => Promise<T>): Promise<T> {
  const fromMs = performance.now();
  const done = await work();
  expect(performance.now() - fromMs).toBeLessThan(SAID_MS);
  return done;
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfterTest(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a pause holds the daemon back, by what reaches the exchange, until it is lifted', async () => {
  const { world, start, cli } = await openKept({ accounts: { long: { rules: ['falls'] } }, rules: FALLS });
  await start();
  await polls(world, 'long');
  expectOk(await cli(['pause', ...BY]));
  expect(await world.state.controls.list()).toMatchObject([{ kind: 'pause', author: 'ann' }]);
  await fallUnseen(world);
  expectOk(await cli(['resume', ...BY]));
  await eventually(
    () => ours(world.simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
});

/** The rule fires, and nothing is sent. */
async function fallUnseen(world: OperatorWorld): Promise<void> {
  const fires = async () => {
    const { load } = await world.state.store.read('long');
    return load.kind === 'loaded' && JSON.stringify(load.account.documents).includes('firing');
  };
  for (let steps = 0; !(await fires()) && steps < 40; steps += 1) {
    move(world.simulator, -0.005);
    await polls(world, 'long', 1);
  }
  expect(await fires()).toBe(true);
  await polls(world, 'long', 5);
  expect(ours(world.simulator, 'long')).toEqual([]);
}

test('the file with the token is for its owner alone, and gone when the daemon has stopped', async () => {
  const { world, start, cli, doors, fileOf } = await openKept();
  const daemon = await start({ roles: ['web'] });
  const file = await fileOf();
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
  const written = JSON.parse(await readFile(file, 'utf8')) as { url: string; token: string };
  expect(written.url).toBe(daemon.webUrl());
  expect(JSON.stringify(world.events)).not.toContain(written.token);
  expectOk(await cli(['pause', ...BY]));
  // Somebody opened it to others.
  await chmod(file, 0o644);
  const open = await cli(['resume', ...BY]);
  expectEnd(open, EXIT.unreachable);
  expect(open.stderr).toMatch(
    /door\S+ is not used: it is not a file with a token that only its owner can read/,
  );
  expect(await world.state.controls.list()).toHaveLength(1);
  await daemon.stop('seen enough', 30_000);
  expect(await doors()).toEqual([]);
});

test('without a daemon every change says so at once, and changes nothing', async () => {
  const { world, start, cli } = await openKept();
  const daemon = await start({ roles: ['web'] });
  await daemon.stop('a night without a daemon', 30_000);
  for (const args of CHANGES) {
    const run = await timed(() => cli(args));
    expect([args, run.exitCode, run.stdout]).toEqual([args, EXIT.unreachable, '']);
    expect(run.stderr).toMatch(/^breakwater: nothing was \w+: no daemon answers on this machine\. /);
  }
  const pause = await cli(['pause', ...BY, '--url', `http://127.0.0.1:${await freePort()}`]);
  expectEnd(pause, EXIT.unreachable);
  expect(pause.stderr).toMatch(/no daemon answers at http:.* If none runs, nothing acts; .*run --paused/);
  expect(await world.state.controls.list()).toEqual([]);
});

test('`run --paused` starts a daemon that sends nothing until it is resumed', async () => {
  const { world, start, cli } = await openKept({ accounts: { long: { rules: ['falls'] } }, rules: FALLS });
  await start({ paused: true });
  await polls(world, 'long', 5);
  expect(await world.state.controls.list()).toMatchObject([{ kind: 'pause', accountId: null }]);
  await fallUnseen(world);
  expectOk(await cli(['resume', ...BY]));
  await eventually(
    () => ours(world.simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
});

test('a daemon that hangs is found out within 3 s, and nothing is sent to it', async () => {
  const { world, start, cli, fileOf } = await openKept();
  await start({ roles: ['web'] });
  const asked: string[] = [];
  const url = await listening(createServer(({ url: target = '' }) => void asked.push(target)));
  const written = JSON.parse(await readFile(await fileOf(), 'utf8')) as object;
  await writeFile(await fileOf(), JSON.stringify({ ...written, url }));
  const runs = await timed(() => Promise.all(CHANGES.map((args) => cli(args))));
  for (const run of runs) {
    expectEnd(run, EXIT.unreachable);
    expect(run.stderr).toMatch(
      /nothing was \w+: the daemon at http:\S+ does not answer\. If it hangs, end its/,
    );
  }
  expect(new Set(asked.map((target) => target.split('?')[0]))).toEqual(new Set(['/healthz']));
  expect(await world.state.controls.list()).toEqual([]);
});

test('a daemon that falls silent after it was asked leaves the outcome unknown', async () => {
  const { cli } = await openKept();
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/healthz') === true) response.end('ok\n');
    else request.socket.destroy();
  });
  const run = await timed(async () => cli(['pause', ...BY, '--url', await listening(server)]));
  expectEnd(run, EXIT.unknownOutcome);
  expect(run.stderr).toMatch(/does not answer any more\. Nobody knows whether it was done/);
});

test('a token that is wrong, or that may only look, is refused in words, and is never shown', async () => {
  const reader = makeToken();
  const { tokenHash } = makeToken();
  const web = `{ port: 0, users: { eve: { scopes: [read], tokenHash: "${reader.tokenHash}" }, ann: { scopes: [control], tokenHash: "${tokenHash}" } } }`;
  const { world, start, cli } = await openKept({ web });
  const daemon = await start({ roles: ['web'] });
  const url = daemon.webUrl() ?? '';
  const { token: wrong } = makeToken();
  for (const args of CHANGES) {
    const run = await timed(() => cli([...args, '--token', 'env:WRONG'], { WRONG: wrong }));
    expectEnd(run, EXIT.failed);
    expect(run.stderr).toMatch(
      /nothing was \w+: the daemon at \S+ does not know this token: it is wrong, or/,
    );
    expect(run.stderr).not.toContain(wrong);
  }
  const looks = await cli(['pause', ...BY], { BREAKWATER_TOKEN: reader.token });
  expectEnd(looks, EXIT.failed);
  expect(looks.stderr).toMatch(/eve may read; this needs the scope control/);
  const place = ['--url', url, '--config', path.join(path.dirname(world.configFile), 'none.yaml')];
  const none = await runCommandLine(['pause', ...BY, ...place]);
  expectEnd(none, EXIT.failed);
  expect(none.stderr).toContain('asks for a token');
  const shown = await cli(['pause', ...BY, '--token', wrong]);
  expectEnd(shown, EXIT.usage);
  expect(shown.stderr).toMatch(/every user of this machine can read a token on a command line/);
  expect(shown.stderr).not.toContain(wrong);
  expect(await world.state.controls.list()).toEqual([]);
});

test('a person with a token of their own needs no config, and is who the token says', async () => {
  const ann = makeToken();
  const web = `{ port: 0, users: { ann: { scopes: [control], tokenHash: "${ann.tokenHash}" } } }`;
  const { world, start } = await openKept({ web });
  const daemon = await start({ roles: ['web'] });
  const place = ['--url', daemon.webUrl() ?? '', '--token', 'env:TOKEN', '--json'];
  const run = await runCommandLine(['pause', '--author', 'bob', '--reason', 'x', ...place], {
    env: { TOKEN: ann.token },
  });
  expectOk(run);
  expect(json(run)['author']).toBe('ann (127.0.0.1)');
  expect(await world.state.controls.list()).toHaveLength(1);
});

test('the local token opens nothing to the page or to others: without a control token it stays off', async () => {
  const { start, fileOf } = await openKept();
  const daemon = await start({ roles: ['web'] });
  const base = `${daemon.webUrl()}/api/v1`;
  const { token } = JSON.parse(await readFile(await fileOf(), 'utf8')) as { token: string };
  const authorization = `Bearer ${token}`;
  const overview = (await (await fetch(`${base}/overview`)).json()) as { may: object };
  expect(overview.may).toEqual({ control: false, operate: false, topUp: false });
  const post = async (headers: Readonly<Record<string, string>>) => {
    const body = JSON.stringify({ accountId: null, author: 'x', reason: 'x', forMs: null });
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
    return (await fetch(`${base}/pauses`, init)).status;
  };
  expect(await post({})).toBe(403);
  expect(await post({ authorization, origin: 'http://evil.example' })).toBe(403);
  expect(await post({ authorization, 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await post({ authorization })).toBe(201);
});

test('what a proxy on this machine passes on does not come from this machine', async () => {
  const web = '{ port: 0, trustedProxies: [127.0.0.1] }';
  const { start, fileOf } = await openKept({ web });
  const daemon = await start({ roles: ['web'] });
  const { token } = JSON.parse(await readFile(await fileOf(), 'utf8')) as { token: string };
  const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': '203.0.113.7' };
  const body = JSON.stringify({ author: 'x', reason: 'x' });
  const init = { method: 'DELETE', headers: { ...headers, 'content-type': 'application/json' }, body };
  expect((await fetch(`${daemon.webUrl()}/api/v1/pauses/x`, init)).status).toBe(403);
});

test('a daemon that starts anew writes a new token, and the one before is worth nothing', async () => {
  const { world, start, cli, fileOf } = await openKept();
  const first = await start({ roles: ['web'] });
  const before = await readFile(await fileOf(), 'utf8');
  await first.stop('a restart', 30_000);
  const second = await start({ roles: ['web'] });
  const after = JSON.parse(await readFile(await fileOf(), 'utf8')) as { url: string; token: string };
  const { token } = JSON.parse(before) as { token: string };
  expect(after.token).not.toBe(token);
  const old = await cli(['pause', ...BY, '--url', second.webUrl() ?? '', '--token', 'env:OLD'], {
    OLD: token,
  });
  expectEnd(old, EXIT.failed);
  expectOk(await cli(['pause', ...BY]));
  await eventually(
    async () => (await world.state.controls.list()).length === 1,
    'a pause',
    () => troubles(world.events),
  );
});

test('what another user put in the way is stepped over, and what took the port is told nothing', async () => {
  const { world, start, cli, fileOf } = await openKept();
  const asked: string[] = [];
  const squatter = createServer((request, response) => {
    asked.push(`${request.method} ${request.url?.split('?')[0]} ${request.headers.authorization ?? ''}`);
    response.setHeader('content-type', 'application/json');
    response.end(request.url?.startsWith('/healthz') === true ? 'ok\n' : '{}');
  });
  const url = await listening(squatter);
  await start({ roles: ['web'], ordinal: 1 });
  const live = await fileOf();
  // A daemon that was killed left it behind, and its port has another owner now.
  const stale = live.replace(/-1\.json$/, '-0.json');
  await writeFile(stale, JSON.stringify({ url, token: makeToken().token }), { mode: 0o600 });
  expectOk(await cli(['pause', ...BY]));
  expect(await world.state.controls.list()).toHaveLength(1);
  // A pipe in place of a file, and a file for all.
  await rm(stale);
  await promisify(execFile)('mkfifo', ['-m', '600', stale]);
  expectOk(await timed(() => cli(['resume', ...BY])));
  await rm(stale);
  await writeFile(stale, 'for all', { mode: 0o644 });
  const warned = await cli(['pause', ...BY]);
  expectOk(warned);
  expect(warned.stderr).toContain('is not used');
  await writeFile(live, JSON.stringify({ url, token: makeToken().token }), { mode: 0o600 });
  const forged = await cli(['resume', ...BY]);
  expectEnd(forged, EXIT.unreachable);
  expect(forged.stderr).toMatch(/nothing was lifted: what answers at \S+ does not prove to be the daemon/);
  expect(new Set(asked)).toEqual(new Set(['GET /healthz ']));
  expect(await world.state.controls.list()).toHaveLength(1);
});

test('without what the daemon wrote down, the control token of the config goes to nobody unproven', async () => {
  const tokens: (string | undefined)[] = [];
  const squatter = createServer((request, response) => {
    tokens.push(request.headers.authorization);
    response.end('ok\n');
  });
  const url = await listening(squatter);
  const web = `{ port: ${new URL(url).port}, controlToken: { env: CONTROL } }`;
  const { cli } = await openKept({ web });
  const run = await cli(['pause', ...BY], { CONTROL: 'a-control-token-of-this-test' });
  expectEnd(run, EXIT.unreachable);
  expect(run.stderr).toContain('does not prove to be the daemon of this config');
  expect(tokens).toEqual([undefined]);
});

test('a resume that cannot look around afterwards still says that it lifted', async () => {
  const { world, start, cli, fileOf } = await openKept();
  const daemon = await start({ roles: ['web'] });
  await pauseIn(world, null);
  const real = JSON.parse(await readFile(await fileOf(), 'utf8')) as { url: string; token: string };
  let isLifted = false;
  // A proxy that loses every answer after the lift.
  const proxy = createServer((request, response) => {
    const { method = 'GET', url = '' } = request;
    if (isLifted && !url.startsWith('/healthz')) return request.socket.destroy();
    void (async () => {
      const body = await text(request);
      const answered = await fetch(`${daemon.webUrl()}${url}`, {
        method,
        headers: { authorization: `Bearer ${real.token}`, 'content-type': 'application/json' },
        ...(method === 'GET' ? {} : { body }),
      });
      isLifted = method === 'DELETE';
      response.writeHead(answered.status);
      response.end(await answered.text());
    })();
    return undefined;
  });
  const run = await cli(['resume', ...BY, '--url', await listening(proxy)]);
  expect(run.stdout).toBe('Lifted: pause of every account.\n');
  expect(run.stderr).toContain('What else is paused cannot be read');
  expect([run.exitCode, await world.state.controls.list()]).toEqual([EXIT.failed, []]);
});
