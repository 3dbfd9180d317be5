import { readFile, writeFile } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { openScene, ours } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

test('one exchange address does not resolve: the daemon acts through the other, and log and metrics name the cause', async () => {
  const simulator = await openScene();
  const world = await openDaemonWorld(simulator, {
    accounts: { long: { rules: ['rule'] } },
    rules: `  - id: rule
    on: position
    when: { size: { above: 0.1 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`,
  });
  const config = await readFile(world.configFile, 'utf8');
  await writeFile(world.configFile, config.replace('baseUrls: [', 'baseUrls: ["https://lost.invalid", '));
  const stream = new PassThrough();
  let log = '';
  stream.on('data', (chunk: Buffer) => {
    log += String(chunk);
  });
  const daemon = await world.start({
    log: { stream, isTerminal: false, colours: false, format: 'json' },
    webPort: 0,
  });
  await eventually(
    () => ours(simulator, 'long').length > 0,
    'an order',
    () => troubles(world.events),
  );
  const line = log.split('\n').find((one) => one.includes('"event":"exchangePath"')) ?? '';
  expect(JSON.parse(line)).toMatchObject({
    level: 'warn',
    host: 'lost.invalid',
    reason: 'nameNotResolved',
    words: 'lost.invalid: the name of the exchange could not be resolved (DNS)',
  });
  const metrics = await (await fetch(`${daemon.webUrl()}/metrics`)).text();
  expect(metrics).toMatch(
    /^breakwater_exchange_path_failures_total\{host="lost.invalid",error="nameNotResolved"\} [1-9]/m,
  );
});
