import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigWatch, loadOrThrow, markOf } from '../../src/app/config-watch.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';

const account = (id: string, mode = 'enforce'): string =>
  `  - { id: ${id}, mode: ${mode}, apiKey: { env: KEY_${id} }, apiSecret: { env: SECRET }, rules: [stop, far] }\n`;

const RULES = `rules:
  - id: stop
    on: position
    when: { liquidationDistance: { below: 5% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
  - id: far
    on: position
    when: { liquidationDistance: { below: 9% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
const HEAD = `exchange: { baseUrls: ['http://127.0.0.1:9'] }
insecure: [redis]
redis: { url: 'redis://127.0.0.1:9' }
markets: { BTC_PERP: { amountStep: '0.001', priceStep: '0.1', minAmount: '0.001', maintenanceMargin: 3% } }
${RULES}accounts:
`;
const ALL = HEAD + account('a') + account('b') + account('c');

async function open(text: string) {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-watch-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'breakwater.yaml');
  await writeFile(file, text);
  const env = { KEY_a: 'key-of-a', KEY_b: 'key-of-b', KEY_c: 'key-of-c', SECRET: 'a-secret-of-all' };
  const adopted: (readonly string[])[] = [];
  const lost: string[] = [];
  const watch = new ConfigWatch(
    {
      file,
      env,
      needsKeys: true,
      mark: await markOf(file),
      telemetry: {
        emit: (event: DaemonEvent) => void (event.kind === 'configReloaded' && lost.push(...event.lost)),
      },
      adopt: async ({ accounts }) => void adopted.push(accounts.map(({ id }) => id)),
    },
    loadOrThrow(file, env).config,
  );
  const look = async (times: number): Promise<void> => {
    for (let count = 0; count < times; count += 1) await watch.look();
  };
  return { watch, file, adopted, lost, look };
}

test('the first half of a config that was saved in two writes came into force: accounts were unwatched', async () => {
  const { file, adopted, look, lost } = await open(ALL);
  await look(2);
  await writeFile(file, HEAD + account('a'));
  await look(2);
  await writeFile(file, `${ALL}# a comment, so that the file differs\n`);
  await look(5);
  expect(adopted.flat()).toEqual([]);
  // Read once it stands still: a real change comes into force.
  await writeFile(file, HEAD + account('a') + account('b') + account('c', 'observe'));
  await look(5);
  expect(adopted).toEqual([['a', 'b', 'c']]);
  expect(lost).toEqual(['account c is only observed now']);
});

test('a reload with fewer accounts or rules says which', async () => {
  const { file, lost, watch } = await open(ALL);
  const fewer = account('a').replace(', far', '');
  await writeFile(file, HEAD + fewer + account('c'));
  expect((await watch.reload()).kind).toBe('adopted');
  expect(lost).toEqual(['account b is no longer watched', 'account a has lost far']);
});
