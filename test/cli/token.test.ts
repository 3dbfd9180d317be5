import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { runCommandLine } from '../support/cli.ts';

test('token prints a random token, and the config entry that accepts it', async () => {
  const { exitCode, stdout, stderr } = await runCommandLine(['token', 'ann', '--scopes', 'control,operate']);
  const token = stdout.trim();
  const hash = createHash('sha256').update(token).digest('hex');
  expect(exitCode).toBe(0);
  expect(token).toMatch(/^bw_[\w-]{43}$/);
  expect(stderr).toContain(
    `web:\n  users:\n    ann:\n      scopes: [control, operate]\n      tokenHash: sha256:${hash}\n`,
  );
  expect(stderr).not.toContain(token);
  const again = JSON.parse((await runCommandLine(['token', 'ann', '--json'])).stdout) as Record<
    string,
    unknown
  >;
  expect(again).toMatchObject({ name: 'ann', scopes: ['read'] });
  expect(again['token']).not.toBe(token);
});

test.each([
  [['ann', '--scopes', 'admin'], '"admin" is no scope; there are read, control, operate'],
  [['a b'], 'A name has letters'],
  [[], "missing required argument 'name'"],
])('token %j is refused', async (args, expected) => {
  const { exitCode, stderr } = await runCommandLine(['token', ...args]);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(expected)]);
});
