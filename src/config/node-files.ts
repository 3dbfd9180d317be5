import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { type ConfigSurroundings, type FileReading, MAX_FILE_BYTES } from './surroundings.ts';

const OTHERS_MAY_READ = 0o004;
const OTHERS_MAY_WRITE = 0o002;
const GROUP_MAY_WRITE = 0o020;

/** Surroundings with the real files of this machine; `env` has the form of `process.env`. */
export function nodeSurroundings(env: ConfigSurroundings['env']): ConfigSurroundings {
  return {
    readFile: readFileWithin,
    env,
    resolvePath: (fromFile, written) => path.resolve(path.dirname(fromFile), written),
    // The relative path also holds for the copies in dist: dist/config from dist/src/config.
    ruleSetFile: (name) => fileURLToPath(new URL(`../../config/rulesets/${name}.yaml`, import.meta.url)),
  };
}

function readFileWithin(file: string): FileReading {
  let descriptor: number;
  try {
    // Opening a pipe would otherwise wait for somebody who writes, and the whole process with it.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    return { kind: 'failed', why: reason(error) };
  }
  try {
    const stats = fstatSync(descriptor);
    if (stats.isDirectory()) return { kind: 'failed', why: 'a folder' };
    if (!stats.isFile()) return { kind: 'failed', why: 'a pipe or a device' };
    if (stats.size > MAX_FILE_BYTES) return { kind: 'failed', why: `a file of ${stats.size} bytes` };
    const hasModes = process.platform !== 'win32';
    return {
      kind: 'read',
      text: readFileSync(descriptor, 'utf8'),
      worldReadable: hasModes && (stats.mode & OTHERS_MAY_READ) !== 0,
      othersMayWrite: hasModes && othersMayWrite(stats),
    };
  } catch (error) {
    return { kind: 'failed', why: reason(error) };
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Whether anybody but this process's user and root may change a file. A group with the owner's number counts as the
 * owner: most systems create one group per user.
 */
export function othersMayWrite(
  { mode, uid, gid }: Readonly<Record<'mode' | 'uid' | 'gid', number>>,
  ownUid = process.geteuid?.(),
): boolean {
  if (uid !== 0 && uid !== ownUid) return true;
  return (mode & OTHERS_MAY_WRITE) !== 0 || ((mode & GROUP_MAY_WRITE) !== 0 && uid !== gid);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'no permission to read it',
  ENOTDIR: 'no such file (a part of its path is not a folder)',
  EISDIR: 'a folder',
};

function reason(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  return REASONS[code] ?? `an error on reading it (${code})`;
}
