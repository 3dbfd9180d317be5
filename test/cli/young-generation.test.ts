import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const PROGRAM = path.join(import.meta.dirname, 'fixtures/young-generation.ts');
const MB = 1_048_576;

/**
 * Below this much old space V8 does not mark. While it marks, the young generation takes pages beyond its bound and
 * returns them at the end: how many depends on the load of the machine, and says nothing about the bound.
 */
const WITHOUT_MARKING = '--initial-old-space-size=512';

/** Runs in its own process, because V8 flags are per process. */
async function mostMb(...args: readonly string[]): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [WITHOUT_MARKING, PROGRAM, ...args]);
  return Number(stdout) / MB;
}

test("while a daemon starts, its young generation keeps V8's initial size; unbound it grows", async () => {
  expect(await mostMb('unbound')).toBeGreaterThan(16);
  expect(await mostMb('bound')).toBeLessThanOrEqual(4);
});

test('it keeps that size with few accounts, and may grow with many', async () => {
  const [few, many] = await Promise.all([mostMb('followed', '3'), mostMb('followed', '1000')]);
  expect(few).toBeLessThanOrEqual(4);
  expect(many).toBeGreaterThan(4);
});
