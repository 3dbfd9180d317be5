import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const PROGRAM = path.join(import.meta.dirname, 'fixtures/young-generation.ts');
const MB = 1_048_576;

/**
 * V8 marks nothing while it holds less old space than this. While it marks, the young generation takes pages beyond its
 * size, and gives them back at the end: how many depends on how busy the machine is, and says nothing of the bound.
 */
const WITHOUT_MARKING = '--initial-old-space-size=512';

/** In a process of its own, as the flags of V8 are one process's. */
async function mostMb(...args: readonly string[]): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [WITHOUT_MARKING, PROGRAM, ...args]);
  return Number(stdout) / MB;
}

test('while a daemon starts its young generation stays as V8 begins with it; V8 by itself lets it grow', async () => {
  expect(await mostMb('unbound')).toBeGreaterThan(16);
  expect(await mostMb('bound')).toBeLessThanOrEqual(4);
});

test('with few accounts it stays so, and with many it may grow', async () => {
  const [few, many] = await Promise.all([mostMb('followed', '3'), mostMb('followed', '1000')]);
  expect(few).toBeLessThanOrEqual(4);
  expect(many).toBeGreaterThan(4);
});
