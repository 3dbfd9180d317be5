import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';

const PROGRAM = path.join(import.meta.dirname, 'fixtures/young-generation.ts');
const MB = 1_048_576;

/** In a process of its own, as the flags of V8 are one process's. */
function mostMb(...args: readonly string[]): number {
  return Number(execFileSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8' })) / MB;
}

test('while a daemon starts its young generation stays as V8 begins with it; V8 by itself lets it grow', () => {
  expect(mostMb('unbound')).toBeGreaterThan(16);
  expect(mostMb('bound')).toBeLessThanOrEqual(2);
});

test('with few accounts it stays so, and with many it may grow', () => {
  expect(mostMb('followed', '3')).toBeLessThanOrEqual(2);
  expect(mostMb('followed', '1000')).toBeGreaterThan(2);
});
