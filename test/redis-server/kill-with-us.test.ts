import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { expect, test } from 'vitest';
import { killWithUs } from '../../src/redis-server/kill-with-us.ts';

test('a dozen children were a dozen listeners on this process, which warned of a leak', async () => {
  const before = process.listenerCount('exit');
  const children = Array.from({ length: 12 }, () => spawn('sleep', ['60'], { stdio: 'ignore' }));
  for (const child of children) killWithUs(child);
  expect(process.listenerCount('exit')).toBeLessThanOrEqual(before + 1);
  const ends = children.map((child) => once(child, 'exit'));
  for (const child of children) child.kill();
  await Promise.all(ends);
  expect(process.listenerCount('exit')).toBe(before);
});

test('none of them stays behind when this process exits', async () => {
  const file = new URL('../../src/redis-server/kill-with-us.ts', import.meta.url).href;
  const script = `
    import { spawn } from 'node:child_process';
    import { killWithUs } from '${file}';
    for (const _child of [1, 2]) killWithUs(spawn('sleep', ['60'], { stdio: ['ignore', 'inherit', 'ignore'] }));
    process.exit(3);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // 'close' comes when nobody holds the output any more, which the children inherit.
  expect(await once(parent, 'close')).toEqual([3, null]);
});
