import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import pkg from '../../package.json' with { type: 'json' };
import { OLDEST_NODE, tooOld } from '../../src/cli/node-version.ts';

const MAIN = path.join(import.meta.dirname, '../../src/cli/main.ts');

test('an older Node is refused with the required version', async () => {
  // Gives the program another version, and prints which files it loads.
  const older = [
    'import { registerHooks } from "node:module";',
    'Object.defineProperty(process, "version", { value: "v20.20.2" });',
    'registerHooks({ load: (url, context, next) => { console.log(url.split("/").at(-1)); return next(url, context); } });',
  ].join('\n');
  const args = ['--import', `data:text/javascript,${encodeURIComponent(older)}`, MAIN, 'version'];
  const failed = await promisify(execFile)(process.execPath, args).then(
    () => expect.fail('it ran'),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
  expect(failed).toMatchObject({
    code: 1,
    stdout: 'main.ts\nnode-version.ts\n',
    stderr: expect.stringMatching(
      /^breakwater: .* Node\.js 22\.19 or newer, and this is v20\.20\.2\./,
    ) as string,
  });
});

test.each([
  ['v20.20.2', false],
  ['v22.18.9', false],
  ['v22.19.0', true],
  ['v24.0.0', true],
])('Node %s: %s', (version, isEnough) => {
  expect(tooOld(version) === undefined).toBe(isEnough);
});

test('package.json requires the same version', () => {
  expect(pkg.engines.node).toBe(`>=${OLDEST_NODE}`);
});
