import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { type Daemon, startDaemon } from '../../src/app/daemon.ts';
import { decimal as d } from '../../src/core/quantities/decimal.ts';
import { type PrivateRedis, startPrivateRedis } from '../../src/redis-server/private-redis.ts';
import type { SeedAccount } from '../../src/simulator/model/types.ts';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../src/simulator/start-simulated-exchange.ts';
import { startReceiver } from '../notify/receiver.ts';
import { launchBrowser, openPage } from '../support/browser.ts';
import { drift, until } from './desk.ts';
import { withPalette } from './png.ts';

/**
 * Takes pictures of the page in every state that people have to tell apart, for 1, 20 and 200 accounts, on a desk and a
 * phone, light and dark: real daemons on a real Redis, with the simulated exchange.
 * `node test/page/states.ts [folder] [counts]`
 */

const FOLDER = process.argv[2] ?? path.resolve(import.meta.dirname, '../../docs/images/states');
const COUNTS = (process.argv[3] ?? '1,20,200').split(',').map(Number);
const DEVICES = {
  desk: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};
const STATES = ['calm', 'crash', 'exchange-down', 'redis-down', 'awaiting-approval'] as const;
type State = (typeof STATES)[number];

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

async function says(scene: Scene, words: string): Promise<boolean> {
  const reply = await fetch(`${scene.daemon.webUrl()}/api/v1/overview`);
  return (await reply.text()).includes(words);
}

/** Brings about a state, and waits until the page has it to show. */
const ENTER: Readonly<Record<State, (scene: Scene) => Promise<void>>> = {
  async calm(scene) {
    await until(() => says(scene, `"accounts":${scene.count}`), 'all accounts');
    await sleep(5_000);
  },
  async crash({ simulator }) {
    await drift(simulator, 22, -0.004);
    await sleep(3_000);
  },
  async 'exchange-down'({ simulator }) {
    simulator.injectFault({ effect: { kind: 'status', status: 503 }, target: {} });
    await sleep(15_000);
  },
  async 'redis-down'({ simulator, redis }) {
    simulator.clearFaults();
    await sleep(8_000);
    await redis.stop();
    await sleep(10_000);
  },
  async 'awaiting-approval'(scene) {
    await until(() => says(scene, 'wait'), 'a question');
    await sleep(8_000);
  },
};

async function shoot(browser: Browser, scene: Scene, state: State): Promise<void> {
  for (const [device, options] of Object.entries(DEVICES)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await openPage(browser, { ...options, colorScheme });
      await page.goto(scene.daemon.webUrl() ?? '');
      await page.locator('.account').first().waitFor();
      await sleep(2_500);
      const file = path.join(FOLDER, `${state}-${scene.count}-${device}-${colorScheme}.png`);
      await writeFile(file, withPalette(await page.screenshot()));
      await page.context().close();
    }
  }
  process.stderr.write(`${state}, ${scene.count} accounts\n`);
}

async function withClosers(run: (closers: Closers) => Promise<void>): Promise<void> {
  const closers: Closers = [];
  try {
    await run(closers);
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

await mkdir(FOLDER, { recursive: true });
await withClosers(async (outer) => {
  const browser = await launchBrowser();
  outer.push(() => browser.close());
  for (const count of COUNTS) {
    await withClosers(async (closers) => {
      const scene = await openScene('enforce', count, closers);
      for (const state of ['calm', 'crash', 'exchange-down', 'redis-down'] as const) {
        await ENTER[state](scene);
        await shoot(browser, scene, state);
      }
    });
    await withClosers(async (closers) => {
      const scene = await openScene('approve', count, closers);
      await ENTER['awaiting-approval'](scene);
      await shoot(browser, scene, 'awaiting-approval');
    });
  }
});
