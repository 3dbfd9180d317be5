import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';

/** Runs every benchmark beside this file, one after another, each in a process of its own. */
const HELPERS = new Set(['main.ts', 'rounds.ts', 'replies.ts', 'reply-server.ts']);
const directory = new URL('.', import.meta.url);
for (const file of readdirSync(directory).filter((name) => name.endsWith('.ts') && !HELPERS.has(name))) {
  const child = spawn(process.execPath, [new URL(file, directory).pathname], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) {
    process.stderr.write(`${file} ended with ${String(code)}\n`);
    process.exitCode = 1;
  }
}
