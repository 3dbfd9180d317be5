import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { judgeAudit } from './lib/audit.mjs';
import { countTests } from './lib/count.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { findNode } from './lib/node.mjs';
import { say } from './lib/say.mjs';

/** Runs all checks for .ci/run. Each check counts as one test. `npm test` itself installs what the tests need. */

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** Long enough for tests on a slow machine that first installs what they need. */
const STEP_TIMEOUT_MS = 1_800_000;
const AUDIT_TIMEOUT_MS = 120_000;

/** @typedef {{ passed: number, failed: number }} Count */

/** @returns {Promise<Count>} */
async function main() {
  /** @type {Count[]} */
  const counts = [await attempt('set-up (npm ci)', () => ensureInstalled(ROOT))];
  counts.push(await runTests());
  for (const check of ['check:types', 'check:lint', 'check:format', 'check:unused']) {
    counts.push(await attempt(check, () => npm(['run', '--silent', check])));
  }
  counts.push(await auditPackages());
  counts.push(await attempt('build', () => npm(['run', '--silent', 'build'])));
  counts.push(await attempt('the built program answers', smoke));
  return {
    passed: counts.reduce((sum, { passed }) => sum + passed, 0),
    failed: counts.reduce((sum, { failed }) => sum + failed, 0),
  };
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

/** An unreachable registry counts neither as passed nor as failed; it is reported. */
async function auditPackages() {
  const { stdout } = spawnSync('npm', ['audit', '--json'], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: AUDIT_TIMEOUT_MS,
  });
  const { kind, words } = judgeAudit(stdout ?? '');
  say(`npm audit: ${words}`);
  return { passed: kind === 'clean' ? 1 : 0, failed: kind === 'found' ? 1 : 0 };
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
 * @returns {Promise<number>} 1 also if the program is missing, timed out or was killed by a signal
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
