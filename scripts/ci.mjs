import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { countTests } from './lib/count.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { findNode } from './lib/node.mjs';
import { findTool, installPackage } from './lib/packages.mjs';
import { say } from './lib/say.mjs';

/**
 * Behind .ci/run. Every check counts as one test. What is not installed and cannot be is said and leaves
 * the tests that need it to fail by themselves.
 */

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const STEP_TIMEOUT_MS = 1_200_000;

/** @typedef {{ passed: number, failed: number }} Count */

/** Programs that the tests use besides Redis, which `npm test` sees to itself. */
const TOOLS = [
  { programs: ['promtool'], packages: { 'apt-get': ['prometheus'], default: ['prometheus'] } },
  {
    programs: ['amtool'],
    packages: { 'apt-get': ['prometheus-alertmanager'], default: ['alertmanager'] },
  },
  {
    programs: ['chromium', 'chromium-browser', 'google-chrome'],
    packages: { 'apt-get': ['chromium', 'chromium-browser'], default: ['chromium'] },
  },
];

/** @returns {Promise<Count>} */
async function main() {
  for (const { programs, packages } of TOOLS) await ensureTool(programs, packages);
  /** @type {Count[]} */
  const counts = [await attempt('set-up (npm ci)', () => ensureInstalled(ROOT))];
  counts.push(await runTests());
  for (const check of ['check:types', 'check:lint', 'check:format', 'check:unused']) {
    counts.push(await attempt(check, () => npm(['run', '--silent', check])));
  }
  counts.push(await attempt('build', () => npm(['run', '--silent', 'build'])));
  counts.push(await attempt('the built program answers', smoke));
  return {
    passed: counts.reduce((sum, { passed }) => sum + passed, 0),
    failed: counts.reduce((sum, { failed }) => sum + failed, 0),
  };
}

/**
 * @param {readonly string[]} programs any of them will do
 * @param {Readonly<Record<string, readonly string[]>>} packages
 */
async function ensureTool(programs, packages) {
  if (programs.some((name) => findTool(name) !== undefined)) return;
  const refusal = await installPackage(packages, programs[0] ?? '');
  if (refusal !== undefined) say(`without ${programs[0]}: ${refusal}.`);
}

/** @returns {Promise<Count>} */
async function runTests() {
  const folder = mkdtempSync(path.join(tmpdir(), 'breakwater-ci-'));
  const report = path.join(folder, 'report.json');
  try {
    const args = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const started = announce('npm test');
    const code = await exitCodeOf('npm', ['test', '--silent', '--', ...args]);
    const count = countTests(readReport(report), code);
    started.ended(count.failed === 0);
    return count;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} file */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

async function smoke() {
  const program = path.join(ROOT, 'dist', 'src', 'cli', 'main.js');
  const node = findNode(ROOT).program;
  const code = await exitCodeOf(node, [program, '--version']);
  if (code !== 0) throw new Error(`exit code ${code}`);
}

/**
 * @param {string} name
 * @param {() => Promise<void>} check
 * @returns {Promise<Count>}
 */
async function attempt(name, check) {
  const started = announce(name);
  try {
    await check();
    started.ended(true);
    return { passed: 1, failed: 0 };
  } catch (error) {
    say(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    started.ended(false);
    return { passed: 0, failed: 1 };
  }
}

/** @param {string} name */
function announce(name) {
  const start = performance.now();
  say(`${name} ...`);
  return {
    /** @param {boolean} well */
    ended: (well) =>
      say(`${name}: ${well ? 'passed' : 'FAILED'} (${Math.round(performance.now() - start)} ms)`),
  };
}

/** @param {readonly string[]} args */
async function npm(args) {
  const code = await exitCodeOf('npm', args);
  if (code !== 0) throw new Error(`exit code ${code}`);
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @returns {Promise<number>} 1 also when it was ended by a signal, took too long or is not there
 */
function exitCodeOf(program, args) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: STEP_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    child.once('error', () => resolve(1));
    child.once('close', (code) => resolve(code ?? 1));
  });
}

const { passed, failed } = await main();
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
