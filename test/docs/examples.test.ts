import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startDaemon } from '../../src/app/daemon.ts';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { startSimulatedExchange } from '../../src/simulator/start-simulated-exchange.ts';
import { closeAfterTest } from '../contract/support/world.ts';
import { eventually } from '../daemon/world.ts';
import { runCommandLine } from '../support/cli.ts';
import { startPrivateRedis } from '../support/redis.ts';
import { blocksOf } from './documented-commands.ts';

const EXAMPLE = new URL('../../docs/examples/simulator.yaml', import.meta.url);

const COMMON = `exchange: { baseUrls: [https://api.exchange.example] }
acting: { cancel: never }
markets: { "*": { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3% } }
`;

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'breakwater-examples-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('docs/examples/simulator.yaml: `check` finds nothing wrong, and a daemon with it judges every account', async () => {
  const simulator = await startSimulatedExchange({ seed: 7 });
  closeAfterTest(() => simulator.close());
  const redis = await startPrivateRedis();
  closeAfterTest(() => redis.stop());
  await mkdir(path.join(folder, 'keys'));
  for (const { id, apiKey, apiSecret } of simulator.accounts) {
    for (const [ending, text] of [
      ['key', apiKey],
      ['secret', apiSecret],
    ] as const) {
      const file = path.join(folder, 'keys', `${id}.${ending}`);
      await writeFile(file, text);
      await chmod(file, 0o600);
    }
  }
  const configFile = path.join(folder, 'simulator.yaml');
  const text = await readFile(EXAMPLE, 'utf8');
  await writeFile(configFile, text);
  const check = await runCommandLine(['check', configFile], { env: {} });
  expect([check.exitCode, check.stderr]).toEqual([EXIT.ok, '']);
  expect(check.stdout).not.toMatch(/warning|error/);
  // The same, with the exchange and Redis of this test.
  const prefix = redis.prefix.replace(':', '');
  const own = text
    .replace('http://127.0.0.1:8080', simulator.baseUrl)
    .replace(/redis: .*/, `redis: { url: "${redis.url}", prefix: ${prefix} }`);
  await writeFile(configFile, own);
  const daemon = await startDaemon({ configFile, env: {}, webPort: 0 });
  closeAfterTest(async () => {
    if (!(await daemon.stop('the test ended', 30_000))) throw new Error('the daemon did not stop in time');
  });
  const ids = simulator.accounts.map(({ id }) => id);
  expect(text.match(/id: account-\d/g)).toEqual(ids.map((id) => `id: ${id}`));
  await eventually(async () => {
    const { stdout } = await runCommandLine(['status', '--config', configFile, '--json'], { env: {} });
    const { accounts } = JSON.parse(stdout) as {
      accounts: { judgedAtMs: number | null; positions: unknown[] }[];
    };
    return (
      accounts.length === 3 &&
      accounts.every(({ judgedAtMs, positions }) => judgedAtMs !== null && positions.length > 0)
    );
  }, 'every account judged');
});

test('docs/config.md, many accounts: the commands make a valid config of 200 accounts', async () => {
  const page = await readFile(new URL('../../docs/config.md', import.meta.url), 'utf8');
  const [block] = blocksOf(page.slice(page.indexOf('## Many accounts')));
  const [make = '', check = ''] = (block?.script ?? '').split(/^(?=breakwater check)/m);
  expect(check).toMatch(/^breakwater check breakwater\.next\.yaml && mv \S+ breakwater\.yaml$/m);
  const ids = Array.from({ length: 200 }, (_, index) => `desk-${index}`);
  await writeFile(path.join(folder, 'common.yaml'), COMMON);
  await writeFile(path.join(folder, 'accounts.txt'), `${ids.join('\n')}\n`);
  await mkdir(path.join(folder, 'keys'));
  for (const file of ids.flatMap((id) => [`${id}.key`, `${id}.secret`]))
    await writeFile(path.join(folder, 'keys', file), file, { mode: 0o600 });
  execFileSync('sh', ['-euc', make], { cwd: folder });
  const run = await runCommandLine(['check', path.join(folder, 'breakwater.next.yaml'), '--json'], {
    env: {},
  });
  expect(JSON.parse(run.stdout)).toMatchObject({ problems: [] });
});
