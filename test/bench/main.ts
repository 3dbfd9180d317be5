import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';

/**
 * Runs the benchmarks beside this file one after another, each in its own process: all of them, or those named (`npm
 * run bench -- call signing`). Prints one JSON line per figure.
 */
const HELPERS = new Set([
  'main.ts',
  'rounds.ts',
  'replies.ts',
  'reply-server.ts',
  'steady.ts',
  'fleet-server.ts',
  'attackers.ts',
  'installed.ts',
  'calm-exchange.ts',
  'end-in-time.ts',
]);
const directory = new URL('.', import.meta.url);
const wanted = process.argv.slice(2);
const benches = readdirSync(directory).filter((name) => name.endsWith('.ts') && !HELPERS.has(name));
const unknown = wanted.filter((name) => !benches.includes(`${name}.ts`));
if (unknown.length > 0) {
  process.stderr.write(
    `no benchmark ${unknown.join(', ')}; there are ${benches.map((name) => name.slice(0, -3)).join(', ')}\n`,
  );
  process.exit(2);
}
const chosen = wanted.length === 0 ? benches : wanted.map((name) => `${name}.ts`);
for (const file of chosen) {
  const child = spawn(process.execPath, [new URL(file, directory).pathname], { stdio: 'inherit' });
  const stop = (): void => void child.kill('SIGTERM');
  process.on('SIGTERM', stop);
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  process.off('SIGTERM', stop);
  if (code !== 0) {
    process.stderr.write(`${file} ended with ${String(code)}\n`);
    process.exitCode = 1;
  }
  if (signal !== null) break;
}
