import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const RULE_FILES = ['recording.yml', 'alerts.yml'].map((name) =>
  fileURLToPath(new URL(`../../config/prometheus/rules/${name}`, import.meta.url)),
);

export interface Ran {
  readonly code: number;
  readonly output: string;
}

/** Runs a program to its end; undefined if it is not installed. */
export async function run(program: string, args: readonly string[]): Promise<Ran | undefined> {
  return await new Promise((resolve, reject) => {
    execFile(program, [...args], { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`;
      if (error === null) resolve({ code: 0, output });
      else if (error.code === 'ENOENT') resolve(undefined);
      else if (typeof error.code === 'number') resolve({ code: error.code, output });
      else reject(error);
    });
  });
}

export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-files-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
}
