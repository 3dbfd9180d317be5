import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface Ran {
  readonly code: number;
  readonly output: string;
}

/** Runs a program to its end, with `input` if it reads any; undefined when it is not installed. */
export async function run(
  program: string,
  args: readonly string[],
  input?: string,
): Promise<Ran | undefined> {
  return await new Promise((resolve, reject) => {
    const child = execFile(program, [...args], { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`;
      if (error === null) resolve({ code: 0, output });
      else if (error.code === 'ENOENT') resolve(undefined);
      else if (typeof error.code === 'number') resolve({ code: error.code, output });
      else reject(error);
    });
    if (input === undefined) return;
    child.stdin?.on('error', reject);
    child.stdin?.end(input);
  });
}

/** What `promtool check metrics` says of a scrape. */
export async function checkMetrics(text: string): Promise<Ran | undefined> {
  return await run('promtool', ['check', 'metrics'], text);
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
