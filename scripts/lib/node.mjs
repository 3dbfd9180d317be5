import { execFileSync } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { SetupError } from './say.mjs';
import { isProgram } from './spawn.mjs';

/**
 * Whether a Node of this version runs TypeScript sources without a flag.
 * @param {string} version such as v24.1.0
 */
export function runsSources(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return major >= 24 || (major === 23 && minor >= 6) || (major === 22 && minor >= 19);
}

/**
 * Whether it does so without a warning.
 * @param {string} version
 */
function isQuiet(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return major > 24 || (major === 24 && minor >= 12);
}

/** Needed from the start: the program installs its own handler some milliseconds later. */
const NO_DEBUGGER = '--disable-sigusr1';

/**
 * Finds a Node that can run the sources: this one, or the Linux one from npm.
 * @param {string} root
 * @returns {{ program: string, flags: string[], isThisProcess: boolean }}
 */
export function findNode(root) {
  if (runsSources(process.version)) {
    const quiet = isQuiet(process.version);
    const flags = [NO_DEBUGGER, ...(quiet ? [] : ['--disable-warning=ExperimentalWarning'])];
    return { program: process.execPath, flags, isThisProcess: quiet };
  }
  const packaged = path.join(root, 'node_modules', '.bin', 'node');
  if (isProgram(packaged) && runsSources(versionOf(packaged))) {
    return { program: packaged, flags: [NO_DEBUGGER], isThisProcess: false };
  }
  throw new SetupError(
    `this needs Node 22.19 or newer, and here is ${process.version} on ${process.platform}-${process.arch}, ` +
      'for which npm brings no newer one. Install it from https://nodejs.org and run the same again.',
  );
}

/** @param {string} program */
function versionOf(program) {
  try {
    return execFileSync(program, ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    // For example, a binary for another libc.
    return 'v0.0.0';
  }
}
