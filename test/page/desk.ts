import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Daemon, startDaemon } from '../../src/app/daemon.ts';
import { decimal as d } from '../../src/core/quantities/decimal.ts';
import { type PrivateRedis, startPrivateRedis } from '../../src/redis-server/private-redis.ts';
import type { SeedAccount } from '../../src/simulator/model/types.ts';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../src/simulator/start-simulated-exchange.ts';
import { environment } from '../daemon/config.ts';
import type { Closers } from '../support/closers.ts';
import { isOurs } from '../support/own-orders.ts';

/** The scene of the pictures in docs/images: a real daemon on a real Redis, and the simulated exchange. */
export interface Desk {
  readonly simulator: RunningSimulator;
  readonly daemon: Daemon;
}

interface Parts {
  readonly redis: PrivateRedis;
  readonly simulator: RunningSimulator;
}

export const CONTROL_TOKEN = 'a-control-token-for-pictures';

const WITHIN_MS = 240_000;

export function seed(
  id: string,
  collateral: string,
  ...positions: readonly (readonly [string, 'long' | 'short', string])[]
) {
  return {
    id,
    hedgeMode: false,
    leverage: 10,
    collateral: { USDT: d(collateral) },
    main: { USDT: d('2500') },
    positions: positions.map(([market, direction, amount]) => ({ market, direction, amount: d(amount) })),
  } satisfies SeedAccount;
}

export const ACCOUNTS: readonly SeedAccount[] = [
  seed('arb-desk', '4150', ['BTC_PERP', 'long', '0.5']),
  seed('carry', '9000', ['ETH_PERP', 'short', '9']),
  seed('options-hedge', '7000', ['BTC_PERP', 'short', '0.4'], ['ETH_PERP', 'long', '4']),
  seed('momentum', '12500', ['BTC_PERP', 'long', '0.6']),
  seed('sandbox', '5000', ['ETH_PERP', 'long', '6']),
  { id: 'treasury', hedgeMode: false, leverage: 1, collateral: {}, main: { BTC: d('1.5'), USDT: d('4000') } },
];

const RULES = `  - id: near-liquidation
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do:
      - cancelAll: { types: [futures], scope: market }
      - reduce: { untilDistance: 10%, slippage: 0.5% }
    severity: critical
  - id: thin-cushion
    on: position
    when: { liquidationDistance: { below: 10%, clearAbove: 11% } }
    do: [{ notify: {} }]
    severity: warning
  - id: standing-stop
    on: position
    where: { market: BTC_PERP }
    when: { size: { above: 0 } }
    do: [{ protect: { at: 60%, slippage: 1% } }]
    severity: info
  - id: ltv-high
    on: creditLine
    when: { ltvToMarginCall: { above: 93%, clearBelow: 88% } }
    do: [{ notify: { cure: [60%, 50%] } }]
    severity: critical
`;

/** The first sections of a config. */
export function configHead(mode: string, { simulator, redis }: Parts): string {
  return `mode: ${mode}
exchange: { baseUrls: ["${simulator.baseUrl}"], lateArrival: 200ms }
redis: { url: "${redis.url}", prefix: "${redis.prefix.replace(/:$/, '')}" }
insecure: [redis]
web: { port: 0, controlToken: { env: CONTROL_TOKEN } }
`;
}

/** Where an account has its keys: `environment`. */
export function accountHead(id: string): string {
  const name = id.replaceAll('-', '_');
  return `  - id: ${id}
    apiKey: { env: KEY_${name} }
    apiSecret: { env: SECRET_${name} }
`;
}

function config(parts: Parts): string {
  const rules: Readonly<Record<string, string>> = {
    treasury: 'ltv-high',
    momentum: 'near-liquidation, thin-cushion, standing-stop',
  };
  const accounts = ACCOUNTS.map(
    ({ id }) => `${accountHead(id)}    rules: [${rules[id] ?? 'near-liquidation, thin-cushion'}]
    labels: { desk: ${id === 'treasury' ? 'finance' : 'derivatives'} }
${id === 'sandbox' ? '    mode: observe\n' : ''}`,
  );
  return `${configHead('enforce', parts)}cadence: { calm: 500ms, alert: 200ms }
acting: { fillWithin: 120s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
  ETH_PERP: { amountStep: "0.001", priceStep: "0.01", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
${accounts.join('')}
rules:
${RULES}`;
}

export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + WITHIN_MS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
    await sleep(100);
  }
}

function price(simulator: RunningSimulator, market: string): number {
  return simulator.model.market(market)?.last.toNumber() ?? Number.NaN;
}

/** In small noisy steps, like real prices. */
export async function drift(simulator: RunningSimulator, steps: number, by: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    for (const [market, digits] of [
      ['BTC_PERP', 1],
      ['ETH_PERP', 2],
      ['BTC_USDT', 1],
    ] as const) {
      const noise = Math.sin(step * 2.3) * 0.0004;
      simulator.setPrice(market, (price(simulator, market) * (1 + by + noise)).toFixed(digits));
    }
    await sleep(250);
  }
}

function ordersOf(simulator: RunningSimulator, accountId: string): number {
  return simulator.ledger({ accountId, kinds: ['order_placed'] }).filter(isOurs).length;
}

/** Stops once the rule must fire, so that the order that follows stays open. */
async function fall(simulator: RunningSimulator): Promise<void> {
  const distance = () => {
    const { markPrice, liquidationPrice } = simulator.model.openPositions('arb-desk')[0] ?? {};
    if (markPrice === undefined || !liquidationPrice) throw new Error('the position is gone');
    return 1 - liquidationPrice.toNumber() / markPrice.toNumber();
  };
  while (distance() > 0.0495) await drift(simulator, 1, -0.0025);
}

/** The prices fall; one position is reduced, and an order of the next reduction stays open. */
export async function play({ simulator }: Desk): Promise<void> {
  const sizeOf = () => simulator.model.openPositions('arb-desk')[0]?.amount.toNumber() ?? 0;
  await until(() => ordersOf(simulator, 'momentum') > 0, 'the standing stop');
  await fall(simulator);
  await until(() => ordersOf(simulator, 'arb-desk') > 0, 'the first order');
  const size = sizeOf();
  await until(async () => {
    await drift(simulator, 1, -0.0007);
    return sizeOf() < size;
  }, 'the first fill');
  await drift(simulator, 12, 0.0002);
  const before = ordersOf(simulator, 'arb-desk');
  await fall(simulator);
  await until(() => ordersOf(simulator, 'arb-desk') > before, 'the second order');
  await sleep(2_500);
}

/** Load may have disturbed the schedule, which the page mentions for a minute. */
export async function untilWell({ daemon }: Desk): Promise<void> {
  const isWell = async () =>
    !(await (await fetch(`${daemon.webUrl()}/api/v1/overview`)).text()).includes('"degraded":["');
  await until(isWell, 'a daemon that is well');
}

/** Redis and exchange of a daemon. Each registers its close at once, so that a later failure does not leave it open. */
export async function openParts(
  {
    accounts,
    ...server
  }: Parameters<typeof startPrivateRedis>[0] & { readonly accounts: readonly SeedAccount[] },
  closers: Closers,
): Promise<Parts> {
  const redis = await startPrivateRedis(server);
  closers.add(() => redis.stop());
  const simulator = await startSimulatedExchange({ accounts, speed: 1, limits: [] });
  closers.add(() => simulator.close());
  return { redis, simulator };
}

export async function startOn(
  simulator: RunningSimulator,
  text: string,
  closers: Closers,
  secrets: Readonly<Record<string, string>> = {},
): Promise<Daemon> {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-images-'));
  closers.add(() => rm(folder, { recursive: true, force: true }));
  const configFile = path.join(folder, 'breakwater.yaml');
  await writeFile(configFile, text, { mode: 0o600 });
  const env = { ...process.env, ...environment(simulator), CONTROL_TOKEN, ...secrets };
  const daemon = await startDaemon({ configFile, env });
  closers.add(() => daemon.stop('the pictures are taken', 30_000));
  return daemon;
}

export async function openDesk(closers: Closers): Promise<Desk> {
  const parts = await openParts({ env: process.env, name: 'images', accounts: ACCOUNTS }, closers);
  const { simulator } = parts;
  const creditLine = simulator.model.openLoan('treasury', {
    asset: 'USDT',
    amount: d('58500'),
    collateralAsset: 'BTC',
    collateralAmount: d('1.5'),
    initialLtv: d('0.7'),
  });
  if (!creditLine.ok) throw new Error(`the credit line was refused: ${creditLine.message}`);
  return { simulator, daemon: await startOn(simulator, config(parts), closers) };
}
