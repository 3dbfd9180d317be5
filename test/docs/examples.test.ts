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

const EXAMPLE = new URL('../../docs/examples/simulator.yaml', import.meta.url);

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
  // The same, where exchange and Redis of this test are.
  const prefix = redis.prefix.replace(':', '');
  const own = text
    .replace('http://127.0.0.1:8080', simulator.baseUrl)
    .replace(/redis: .*/, `redis: { url: "${redis.url}", prefix: ${prefix} }`);
  await writeFile(configFile, own);
  const daemon = await startDaemon({ configFile, env: {}, webPort: 0 });
  closeAfterTest(async () => {
    if (!(await daemon.stop('the test ended', 10_000))) throw new Error('the daemon did not stop in time');
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
