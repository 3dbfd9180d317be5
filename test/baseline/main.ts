import process from 'node:process';
import { runBaseline } from './baseline.ts';

/** `npm run baseline -- --help` explains it. */
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
try {
  process.exitCode = await runBaseline(process.argv.slice(2), {
    stdout: process.stdout,
    stderr: process.stderr,
    isTty: { stdin: false, stdout: process.stdout.isTTY, stderr: process.stderr.isTTY },
    env: process.env,
    signal: stop.signal,
  });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
