import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { type Daemon, startDaemon } from '../../src/app/daemon.ts';
import { decimal as d } from '../../src/core/quantities/decimal.ts';
import { type PrivateRedis, startPrivateRedis } from '../../src/redis-server/private-redis.ts';
import type { SeedAccount } from '../../src/simulator/model/types.ts';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../src/simulator/start-simulated-exchange.ts';
import { startReceiver } from '../notify/receiver.ts';
import { drift, until } from './desk.ts';

/** What the pictures of all states show: how each is brought about, and what the page must then say. */

/** Every fifth is short and every third far from liquidation, so that a crash hits most but not all. */
function seeds(mode: 'enforce' | 'approve', count: number): readonly SeedAccount[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `desk-${String(index + 1).padStart(3, '0')}`,
    hedgeMode: false,
    leverage: 10,
    collateral: { USDT: d(mode === 'approve' || index % 3 === 2 ? '25000' : '4600') },
    main: { USDT: d('2500') },
    positions: [
      {
        market: 'BTC_PERP',
        direction: index % 5 === 4 ? ('short' as const) : ('long' as const),
        amount: d('0.5'),
      },
    ],
  }));
}

const HOOK = 'a-secret-of-a-receiver-for-pictures';
const RULES: Readonly<Record<'enforce' | 'approve', string>> = {
  enforce: `  - id: near-liquidation
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ reduce: { untilDistance: 10%, slippage: 0.5% } }]
    severity: critical
`,
  approve: `  - id: halve
    on: position
    when: { amount: { above: 0.3 } }
    keepFiringFor: 10m
    do: [{ reduce: { by: 50%, slippage: 1% } }]
    severity: critical
`,
};

interface Scene {
  readonly count: number;
  readonly simulator: RunningSimulator;
  readonly redis: PrivateRedis;
  readonly daemon: Daemon;
}

type Closers = (() => Promise<unknown>)[];

async function openScene(mode: 'enforce' | 'approve', count: number, closers: Closers): Promise<Scene> {
  const redis = await startPrivateRedis({ env: process.env, name: 'states' });
  closers.push(() => redis.stop());
  const simulator = await startSimulatedExchange({ accounts: seeds(mode, count), speed: 1, limits: [] });
  closers.push(() => simulator.close());
  const receiver = await startReceiver();
  closers.push(() => receiver.close());
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-states-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const configFile = path.join(folder, 'breakwater.yaml');
  const names = simulator.accounts.map(({ id, apiKey, apiSecret }) => ({
    id,
    key: `KEY_${id.replaceAll('-', '_')}`,
    secret: `SECRET_${id.replaceAll('-', '_')}`,
    apiKey,
    apiSecret,
  }));
  const accounts = names.map(
    ({ id, key, secret }) =>
      `  - { id: ${id}, apiKey: { env: ${key} }, apiSecret: { env: ${secret} }, rules: [${mode === 'enforce' ? 'near-liquidation' : 'halve'}] }\n`,
  );
  const text = `mode: ${mode}
exchange: { baseUrls: ["${simulator.baseUrl}"], lateArrival: 200ms }
redis: { url: "${redis.url}", prefix: "${redis.prefix.replace(/:$/, '')}" }
insecure: [redis]
web: { port: 0 }
cadence: { calm: 2s, alert: 1s }
acting: { fillWithin: 120s }
${mode === 'approve' ? `approval: { within: 10m }\nchannels: { hook: { type: webhook, url: "${receiver.url}/hook", secret: { env: HOOK } } }\n` : ''}markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
${accounts.join('')}rules:
${RULES[mode]}`;
  await writeFile(configFile, text, { mode: 0o600 });
  const keys = names.flatMap(({ key, secret, apiKey, apiSecret }) => [
    [key, apiKey],
    [secret, apiSecret],
  ]);
  const daemon = await startDaemon({
    configFile,
    env: { ...process.env, ...Object.fromEntries(keys), HOOK },
  });
  closers.push(() => daemon.stop('the pictures are taken', 10_000));
  return { count, simulator, redis, daemon };
}
