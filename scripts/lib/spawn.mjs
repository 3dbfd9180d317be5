import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { constants as osConstants } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { isatty } from 'node:tty';

/**
 * Finds a program in `folders`, by default those of the PATH. Returns its full path.
 * @param {string} name
 * @param {readonly string[]} [folders]
 * @returns {string | undefined}
 */
export function findProgram(name, folders = (process.env['PATH'] ?? '').split(path.delimiter)) {
  const files = folders.filter((folder) => folder !== '').map((folder) => path.resolve(folder, name));
  return files.find((file) => isProgram(file));
}

/**
 * @param {string} file
 * @returns {boolean}
 */
export function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * Runs a helper program to its end. It gets no standard input, so it can never wait for an answer. Its output goes to
 * standard error. Resolves to its exit code, or 1 if it could not run or took too long.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ env?: Record<string, string>, quiet?: boolean, timeoutMs?: number, cwd?: string }} [options]
 * @returns {Promise<number>}
 */
export function runHelper(program, args, options = {}) {
  return new Promise((resolve) => {
    const output = options.quiet === true ? 'ignore' : 2;
    const child = spawn(program, args, {
      stdio: ['ignore', output, output],
      env: { ...process.env, ...options.env },
      timeout: options.timeoutMs ?? 600_000,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    child.once('error', () => resolve(1));
    child.once('close', (code) => resolve(code ?? 1));
  });
}

/**
 * Runs the requested program in place of this one: same streams, same signals, same exit code.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {Record<string, string>} [env]
 * @returns {Promise<number>} its exit code; 128 + n when a signal ended it
 */
export function runInstead(program, args, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...env } });
    const stopForwarding = forwardSignals(child);
    child.once('error', (error) => {
      stopForwarding();
      reject(error);
    });
    child.once('close', (code, signal) => {
      stopForwarding();
      resolve(code ?? 128 + (signal === null ? 0 : osConstants.signals[signal]));
    });
  });
}

/**
 * On a terminal, Ctrl-C reaches the child directly: forwarding it would count as a second Ctrl-C.
 * @param {import('node:child_process').ChildProcess} child
 */
function forwardSignals(child) {
  const onTerminal = isatty(0);
  const listeners = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']).map((name) => {
    const listener = () => {
      if (name !== 'SIGINT' || !onTerminal) child.kill(name);
    };
    process.on(name, listener);
    return /** @type {const} */ ([name, listener]);
  });
  return () => {
    for (const [name, listener] of listeners) process.off(name, listener);
  };
}
