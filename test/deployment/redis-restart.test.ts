import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { closeAfterTest } from '../contract/support/world.ts';
import { configText } from '../daemon/config.ts';
import { drift, hasFilled, move, openScene, ours, polls, sizeOf } from '../daemon/scene.ts';
import { openDaemonWorld, verdictOf } from '../daemon/world.ts';
import { runCommandLine } from '../support/cli.ts';
import { run } from '../support/programs.ts';
import { hasRedisServer, startRedisServer } from '../support/redis.ts';
import { ROOT } from './files.ts';

/** The Redis that Compose and the pages set up, restarted; checked by the simulated exchange's ledger. */

/** Keeps firing after the target is reached: a daemon that forgets the target halves again. */
const HALVE = `  - id: rule
    on: position
    when: { unrealizedPnl: { below: 0 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

/** What the pages said before: the server's own replay of its file runs as this user. */
const BEFORE = 'user default off resetpass';

async function ofCompose(folder: string): Promise<string> {
  const folders = ['daemon', 'prometheus', 'grafana', 'redis'].map((name) => path.join(folder, name));
  for (const each of folders) await mkdir(each);
  const script = new URL('config/compose/make-secrets.sh', ROOT).pathname;
  expect(await run('sh', [script, ...folders])).toMatchObject({ code: 0 });
  const file = path.join(folder, 'redis', 'users.acl');
  const old = (await readFile(file, 'utf8')).replace(/^user default .*$/m, BEFORE);
  await writeFile(file, old.replace(' +acl|dryrun', ''));
  // An installation of before is mended when Compose starts again; its passwords stay.
  expect(await run('sh', [script, ...folders])).toMatchObject({ code: 0 });
  return file;
}

async function ofThePages(folder: string): Promise<string> {
  const page = await readFile(new URL('docs/operations.md', ROOT), 'utf8');
  const [, rules = ''] = /```text\n(user default [^`]*)```/.exec(page) ?? [];
  const file = path.join(folder, 'users.acl');
  await writeFile(file, rules);
  return file;
}

/** Options that Compose starts Redis with, but for those of its place. */
async function composeOptions(): Promise<readonly string[]> {
  const text = await readFile(new URL('docker-compose.yml', ROOT), 'utf8');
  const { services } = parse(text) as { services: { redis: { command: string[] } } };
  return services.redis.command.slice(1, services.redis.command.indexOf('--aclfile'));
}

async function open(makeFile: (folder: string) => Promise<string>) {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-acl-'));
  closeAfterTest(() => rm(folder, { recursive: true }));
  const file = await makeFile(folder);
  const password = /user breakwater on >(\S+)/.exec(await readFile(file, 'utf8'))?.[1] ?? '';
  const server = await startRedisServer({ args: [...(await composeOptions()), '--aclfile', file] });
  closeAfterTest(() => server.stop());
  const simulator = await openScene();
  // In profit, so that no rule fires yet.
  move(simulator, 0.02);
  const parts = { accounts: { long: { rules: ['rule'] }, short: { rules: [] } }, rules: HALVE };
  const redis = { url: 'redis://127.0.0.1', prefix: 'breakwater' };
  const world = await openDaemonWorld(simulator, parts, { redis });
  const text = configText(simulator, { ...parts, redis: { ...redis, url: 'URL' } });
  await world.write(text.replace('insecure: [redis]\n', '').replace('"URL"', '{ env: REDIS }'));
  const env = { ...world.env, REDIS: `redis://breakwater:${password}@127.0.0.1:${server.port}/0` };
  return { server, simulator, world: { ...world, env }, start: () => world.start({ env }) };
}

test.runIf(hasRedisServer()).each([
  ['compose', ofCompose],
  ['pages', ofThePages],
])(
  'Redis of the %s restarts, and half of what is left is sold, the pause and the audit are gone',
  async (_, makeFile) => {
    const { server, simulator, world, start } = await open(makeFile);
    const first = await start();
    await polls(world, 'long', 3);
    await drift(simulator, -0.004, () => ours(simulator, 'long').length > 0, 'an order', world);
    await drift(simulator, -0.0005, () => hasFilled(simulator, 'long', 0.251), 'a fill', world);
    await first.state.controls.put({
      kind: 'pause',
      accountId: 'short',
      author: 'ann',
      reason: 'by hand',
      expiresAtMs: null,
    });
    await polls(world, 'long', 4);
    await first.stop('the host reboots', 30_000);
    const before = await verdictOf(world, 'long');
    const sent = ours(simulator, 'long').length;
    await server.kill();
    await server.start();
    expect(await verdictOf(world, 'long')).toEqual(before);
    const { stdout } = await runCommandLine(['status', '--config', world.configFile], { env: world.env });
    expect(stdout).toMatch(/short.*paused/);

    await start();
    for (let step = 0; step < 4; step += 1) {
      move(simulator, -0.002);
      await polls(world, 'long', 2);
    }
    expect(sizeOf(simulator, 'long')).toBeCloseTo(0.25, 3);
    expect(ours(simulator, 'long')).toHaveLength(sent);
  },
);
