import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { isProgram } from '../../scripts/lib/spawn.mjs';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { openScene } from '../daemon/scene.ts';
import { eventually, openDaemonWorld } from '../daemon/world.ts';
import { sliceOf } from '../support/slice.ts';

/** `npm start` as a person types it, and what it runs on a Node that cannot run the sources. */

const ROOT = path.join(import.meta.dirname, '../..');
const OLDER_NODE = path.join(import.meta.dirname, 'fixtures/older-node.mjs');

const hasPackagedNode = isProgram(path.join(ROOT, 'node_modules/.bin/node'));
if (!hasPackagedNode) {
  process.stderr.write(
    'npm start is not tested as on Node 20: npm brings no newer Node for this platform.\n',
  );
}

const WAYS = [
  { name: 'npm start', command: ['npm', 'start', '--silent', '--'], possible: true },
  {
    name: 'what npm start runs, on Node 20',
    command: [process.execPath, '--import', OLDER_NODE, path.join(ROOT, 'scripts/run.mjs'), 'start'],
    possible: hasPackagedNode,
  },
].filter(({ possible }) => possible);

interface Started {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

function start([program = '', ...first]: readonly string[], args: readonly string[], env = {}): Started {
  // A separate process group, so that nothing is left when a test fails.
  const child = spawn(program, [...first, ...args], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const ended = once(child, 'close').then(
    ([code, signal]) => (code ?? signal) as number | NodeJS.Signals | null,
  );
  closeAfterTest(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
    await ended;
  });
  return { child, output: () => output, ended };
}

describe.each(sliceOf(WAYS, 2, 'ways to start'))('$name', ({ command }) => {
  it('watches the accounts of a config, and ends gracefully with the signal that it is sent', async () => {
    const simulator = await openScene();
    const world = await openDaemonWorld(simulator, {
      mode: 'observe',
      accounts: { long: { rules: ['rule'] } },
      rules:
        '  - id: rule\n    on: position\n    when: { amount: { above: 100 } }\n    do: [{ notify: {} }]\n',
    });
    const { child, output, ended } = start(command, ['--config', world.configFile], world.env);
    await eventually(() => output().includes('watching '), 'it watches', output);
    const reads = () => simulator.requestLog({ account: 'long', endpoint: 'openPositions' });
    await eventually(() => reads().length > 1, 'it reads the positions', output);
    child.kill('SIGTERM');
    expect([await ended, output()]).toEqual([EXIT.ok, expect.stringContaining('stopped')]);
  });

  it('ends with the exit code of the daemon', async () => {
    const wrong = start(command, ['--confg', 'breakwater.yaml']);
    const missing = start(command, ['--config', '/nonexistent/breakwater.yaml']);
    expect([await wrong.ended, wrong.output()]).toEqual([EXIT.usage, expect.stringContaining('--confg')]);
    expect([await missing.ended, missing.output()]).toEqual([
      EXIT.failed,
      expect.stringContaining('/nonexistent/breakwater.yaml'),
    ]);
  });
});

const WRAPPER = path.join(ROOT, 'scripts/run.mjs');
const WRAPPED = [
  { name: 'in its own process', flags: [], possible: true },
  { name: 'as the parent of a newer Node', flags: ['--import', OLDER_NODE], possible: hasPackagedNode },
].filter(({ possible }) => possible);

it.each(sliceOf(WRAPPED, 2, 'places of the wrapper'))(
  'the wrapper $name opens no debugger on SIGUSR1, nor does what it runs',
  async ({ flags }) => {
    const command = [process.execPath, ...flags, WRAPPER, 'breakwater', 'simulate'];
    const { child, output, ended } = start(command, ['--port', '0', '--control-port', '0', '--json']);
    await eventually(() => output().includes('"event"'), 'it is ready', output);
    process.kill(-(child.pid ?? 0), 'SIGUSR1');
    await expect(fetch('http://127.0.0.1:9229/json/version')).rejects.toThrow('fetch failed');
    child.kill('SIGTERM');
    await ended;
    expect(output()).not.toMatch(/debugger|inspector/i);
  },
);
