import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startChild } from './child.ts';
import { openScene } from './scene.ts';
import { eventually, openDaemonWorld } from './world.ts';

/** Far more than a process needs to end, and less than the wait for an order that hangs. */
const ENDS_WITHIN_MS = 30_000;

test('a daemon that waits for the exchange ends when the time to stop is over, and reports that it was not graceful', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, {
    exchange: '  timeouts: { attempt: 60s, call: 60s }\n',
    accounts: { long: { rules: ['rule'] } },
    rules: `  - id: rule
    on: position
    when: { amount: { above: 0.1 } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`,
  });
  simulator.injectFault({ effect: { kind: 'hang' }, target: { endpoint: 'stopLimit' } });
  const { child, ended, output } = startChild(world, { args: ['--stop-within', '1'] });
  const isOrdered = () =>
    simulator.requestLog({ account: 'long' }).some(({ endpoint }) => endpoint === 'stopLimit');
  await eventually(isOrdered, 'an order that hangs', output);
  child.kill('SIGTERM');
  expect(await Promise.race([ended, delay(ENDS_WITHIN_MS, 'still there', { ref: false })])).toBe(1);
  expect(output()).toContain('did not end within 1 s');
});
