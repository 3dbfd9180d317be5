import path from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureInstalled } from './lib/install.mjs';
import { findNode } from './lib/node.mjs';
import { ensureRedis } from './lib/redis.mjs';
import { SetupError, say } from './lib/say.mjs';
import { runInstead } from './lib/spawn.mjs';
import { ensureTestTools } from './lib/tools.mjs';

/**
 * Runs the task of an npm script named in `TASKS`. It first makes sure of the packages and of a Node that runs
 * TypeScript and, where the task needs them, of a Redis server and the tools that tests use.
 * Plain JavaScript without dependencies: it runs before anything is installed, on Node 20 too.
 */

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** @type {Readonly<Record<string, { script: string, args?: string[], redis?: boolean, tools?: boolean }>>} */
const TASKS = {
  breakwater: { script: 'src/cli/main.ts' },
  start: { script: 'src/cli/main.ts', args: ['run'] },
  demo: { script: 'src/cli/main.ts', args: ['demo'] },
  test: { script: 'node_modules/vitest/vitest.mjs', args: ['run'], redis: true, tools: true },
  bench: { script: 'test/bench/main.ts' },
  baseline: { script: 'test/baseline/main.ts' },
  field: { script: 'test/field/main.ts' },
  fuzz: { script: 'test/fuzz/main.ts' },
  soak: { script: 'test/soak/main.ts', redis: true },
  faults: { script: 'test/faults/main.ts' },
  foreign: { script: 'test/foreign/main.ts' },
  outages: { script: 'test/outages/main.ts', redis: true },
  failovers: { script: 'test/failovers/main.ts' },
  versions: { script: 'test/versions/main.ts' },
  mutants: { script: 'test/mutants/main.ts', redis: true },
  calibrate: { script: 'test/calibration/main.ts' },
  rulesets: { script: 'test/rulesets/main.ts' },
};

/** @returns {Promise<number | undefined>} the exit code; undefined when the task runs on in this process */
async function main() {
  const [name = '', ...rest] = process.argv.slice(2);
  const task = Object.hasOwn(TASKS, name) ? TASKS[name] : undefined;
  if (task === undefined) {
    throw new SetupError(`run.mjs knows ${Object.keys(TASKS).join(', ')}; not '${name}'.`);
  }
  await ensureInstalled(ROOT);
  const node = findNode(ROOT);
  const environment = {
    ...(task.redis === true ? await ensureRedis() : {}),
    ...(task.tools === true ? await ensureTestTools(ROOT, rest) : {}),
  };
  standWhereCalled(name);
  const script = path.join(ROOT, task.script);
  const args = [...(task.args ?? []), ...rest];
  if (node.isThisProcess) {
    // Running in this process starts faster, and signals and the exit code need no forwarding.
    Object.assign(process.env, environment);
    process.argv = [process.execPath, script, ...args];
    await import(pathToFileURL(script).href);
    return undefined;
  }
  return runInstead(node.program, [...node.flags, script, ...args], environment);
}

/**
 * npm runs a script in its package's folder, but file names on a command line are relative to the folder in which it
 * was typed. Without this, keys that `simulate` writes land in the checkout.
 * @param {string} name
 */
function standWhereCalled(name) {
  const { INIT_CWD: called, npm_lifecycle_event: script, npm_package_json: file } = process.env;
  const isByNpm = script === name && file === path.join(ROOT, 'package.json');
  if (isByNpm && called !== undefined && TASKS[name]?.script === 'src/cli/main.ts') process.chdir(called);
}

// Without this handler, Node would open its debugger to every user of this machine.
process.on('SIGUSR1', () => undefined);

try {
  const exitCode = await main();
  if (exitCode !== undefined) process.exitCode = exitCode;
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
