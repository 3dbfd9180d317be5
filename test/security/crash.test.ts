import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openExchange } from '../contract/support/world.ts';
import { configText, environment } from '../daemon/config.ts';
import { eventually, openDaemonWorld } from '../daemon/world.ts';
import { inTurn } from '../support/slice.ts';
import { leaksIn, PLANTED } from './planted.ts';

const plays = inTurn(['an error', 'memory', 'reports'], 3, 'crashes');

const MAIN = path.join(import.meta.dirname, '../../src/cli/main.ts');
const THROWS = path.join(import.meta.dirname, 'fixtures/throw-on-signal.ts');
const EATS = path.join(import.meta.dirname, 'fixtures/eat-memory-on-signal.ts');

interface Crashing {
  readonly child: ChildProcess;
  readonly stderr: () => string;
  readonly secrets: Readonly<Record<string, string>>;
}

/** `breakwater run` with secrets in its environment and its config, and the given NODE_OPTIONS. */
async function startCrashing(nodeOptions: string): Promise<Crashing> {
  const simulator = await openExchange({ speed: 1 });
  const parts = { accounts: { long: { rules: ['far'] } }, rules: FAR };
  const world = await openDaemonWorld(simulator, parts);
  await world.write(
    configText(simulator, {
      ...parts,
      redis: { url: world.redisUrl, prefix: world.prefix },
      web: '{ port: 0, token: { env: READ_TOKEN } }',
    }),
  );
  const env = {
    ...process.env,
    ...environment(simulator),
    // Secrets that a config reads from its environment.
    ...Object.fromEntries(Object.entries(PLANTED).map(([name, value]) => [`PLANTED_${name}`, value])),
    READ_TOKEN: PLANTED.readToken,
    PLANTED_IN_ERRORS: PLANTED.readToken,
    NODE_OPTIONS: nodeOptions,
  };
  const args = [MAIN, 'run', '--config', world.configFile, '--debug', '--log-level', 'info'];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const account = simulator.accounts.find(({ id }) => id === 'long');
  const secrets = {
    ...PLANTED,
    apiKey: account?.apiKey ?? '',
    apiSecret: account?.apiSecret ?? '',
  };
  await eventually(
    () => stderr.includes('"event":"started"'),
    'its start',
    () => stderr.slice(-2_000),
  );
  return { child, stderr: () => stderr, secrets };
}

const FAR = `  - id: far
    on: position
    when: { liquidationDistance: { below: 0.1% } }
    do: [{ notify: {} }]
`;

test.runIf(plays('an error'))(
  'a daemon that crashes with a secret in the message prints none, even with its stack',
  async () => {
    const { child, stderr, secrets } = await startCrashing(`--import ${THROWS}`);
    child.kill('SIGUSR2');
    const [code] = (await once(child, 'exit')) as [number | null];
    expect(code).toBe(70);
    expect(stderr()).toContain('this is a defect in Breakwater: refused: ');
    expect(stderr()).toContain('fixtures/throw-on-signal.ts');
    expect(leaksIn(new Map([['stderr', stderr()]]), secrets)).toEqual([]);
  },
);

test.runIf(plays('memory'))(
  'a daemon that runs out of memory prints no secret, and writes no report of its contents',
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-reports-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { child, stderr, secrets } = await startCrashing(
      `--import ${EATS} --max-old-space-size=96 --report-on-fatalerror --report-directory=${folder}`,
    );
    child.kill('SIGUSR2');
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    expect([code === 0, code ?? signal]).toEqual([false, expect.anything()]);
    expect(stderr()).toContain('JavaScript heap out of memory');
    expect(leaksIn(new Map([['stderr', stderr()]]), secrets)).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  },
);

test.runIf(plays('reports'))(
  'diagnostic reports requested by NODE_OPTIONS contain no secret of the environment',
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-reports-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { child, secrets } = await startCrashing(
      `--report-on-signal --report-signal=SIGUSR2 --report-uncaught-exception --report-on-fatalerror --report-directory=${folder}`,
    );
    child.kill('SIGUSR2');
    await eventually(async () => (await readdir(folder)).length > 0, 'a report');
    child.kill('SIGTERM');
    await once(child, 'exit');
    const reports = new Map<string, string>();
    for (const name of await readdir(folder))
      reports.set(name, await readFile(path.join(folder, name), 'utf8'));
    expect([...reports.values()].join('')).toContain('"javascriptStack"');
    expect(leaksIn(reports, secrets)).toEqual([]);
  },
);
