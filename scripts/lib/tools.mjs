import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { findTool, installPackage } from './packages.mjs';
import { say } from './say.mjs';
import { findProgram } from './spawn.mjs';

/**
 * A program that tests run. Any of `programs` will do. `packages` lists the names to try by package manager. `usedBy`
 * matches the text of a test file that needs it.
 * @typedef {{ programs: readonly [string, ...string[]], packages: Readonly<Record<string, readonly string[]>>, usedBy: RegExp }} Tool
 */

const PROMETHEUS = {
  dnf: ['golang-github-prometheus', 'prometheus'],
  zypper: ['golang-github-prometheus-prometheus'],
  default: ['prometheus'],
};

/**
 * Programs that tests use in addition to Redis. Tests that need a missing one are skipped.
 * @type {readonly Tool[]}
 */
export const TEST_TOOLS = [
  { programs: ['promtool'], packages: PROMETHEUS, usedBy: /\bcheckMetrics\(|'promtool'/ },
  { programs: ['prometheus'], packages: PROMETHEUS, usedBy: /\bhasPrometheus\b/ },
  {
    programs: ['amtool'],
    packages: {
      'apt-get': ['prometheus-alertmanager'],
      dnf: ['golang-github-prometheus-alertmanager', 'alertmanager'],
      zypper: ['golang-github-prometheus-alertmanager'],
      default: ['alertmanager'],
    },
    usedBy: /'amtool'/,
  },
  {
    programs: ['chromium', 'chromium-browser', 'google-chrome'],
    packages: { 'apt-get': ['chromium', 'chromium-browser'], default: ['chromium'] },
    usedBy: /\bhasBrowser\b/,
  },
  { programs: ['openssl'], packages: { default: ['openssl'] }, usedBy: /'openssl'|\bhasOpenssl\b/ },
  { programs: ['curl'], packages: { default: ['curl'] }, usedBy: /'curl'/ },
];

/**
 * Installs the missing tools that the chosen tests need. It never fails: it reports which tests are skipped without a
 * tool, and why the tool is missing.
 * @param {string} root the folder of test/
 * @param {readonly string[]} args of vitest
 * @param {readonly Tool[]} [tools]
 * @returns {Promise<Record<string, string>>} environment to run with: a PATH that has the tools
 */
export async function ensureTestTools(root, args, tools = TEST_TOOLS) {
  for (const tool of tools) {
    if (findAny(tool, findTool) !== undefined) continue;
    const tests = testsThatNeed(tool, root, args);
    if (tests.length === 0) continue;
    const refusal = await install(tool);
    if (refusal !== undefined) {
      say(`without ${tool.programs[0]}, tests are skipped in ${tests.join(', ')}: ${refusal}.`);
    }
  }
  return pathWith(tools);
}

/**
 * @param {Tool} tool
 * @returns {Promise<string | undefined>} why the tool is still missing
 */
async function install(tool) {
  const name = tool.programs[0];
  const refusal = await installPackage(tool.packages, `${name} for the tests`);
  if (refusal !== undefined) return refusal;
  return findAny(tool, findTool) === undefined ? `its package has no program ${name}` : undefined;
}

/**
 * Test files that need a tool, among those that vitest will run. Vitest matches an argument that is no option against
 * file paths. With options present every file counts: an option's value may look like a path.
 * @param {Tool} tool
 * @param {string} root
 * @param {readonly string[]} args
 * @returns {string[]} paths relative to the root
 */
export function testsThatNeed(tool, root, args) {
  const parts = args.some((arg) => arg.startsWith('-'))
    ? []
    : args.map((arg) => path.normalize(arg).replace(/:\d+$/, ''));
  return readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => path.join('test', file))
    .filter((file) => parts.length === 0 || parts.some((part) => path.join(root, file).includes(part)))
    .filter((file) => tool.usedBy.test(readFileSync(path.join(root, file), 'utf8')))
    .toSorted();
}

/**
 * A minimal PATH does not list every folder that packages install programs to.
 * @param {readonly Tool[]} tools
 * @returns {Record<string, string>}
 */
function pathWith(tools) {
  const elsewhere = tools
    .filter((tool) => findAny(tool, findProgram) === undefined)
    .map((tool) => findAny(tool, findTool))
    .filter((file) => file !== undefined)
    .map((file) => path.dirname(file));
  if (elsewhere.length === 0) return {};
  return { PATH: [process.env['PATH'] ?? '', ...new Set(elsewhere)].join(path.delimiter) };
}

/**
 * @param {Tool} tool
 * @param {(name: string) => string | undefined} find
 * @returns {string | undefined}
 */
function findAny({ programs }, find) {
  return programs.map((name) => find(name)).find((file) => file !== undefined);
}
