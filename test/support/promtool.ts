import { execFile } from 'node:child_process';

/** Findings of `promtool check metrics` in a scrape; undefined if it is not installed. */
export async function promtool(text: string): Promise<{ code: number; output: string } | undefined> {
  return await new Promise((resolve, reject) => {
    const child = execFile('promtool', ['check', 'metrics'], (error, stdout, stderr) => {
      if (error === null) return resolve({ code: 0, output: `${stdout}${stderr}` });
      if (error.code === 'ENOENT') return resolve(undefined);
      return resolve({ code: Number(error.code), output: `${stdout}${stderr}` });
    });
    child.stdin?.on('error', reject);
    child.stdin?.end(text);
  });
}
