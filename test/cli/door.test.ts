import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, stat, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
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

/** A config whose daemons have their sockets in a folder of its own. */
async function openKept(parts: Parameters<typeof openOperatorWorld>[0] = {}) {
  const world = await openOperatorWorld(parts);
  const above = path.join(path.dirname(world.configFile), 'run');
  const env = { ...world.env, RUNTIME_DIRECTORY: above };
  const folder = path.join(above, 'door');
  const sockets = async () => (await readdir(folder).catch(() => [])).map((name) => path.join(folder, name));
  return {
    world,
    folder,
    sockets,
    start: (more: Parameters<OperatorWorld['start']>[0] = {}) => world.start({ env, ...more }),
    cli: (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
      world.cli(args, { env: { ...env, ...more } }),
  };
}

/** Where a daemon with this config has had its socket. */
async function freedSocket({ start, sockets }: Awaited<ReturnType<typeof openKept>>): Promise<string> {
  const daemon = await start({ roles: ['web'], ordinal: 1 });
  const [file = ''] = await sockets();
  await daemon.stop('its place is free', 30_000);
  return file;
}

async function timed<T>(work: () => Promise<T>): Promise<T> {
  const fromMs = performance.now();
  const done = await work();
  expect(performance.now() - fromMs).toBeLessThan(SAID_MS);
  return done;
}

/** At a socket, or at a port. */
async function listening(handler: RequestListener, file?: string): Promise<string> {
  const server = createServer(handler);
  await new Promise<void>((resolve) =>
    file === undefined ? server.listen(0, '127.0.0.1', resolve) : server.listen(file, resolve),
  );
  closeAfterTest(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return file ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a pause holds the daemon back, by what reaches the exchange, until it is lifted', async () => {
  const { world, start, cli } = await openKept({ accounts: { long: { rules: ['falls'] } }, rules: FALLS });
  await start();
  await polls(world, 'long');
  const paused = await cli(['pause', ...BY, '--json']);
  expectOk(paused);
  expect(json(paused)['processes']).toEqual([expect.objectContaining({ acts: true, confirmed: true })]);
  expect(await world.state.controls.list()).toMatchObject([{ kind: 'pause', author: 'ann (this machine)' }]);
  await fallUnseen(world);
  expect((await cli(['status'])).stdout).toContain('paused by ann (this machine)');
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

test('a process without the role web answers, at a socket for its user alone, gone when it has stopped', async () => {
  const { world, start, cli, sockets, folder } = await openKept();
  const daemon = await start({ roles: ['poll', 'act'] });
  expect(daemon.webUrl()).toBeUndefined();
  const [file = ''] = await sockets();
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expectOk(await cli(['pause', ...BY]));
  await chmod(folder, 0o755);
  const open = await cli(['resume', ...BY]);
  expectEnd(open, EXIT.unreachable);
  expect(open.stderr).toMatch(/nothing was lifted: .*\/door is not used: it belongs to another user/);
  await chmod(folder, 0o700);
  expect(await world.state.controls.list()).toHaveLength(1);
  await daemon.stop('seen enough', 30_000);
  expect(await sockets()).toEqual([]);
});

test('without a daemon every change says so at once, and changes nothing', async () => {
  const { world, cli } = await openKept();
  for (const args of CHANGES) {
    const run = await timed(() => cli(args));
    expect([args, run.exitCode, run.stdout]).toEqual([args, EXIT.unreachable, '']);
    expect(run.stderr).toMatch(
      /^breakwater: nothing was \w+: no daemon with this config runs that this user/,
    );
  }
  const pause = await cli(['pause', ...BY, '--url', `http://127.0.0.1:${await freePort()}`]);
  expectEnd(pause, EXIT.unreachable);
  expect(pause.stderr).toMatch(/no daemon answers at http:.* What does not run cannot act; .*run --paused/);
  expect(await world.state.controls.list()).toEqual([]);
});

test('`run --paused` sends nothing until it is resumed, and keeps a pause that exists', async () => {
  const { world, start, cli } = await openKept({ accounts: { long: { rules: ['falls'] } }, rules: FALLS });
  const first = await start({ paused: true });
  await polls(world, 'long', 5);
  expect(await world.state.controls.list()).toMatchObject([{ kind: 'pause', accountId: null }]);
  await fallUnseen(world);
  expectOk(await cli(['pause', ...BY]));
  const [said] = await world.state.controls.list();
  await first.stop('a restart', 30_000);
  const second = await start({ paused: true });
  expect(await world.state.controls.list()).toEqual([said]);
  // One that ends by itself would not hold until somebody resumes.
  await pauseIn(world, null, { expiresAtMs: Date.now() + 5_000 });
  await second.stop('another restart', 30_000);
  await start({ paused: true });
  expect(await world.state.controls.list()).toMatchObject([{ expiresAtMs: null }]);
  await polls(world, 'long', 2);
  expect(ours(world.simulator, 'long')).toEqual([]);
  expectOk(await cli(['resume', ...BY]));
  await eventually(
    () => ours(world.simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
});

test('a daemon that hangs is found out within 3 s, and nothing is said to it', async () => {
  const kept = await openKept();
  const asked: string[] = [];
  await listening(({ url = '' }) => void asked.push(url), await freedSocket(kept));
  const runs = await timed(() => Promise.all(CHANGES.map((args) => kept.cli(args))));
  for (const run of runs) {
    expectEnd(run, EXIT.unreachable);
    expect(run.stderr).toMatch(/nothing was \w+: the daemon at \S+ does not answer\. If it hangs, end its/);
  }
  const status = await timed(() => kept.cli(['status']));
  expectOk(status);
  expect(status.stderr).toMatch(/^This is what is stored: the daemon at \S+ does not answer\.\n$/);
  expect(new Set(asked)).toEqual(new Set(['/healthz']));
  // Another one that lives is asked instead.
  await kept.start({ roles: ['web'], ordinal: 2 });
  expectOk(await timed(() => kept.cli(['pause', ...BY])));
  expect(await kept.world.state.controls.list()).toHaveLength(1);
});

test('a daemon that falls silent after it was asked leaves the outcome unknown', async () => {
  const { cli } = await openKept();
  const gone = await listening(({ url, socket }, response) =>
    url === '/healthz' ? response.end('ok\n') : socket.destroy(),
  );
  const hung = await listening(({ url }, response) => void (url === '/healthz' && response.end('ok\n')));
  for (const url of [gone, hung]) {
    const run = await timed(() => cli(['pause', ...BY, '--url', url]));
    expectEnd(run, EXIT.unknownOutcome);
    expect(run.stderr).toMatch(/does not answer any more\. Nobody knows whether it was done/);
  }
});

test('a command whose own start took long waits 2 s for the daemon all the same', async () => {
  const { cli } = await openKept();
  const slow = await listening(({ url }, response) => {
    if (url === '/healthz') return response.end('ok\n');
    setTimeout(() => {
      response.writeHead(409, { 'content-type': 'application/json' });
      response.end('{"error":{"code":"refused","message":"it has been heard"}}');
    }, 1_000);
    return undefined;
  });
  const [now, fromMs] = [performance.now.bind(performance), performance.now()];
  vi.spyOn(performance, 'now').mockImplementation(() => 2_000 + now() - fromMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const run = await cli(['pause', ...BY, '--url', slow]);
  expectEnd(run, EXIT.failed);
  expect(run.stderr).toContain('it has been heard');
});

test('a daemon that cannot read what it was asked for, or whose certificate is not known, is no daemon that hangs', async () => {
  const { cli } = await openKept();
  const lost = await listening(({ url }, response) => {
    if (url === '/healthz') return response.end('ok\n');
    response.writeHead(503, { 'content-type': 'application/json' });
    return response.end('{"error":{"code":"stateLost","message":"Redis does not answer"}}');
  });
  const read = await cli(['resume', ...BY, '--url', lost]);
  expectEnd(read, EXIT.unreachable);
  expect(read.stderr).toContain('nothing was lifted: Redis does not answer');
  const changed = await cli(['pause', ...BY, '--url', lost]);
  expectEnd(changed, EXIT.unknownOutcome);
  // It speaks no TLS: a certificate that is not known fails in the same place.
  const run = await cli(['pause', ...BY, '--url', lost.replace('http:', 'https:')]);
  expectEnd(run, EXIT.unreachable);
  expect(run.stderr).toMatch(/no daemon answers at https:\S+ \(.+\)/);
  expect(run.stderr).not.toContain('hangs');
});

const NEIGHBOURS: readonly (readonly [string, RequestListener])[] = [
  ['lives', (_, response) => void response.end('ok\n')],
  ['closes every connection', ({ socket }) => void socket.destroy()],
];

test.each(NEIGHBOURS)(
  'a neighbour that acts on another store and %s has not confirmed',
  async (_does, answers) => {
    const { start, sockets, cli } = await openKept();
    await start();
    const [own = ''] = await sockets();
    await listening(answers, own.replace(/i0-.*$/, 'i7-ab-1'));
    const paused = await cli(['pause', ...BY, '--json']);
    expectEnd(paused, EXIT.inPart);
    expect(paused.stderr).toMatch(/Not confirmed within 2 s by i7-ab on this machine\. Those that run GO ON/);
  },
);

test('who takes the folder for temporary files first does not keep commands from their daemon', async () => {
  const { world } = await openKept();
  const folder = await mkdtemp(path.join(path.dirname(world.configFile), 'tmp-'));
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  await writeFile(path.join(folder, `breakwater-${process.getuid?.() ?? 'own'}`), 'taken');
  const env = { ...world.env, RUNTIME_DIRECTORY: '' };
  await world.start({ roles: ['web'], ordinal: 1, env });
  expectOk(await world.cli(['pause', ...BY], { env }));
  expect(await world.state.controls.list()).toHaveLength(1);
});

test('a token that is wrong, or that may only look, is refused in words, and is never shown', async () => {
  const reader = makeToken();
  const { tokenHash } = makeToken();
  const web = `{ port: 0, users: { eve: { scopes: [read], tokenHash: "${reader.tokenHash}" }, ann: { scopes: [control], tokenHash: "${tokenHash}" } } }`;
  const { world, start, cli } = await openKept({ web });
  const daemon = await start({ roles: ['web'] });
  const url = ['--url', daemon.webUrl() ?? ''];
  const { token: wrong } = makeToken();
  for (const args of CHANGES) {
    const run = await timed(() => cli([...args, ...url, '--token', 'env:WRONG'], { WRONG: wrong }));
    expectEnd(run, EXIT.failed);
    expect(run.stderr).toMatch(
      /nothing was \w+: the daemon at \S+ does not know this token: it is wrong, or/,
    );
    expect(run.stderr).not.toContain(wrong);
  }
  const looks = await cli(['pause', ...BY, ...url], { BREAKWATER_TOKEN: reader.token });
  expectEnd(looks, EXIT.failed);
  expect(looks.stderr).toMatch(/eve may read; this needs the scope control/);
  const none = await cli(['pause', ...BY, ...url]);
  expectEnd(none, EXIT.failed);
  expect(none.stderr).toContain('asks for a token');
  for (const args of [
    [...url, '--token', wrong],
    ['--token', 'env:WRONG'],
  ]) {
    const shown = await cli(['pause', ...BY, ...args], { WRONG: wrong });
    expectEnd(shown, EXIT.usage);
    expect(shown.stderr).not.toContain(wrong);
  }
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

test('the socket opens nothing at the port, and who comes by it is never somebody of another way', async () => {
  const { world, start, cli } = await openKept();
  const daemon = await start({ roles: ['web'] });
  const base = `${daemon.webUrl()}/api/v1`;
  const overview = (await (await fetch(`${base}/overview`)).json()) as { may: object };
  expect(overview.may).toEqual({ control: false, operate: false, topUp: false });
  const body = JSON.stringify({ accountId: null, author: 'x', reason: 'x', forMs: null });
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  expect((await fetch(`${base}/pauses`, init)).status).toBe(403);
  const forged = await cli(['pause', '--reason', 'x', '--author', 'ann (Telegram)']);
  expectEnd(forged, EXIT.usage);
  expect(forged.stderr).toContain('author: no parentheses');
  expect(await world.state.controls.list()).toEqual([]);
});

test('what is no socket of the user is stepped over, and only who starts removes what a killed one left', async () => {
  const kept = await openKept();
  const { world, start, cli, sockets, folder } = kept;
  const killed = await freedSocket(kept);
  const leave = `require('node:net').createServer().listen(${JSON.stringify(killed)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await expect(promisify(execFile)(process.execPath, ['-e', leave])).rejects.toThrow();
  const nobody = await cli(['pause', ...BY]);
  expectEnd(nobody, EXIT.unreachable);
  await start({ roles: ['web'] });
  expect(await sockets()).toContain(killed);
  expectOk(await cli(['pause', ...BY]));
  // A pipe, and a file.
  const [pipe, file] = ['-a-pipe', '-a-file'].map((end) => killed.replace(/-looks-.*$/, end));
  await promisify(execFile)('mkfifo', ['-m', '600', pipe ?? '']);
  await writeFile(file ?? '', '');
  const warned = await timed(() => cli(['resume', ...BY]));
  expectOk(warned);
  expect(warned.stderr).toContain(`${pipe} is not used: it is no socket of the daemon's user`);
  expect(warned.stderr).toContain(`${file} is not used`);
  await start({ roles: ['web'], ordinal: 1 });
  expect(await sockets()).not.toContain(killed);
  expect(await sockets()).toHaveLength(4);
  expect(await readdir(folder)).toHaveLength(4);
  expect(await world.state.controls.list()).toEqual([]);
});

test.runIf(process.getuid?.() === 0)('root obeys no socket that another user could put there', async () => {
  const kept = await openKept();
  const asked: string[] = [];
  const daemon: RequestListener = ({ url = '' }, response) => {
    asked.push(url);
    response.end('ok\n');
  };
  const file = await listening(daemon, await freedSocket(kept));
  await chown(file, 65_534, 65_534);
  const forged = await kept.cli(['pause', ...BY]);
  expectEnd(forged, EXIT.unreachable);
  expect(forged.stderr).toContain('is no socket of the daemon');
  await chown(kept.folder, 65_534, 65_534);
  const whole = await kept.cli(['pause', ...BY]);
  expectEnd(whole, EXIT.unreachable);
  expect(whole.stderr).toContain(`${kept.folder} is not used: it belongs to another user (65534)`);
  expect(asked).toEqual([]);
});

test('a folder with too long a name is passed over, and the log says so', async () => {
  const { world, start, cli } = await openKept();
  const long = path.join(path.dirname(world.configFile), 'x'.repeat(80));
  await mkdir(long);
  const more = { STATE_DIRECTORY: long };
  await start({ roles: ['web'], env: { ...world.env, ...more, RUNTIME_DIRECTORY: path.dirname(long) } });
  expect(world.events).toContainEqual(
    expect.objectContaining({
      kind: 'webError',
      error: expect.objectContaining({
        message: expect.stringMatching(/do not find this process in .*at most 100/),
      }),
    }),
  );
  expectOk(await cli(['pause', ...BY], { ...more, RUNTIME_DIRECTORY: path.dirname(long) }));
});

test('a resume that cannot look around afterwards still says that it lifted', async () => {
  const { world, start, cli } = await openKept({ web: '{ port: 0, controlToken: { env: CONTROL } }' });
  const CONTROL = 'a-control-token-of-this-test';
  const daemon = await start({ roles: ['web'], env: { ...world.env, CONTROL } });
  await pauseIn(world, null);
  let isLifted = false;
  // A proxy that loses every answer after the lift.
  const proxy: RequestListener = (request, response) => {
    const { method = 'GET', url = '' } = request;
    if (isLifted) return request.socket.destroy();
    void (async () => {
      const body = await text(request);
      const headers = { authorization: `Bearer ${CONTROL}`, 'content-type': 'application/json' };
      const init = { method, headers, ...(method === 'GET' ? {} : { body }) };
      const answered = await fetch(`${daemon.webUrl()}${url}`, init);
      isLifted = method === 'DELETE';
      response.writeHead(answered.status);
      response.end(await answered.text());
    })();
    return undefined;
  };
  const run = await cli(['resume', ...BY, '--url', await listening(proxy)], { CONTROL });
  expect(run.stdout).toBe('Lifted: pause of every account.\n');
  expect(run.stderr).toContain('What else is paused cannot be read');
  expect(run.stderr).toContain('Which processes have confirmed it is not known');
  expect([run.exitCode, await world.state.controls.list()]).toEqual([EXIT.inPart, []]);
});
