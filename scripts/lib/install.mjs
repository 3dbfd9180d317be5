import { lstatSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { withLock } from './lock.mjs';
import { SetupError, say } from './say.mjs';
import { findProgram, runHelper } from './spawn.mjs';

/**
 * An entry of package-lock.json under `packages`.
 * @typedef {{ version?: string, integrity?: string, optional?: boolean } & Platforms} Locked
 * @typedef {{ os?: string | string[], cpu?: string | string[], libc?: string | string[] }} Platforms
 * @typedef {Readonly<Record<string, Locked>>} Packages
 */

/**
 * Makes node_modules match package-lock.json, with `npm ci` if it does not.
 * @param {string} root the folder of package-lock.json
 */
export async function ensureInstalled(root) {
  if (difference(root) === undefined) return;
  const lock = path.join(root, '.setup.lock');
  await withLock(
    lock,
    () => say('another process is installing the packages; waiting for it.'),
    async () => {
      const reason = difference(root);
      if (reason !== undefined) await install(root, reason);
    },
  );
}

/**
 * @param {string} root
 * @param {string} reason
 */
async function install(root, reason) {
  if (lstatSync(path.join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    throw new SetupError(
      `${reason}, and node_modules is a link: run npm ci in the folder that it points to.`,
    );
  }
  say(`setting up with npm ci (${reason}); this takes half a minute.`);
  const [program, ...first] = npmCommand();
  // Errors only: an older Node's npm warns about engines, but the sources run on a newer Node.
  const args = [...first, 'ci', '--loglevel=error', '--include=dev', '--include=optional', '--no-progress'];
  const code = await runHelper(program, args, { cwd: root });
  if (code !== 0) {
    throw new SetupError(`npm ci failed (exit code ${code}). Is the network there? Try: npm ci`);
  }
  const left = difference(root);
  if (left !== undefined) throw new SetupError(`after npm ci, ${left}. Try: rm -rf node_modules && npm ci`);
}

/** @returns {[string, ...string[]]} */
function npmCommand() {
  const own = process.env['npm_execpath'];
  if (own !== undefined && /npm-cli\.[cm]?js$/.test(own)) return [process.execPath, own];
  const found = findProgram('npm');
  if (found === undefined)
    throw new SetupError('npm is not on the PATH. Install it with Node: https://nodejs.org');
  return [found];
}

/**
 * Why node_modules does not match package-lock.json, in words; undefined if it does.
 * npm records what it installed in node_modules/.package-lock.json, as its last step.
 * @param {string} root
 * @returns {string | undefined}
 */
export function difference(root) {
  const wanted = readLock(path.join(root, 'package-lock.json'));
  if (wanted === undefined)
    throw new SetupError('package-lock.json is missing or broken. Restore it from git.');
  const installed = readLock(path.join(root, 'node_modules', '.package-lock.json'));
  return installed === undefined ? 'the packages are not installed' : compare(wanted, installed);
}

/**
 * @param {Packages} wanted
 * @param {Packages} installed
 * @returns {string | undefined}
 */
export function compare(wanted, installed) {
  for (const [name, entry] of Object.entries(wanted)) {
    const found = installed[name];
    if (name === '' || (found === undefined && mayBeLeftOut(entry))) continue;
    if (found === undefined) return `${name} is not installed`;
    if (found.version !== entry.version || found.integrity !== entry.integrity) return `${name} has changed`;
    if (!fitsPlatform(entry)) return `${name} is for another platform`;
  }
  const extra = Object.keys(installed).find((name) => wanted[name] === undefined);
  return extra === undefined ? undefined : `${extra} is no longer needed`;
}

/**
 * npm leaves out an optional package that is for another platform, and the packages that only it needs.
 * @param {Locked} entry
 */
function mayBeLeftOut(entry) {
  if (entry.optional !== true) return false;
  const isForEverywhere = entry.os === undefined && entry.cpu === undefined;
  return isForEverywhere || entry.libc !== undefined || !fitsPlatform(entry);
}

/** @param {Platforms} entry */
function fitsPlatform(entry) {
  return fits(entry.os, process.platform) && fits(entry.cpu, process.arch);
}

/**
 * @param {string | readonly string[] | undefined} allowed names, or names to exclude with a `!` in front
 * @param {string} actual
 */
function fits(allowed, actual) {
  const names = [allowed ?? []].flat();
  if (names.includes(`!${actual}`)) return false;
  return names.includes(actual) || names.every((name) => name.startsWith('!'));
}

/**
 * @param {string} file
 * @returns {Packages | undefined}
 */
function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}
