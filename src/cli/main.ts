#!/usr/bin/env node
import { tooOld } from './node-version.ts';

const words = tooOld(process.version);
if (words === undefined) {
  // Not before: what it loads ends an older Node with an error that says nothing.
  const { runProcess } = await import('./process.ts');
  await runProcess();
} else {
  process.stderr.write(`breakwater: ${words}\n`);
  process.exitCode = 1;
}
