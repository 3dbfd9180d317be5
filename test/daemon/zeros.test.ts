import { readFile, writeFile } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { closeAfterTest } from '../contract/support/world.ts';
import { send, startServer } from '../exchange/call/raw-server.ts';
import { openScene } from './scene.ts';
import { eventually, openDaemonWorld, troubles } from './world.ts';

const zeros = (bytes: number): string => `[${'0,'.repeat(bytes / 2 - 1)}0]`;
const HEALTH_CHECKS = 10;
/** A stopped process does not answer within this time; a busy machine does. */
const ANSWERED_WITHIN_MS = 20_000;

test.each([
  ['10 KB', zeros(10_000)],
  ['4 KB, which pass the bounds,', zeros(3_900)],
  ['16 MB', zeros(16_000_000)],
])(
  'a reply of %s of zeros neither floods the log nor stops the process (health checks answered)',
  async (_size, body) => {
    let served = 0;
    const exchange = await startServer((_request, response) => {
      served += 1;
      send(response, 200, body);
    });
    closeAfterTest(() => exchange.close());
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
    await writeFile(world.configFile, config.replace(simulator.baseUrl, exchange.baseUrl));
    const stream = new PassThrough();
    let lines = 0;
    stream.on('data', (chunk: Buffer) => {
      lines += String(chunk).split('\n').length - 1;
    });
    const log = { stream, isTerminal: false, colours: false, format: 'json' } as const;
    const daemon = await world.start({ log, webPort: 0 });
    const shown = () => troubles(world.events);
    await eventually(() => served > 0, 'a read', shown);
    let answered = 0;
    for (let check = 0; check < HEALTH_CHECKS; check++) {
      const signal = AbortSignal.timeout(ANSWERED_WITHIN_MS);
      const reply = await fetch(`${daemon.webUrl()}/healthz`, { signal }).catch(() => undefined);
      if (reply?.status === 200) answered += 1;
      await reply?.body?.cancel();
    }
    expect(answered).toBe(HEALTH_CHECKS);
    await eventually(() => served > 3, 'further reads', shown);
    expect(lines).toBeLessThan(100);
  },
);
