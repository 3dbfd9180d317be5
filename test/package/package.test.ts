import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startSimulatedExchange } from '../../src/simulator/start-simulated-exchange.ts';
import { startPrivateRedis } from '../support/redis.ts';
import { builds, copyProject, environment, installPacked } from './packed.ts';

/** The output of `npm pack`, used as a stranger uses it: in a project with only its declared dependencies. */

const ROOT = path.resolve(import.meta.dirname, '../..');
const EXAMPLES = ['docs/client.md', 'docs/simulator.md'];

let folder: string;
let project: string;
let packed: { readonly filename: string; readonly files: readonly { readonly path: string }[] };

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(program: string, args: readonly string[], options: object = {}): Promise<Ran> {
  try {
    const started = promisify(execFile)(program, args, {
      cwd: project,
      env: environment(folder),
      ...options,
    });
    return { code: 0, ...(await started) };
  } catch (error) {
    const { code, stdout, stderr } = error as Ran;
    return { code, stdout, stderr };
  }
}

/** Examples that begin with a comment naming a file. */
async function examplesOf(page: string): Promise<(readonly [name: string, text: string])[]> {
  const text = await readFile(path.join(ROOT, page), 'utf8');
  return [...text.matchAll(/```ts\n(\/\/ (\S+\.ts)\n[\s\S]*?)```/g)].map(([, code = '', name = '']) => [
    name,
    code,
  ]);
}

beforeAll(async () => {
  if (!builds('package')) return;
  folder = await mkdtemp(path.join(tmpdir(), 'breakwater-package-'));
  const source = path.join(folder, 'source');
  project = path.join(folder, 'project');
  await copyProject(source);
  const { code, stdout, stderr } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: source,
    maxBuffer: 64 * 1024 * 1024,
  });
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')]);
  const report = JSON.parse(stdout.slice(stdout.indexOf('['))) as (typeof packed)[];
  packed = report[0] ?? expect.fail('npm pack said nothing');
  await installPacked(path.join(folder, packed.filename), project);
  const examples = (await Promise.all(EXAMPLES.map(examplesOf))).flat();
  expect(examples.map(([name]) => name)).toEqual(['positions.ts', 'lost-reply.test.ts']);
  for (const [name, text] of examples) await writeFile(path.join(project, name), text);
});

afterAll(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Compiler errors of the project, under the given module resolution. */
async function compile(
  moduleResolution: 'nodenext' | 'bundler',
  include: readonly string[],
): Promise<string> {
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024'],
    types: ['node'],
    noEmit: true,
    module: moduleResolution === 'nodenext' ? 'nodenext' : 'preserve',
    moduleResolution,
    strict: true,
    skipLibCheck: false,
  };
  const file = path.join(project, 'tsconfig.json');
  await writeFile(file, JSON.stringify({ compilerOptions, include }));
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run(process.execPath, [compiler, '-p', project]);
  return stdout;
}

describe.runIf(builds('package'))('the package', () => {
  test('has the program, the files it reads and the public types, but neither tests nor sources', () => {
    const files = packed.files.map((file) => file.path);
    expect(files).toEqual(
      expect.arrayContaining([
        'dist/src/cli/main.js',
        'dist/src/package/client.d.ts',
        'dist/src/package/simulator.js',
        'dist/config/schema.json',
        'dist/sbom.cdx.json',
        'dist/LICENSES.txt',
        'LICENSE',
        'docs/client.md',
      ]),
    );
    expect(files.filter((file) => /^(test|src|scripts|workers|node_modules)\/|\.types\//.test(file))).toEqual(
      [],
    );
    expect(files.filter((file) => /(?<!\.d)\.ts$/.test(file))).toEqual([]);
    expect(files.filter((file) => file.startsWith('docs/pictures/'))).toEqual([]);
  });

  test('has the licence of every package whose code it bundles', async () => {
    const own = path.join(project, 'node_modules/breakwater/dist');
    const maps = packed.files.map((file) => file.path).filter((file) => file.endsWith('.js.map'));
    const bundled = new Set<string>();
    for (const file of maps) {
      const text = await readFile(path.join(own, path.relative('dist', file)), 'utf8');
      for (const source of (JSON.parse(text) as { sources: readonly string[] }).sources) {
        const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source) ?? [];
        if (name !== undefined) bundled.add(name);
      }
    }
    expect([...bundled]).toEqual(expect.arrayContaining(['bullmq', 'zod', '@opentelemetry/api']));
    const licences = await readFile(path.join(own, 'LICENSES.txt'), 'utf8');
    const titles = [...licences.matchAll(/^-{80}\n(\S+) \S+ \(.+\)\n\n\S/gm)].map(([, name]) => name);
    expect(titles.filter((name) => !bundled.has(name ?? ''))).toEqual([]);
    expect([...bundled].filter((name) => !titles.includes(name))).toEqual([]);
  });

  test('exports two entry points, and no other file', async () => {
    const names = ['breakwater/client', 'breakwater/simulator', 'breakwater/dist/src/app.js', 'breakwater'];
    const text = `for (const name of ${JSON.stringify(names)}) {
      const found = await import(name).then((all) => Object.keys(all).sort().join(' '), (error) => error.code);
      console.log(found);
    }`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', text]);
    expect(stdout.trim().split('\n')).toEqual([
      'createClient',
      'SimulatorError startSimulator',
      'ERR_PACKAGE_PATH_NOT_EXPORTED',
      'ERR_PACKAGE_PATH_NOT_EXPORTED',
    ]);
  });

  test("the examples of the docs compile, including the package's declarations", async () => {
    expect(await compile('nodenext', ['*.ts'])).toBe('');
    expect(await compile('bundler', ['*.ts'])).toBe('');
  });

  test('its types refuse what the runtime refuses', async () => {
    const wrong = `import { createClient } from 'breakwater/client';
import { startSimulator } from 'breakwater/simulator';
const client = createClient({ baseUrls: [], credentials: { apiKey: '', apiSecret: '' } });
const order = { market: 'BTC_PERP', side: 'sell', price: '1', activationPrice: '1', clientOrderId: 'a', positionSide: 'BOTH' } as const;
await client.reduceOnlyStop({ ...order, amount: 0.1 });
await client.reduceOnlyStop(order);
const read = await client.mainBalance();
read.value;
const simulator = await startSimulator({ speeed: 0 });
simulator.setReadings({ ltvUnit: 'permille' });
simulator.exchange;
`;
    await writeFile(path.join(project, 'wrong.mts'), wrong);
    const found = await compile('nodenext', ['wrong.mts']);
    const lines = [...found.matchAll(/^wrong\.mts\((\d+),/gm)].map(([, line]) => Number(line));
    expect(lines).toEqual([5, 6, 8, 9, 10, 11]);
  });

  test('the example of docs/simulator.md passes', async () => {
    const { code, stdout } = await run(process.execPath, ['lost-reply.test.ts']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^# pass 1$|^ℹ pass 1$/m)]);
  });

  test('npx breakwater runs', async () => {
    const { version } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as {
      version: string;
    };
    const { code, stdout } = await run('npx', ['breakwater', 'version', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ version, node: process.version });
  });

  test('npx breakwater simulate listens, and the example of docs/client.md talks to it', async () => {
    const args = ['breakwater', 'simulate', '--json', '--still', '--accounts', '1'];
    const child = spawn('npx', args, { cwd: project, env: environment(folder), detached: true });
    onTestFinished(() => end(child));
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const { baseUrl, accounts } = JSON.parse(line) as {
      baseUrl: string;
      accounts: readonly { apiKey: string; apiSecret: string }[];
    };
    const { code, stdout, stderr } = await run(process.execPath, ['positions.ts'], {
      env: {
        BREAKWATER_BASE_URL: baseUrl,
        BREAKWATER_API_KEY: accounts[0]?.apiKey,
        BREAKWATER_API_SECRET: accounts[0]?.apiSecret,
      },
    });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^BTC_PERP: [\d.]+, liquidated at [\d.]+\norder \d+: 0\.1\n$/);
  });

  test('a daemon serves its page, its queues and its metrics, reloads its config, and loads no package twice', async () => {
    const redis = await startPrivateRedis();
    onTestFinished(() => redis.stop());
    const simulator = await startSimulatedExchange({ accounts: 1 });
    onTestFinished(() => simulator.close());
    const [account] = simulator.accounts;
    const config = `insecure: [redis]
exchange: { baseUrls: ["${simulator.baseUrl}"] }
redis: { url: "${redis.url}", prefix: "${redis.prefix.slice(0, -1)}" }
accounts:
  - { id: desk, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [blind] }
rules:
  - { id: blind, on: account, when: { dataAge: { above: 2m } }, do: [{ notify: {} }] }
`;
    await writeFile(path.join(project, 'breakwater.yaml'), config);
    const hook = pathToFileURL(path.join(ROOT, 'test/cli/fixtures/note-loaded.mjs')).href;
    const main = path.join(project, 'node_modules/breakwater/dist/src/cli/main.js');
    const child = spawn(process.execPath, ['--import', hook, main, 'run', '--port', '0'], {
      cwd: project,
      env: { ...environment(folder), KEY: account?.apiKey, SECRET: account?.apiSecret },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const loaded: string[] = [];
    createInterface(child.stdout).on('line', (line) => loaded.push(line));
    const logged: Record<string, unknown>[] = [];
    const log = createInterface(child.stderr);
    log.on('line', (line) => {
      const isJson = line.startsWith('{');
      logged.push(isJson ? (JSON.parse(line) as Record<string, unknown>) : { event: 'crash', words: line });
    });
    const told = async (event: string, times = 1): Promise<string> => {
      const found = () => logged.filter((one) => one['event'] === event);
      while (found().length < times && child.exitCode === null) await once(log, 'line');
      const last = found()[times - 1] ?? expect.fail(JSON.stringify(logged.at(-1)));
      return String(last['words']);
    };
    const url = /http:\/\/[\d.]+:\d+/.exec(await told('listening'))?.[0] ?? expect.fail('no address');
    await told('started');
    const hasLoaded = (part: string) => loaded.some((one) => one.includes(part));
    // Loaded on first use: the queues' page, and the package that sends its files.
    expect(['/fastify/', '@bull-board', '@fastify/static'].map(hasLoaded)).toEqual([true, false, false]);
    for (const place of [
      '/',
      '/assets/main.js',
      '/assets/uplot.js',
      '/metrics',
      '/queues/',
      '/api/v1/overview',
    ]) {
      const reply = await fetch(`${url}${place}`);
      expect([place, reply.status]).toEqual([place, 200]);
      // An unread body keeps its connection.
      await reply.arrayBuffer();
    }
    const before = logged.filter(({ event }) => event === 'configReloaded').length;
    await writeFile(path.join(project, 'breakwater.yaml'), `${config}\n# read again\n`);
    child.kill('SIGHUP');
    await told('configReloaded', before + 1);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    const modules = loaded.filter((one) => one.startsWith('file:'));
    const twice = /node_modules\/(bullmq|ioredis|undici|zod|yaml|prom-client|commander|node-cron|big\.js)\//;
    expect(modules.filter((one) => twice.test(one))).toEqual([]);
    expect(modules.some((one) => one.includes('/node_modules/fastify/'))).toBe(true);
    expect(hasLoaded('@bull-board')).toBe(true);
  });

  test('npx breakwater demo plays both accounts, and Ctrl-C ends it gracefully', async () => {
    const args = ['breakwater', 'demo', '--json', '--duration', '30s'];
    const child = spawn('npx', args, { cwd: project, env: environment(folder), detached: true });
    onTestFinished(() => end(child));
    const exited = once(child, 'exit');
    const events: Record<string, unknown>[] = [];
    let interrupted = false;
    for await (const line of createInterface(child.stdout)) {
      const event = JSON.parse(line) as Record<string, unknown>;
      events.push(event);
      // Only once: a second Ctrl-C would end it at once.
      if (interrupted || event['event'] !== 'frame' || child.pid === undefined) continue;
      interrupted = true;
      process.kill(-child.pid, 'SIGINT');
    }
    await exited;
    expect(events.find(({ event }) => event === 'frame')).toMatchObject({ twin: { id: 'unprotected' } });
    expect(events.slice(-2)).toMatchObject([{ event: 'stopped' }, { event: 'demo' }]);
  });
});

/** Ends npx, its shell, and the program. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, 'exit');
  process.kill(-child.pid, 'SIGTERM');
  await ended;
}
