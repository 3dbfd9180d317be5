#!/usr/bin/env node
import { tooOld } from './node-version.ts';

const words = tooOld(process.version);
if (words === undefined) {
  // Imported only here: on an older Node its modules would fail with an unhelpful error.
  const { runProcess } = await import('./process.ts');
  await runProcess();
} else {
  process.stderr.write(`breakwater: ${words}\n`);
  process.exitCode = 1;
}
