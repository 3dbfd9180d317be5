import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, '../..');
const MOST_BYTES = 64 * 2 ** 20;

/** The sources of another version, with the packages of this one. */
export interface OtherTree {
  readonly folder: string;
  /** Short hash and subject of its commit. */
  readonly words: string;
  readonly remove: () => Promise<void>;
}

/** The requested version cannot run here; the message says why. */
export class NoSuchVersionError extends Error {}

/** Writes the sources of a commit of this repository into a folder. @throws NoSuchVersionError */
export async function openOtherTree(ref: string): Promise<OtherTree> {
  const git = async (...args: readonly string[]): Promise<string> => {
    const { stdout } = await run('git', ['-C', ROOT, ...args], { maxBuffer: MOST_BYTES });
    return stdout.trim();
  };
  const commit = await git('rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`).catch(() => {
    throw new NoSuchVersionError(`there is no commit ${ref} here`);
  });
  const words = await git('log', '-1', '--format=%h %s', commit);
  const others = await otherPackages(await git('show', `${commit}:package-lock.json`));
  if (others.length > 0) {
    throw new NoSuchVersionError(
      `${words} needs packages that are not installed here: ${others.slice(0, 5).join(', ')}`,
    );
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-version-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const archive = path.join(folder, 'sources.tar');
    await git('archive', `--output=${archive}`, commit);
    await run('tar', ['-xf', archive, '-C', folder]);
    await rm(archive);
    await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  } catch (error) {
    await remove();
    throw error;
  }
  return { folder, words, remove };
}

interface LockedPackage {
  readonly version?: string;
  readonly dev?: true;
  readonly devOptional?: true;
  readonly optional?: true;
}

/** Dependencies that it needs and this version lacks, or has in another version. */
async function otherPackages(text: string): Promise<readonly string[]> {
  const here = packagesIn(await readFile(path.join(ROOT, 'package-lock.json'), 'utf8'));
  return [...packagesIn(text)].flatMap(([name, { version = '', dev, devOptional, optional }]) => {
    const isNeeded = name !== '' && dev !== true && devOptional !== true && optional !== true;
    return isNeeded && here.get(name)?.version !== version ? [`${name}@${version}`] : [];
  });
}

function packagesIn(text: string): ReadonlyMap<string, LockedPackage> {
  const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, LockedPackage>> };
  return new Map(Object.entries(packages));
}
