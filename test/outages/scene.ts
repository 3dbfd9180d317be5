import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Daemon, startDaemon } from '../../src/app/daemon.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';
import { decimal } from '../../src/core/quantities/decimal.ts';
import {
  type RunningSimulator,
  startSimulatedExchange,
} from '../../src/simulator/start-simulated-exchange.ts';
import { configText, environment } from '../daemon/config.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { type Link, openLink } from './link.ts';
import type { Outage } from './outage.ts';

export const ACCOUNT = 'desk';
export const LATE_ARRIVAL_MS = 2_000;
/** The rule fires below this price. */
export const BREACH_PRICE = 58_500;
const PREFIX = 'bw';

const RULES = `  - id: half
    on: position
    when: { markPrice: { below: ${BREACH_PRICE} } }
    keepFiringFor: 10s
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;

/** Events of a daemon, with times of the exchange's clock. */
export interface Heard {
  readonly atMs: number;
  readonly event: DaemonEvent;
}

/** The parts of a run. */
export interface Scene {
  readonly outage: Outage;
  readonly simulator: RunningSimulator;
  readonly server: RedisServer;
  /** By daemon. */
  readonly redisLinks: readonly Link[];
  readonly exchangeLinks: readonly Link[];
  readonly daemons: readonly Daemon[];
  /** By daemon. */
  readonly heard: readonly (readonly Heard[])[];
}

/** Times of the outage on the exchange's clock. */
export interface Times {
  readonly breachMs: number;
  readonly lostMs: number;
  readonly backMs: number;
}

/** Starts everything; `closers` end it, the newest first. */
export async function openScene(outage: Outage, closers: (() => Promise<unknown>)[]): Promise<Scene> {
  const folder = await mkdtemp(path.join(tmpdir(), 'breakwater-outage-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const server = await startRedisServer({ persistent: true, args: ['--appendfsync', 'everysec'] });
  closers.push(() => server.stop());
  const simulator = await startSimulatedExchange({
    limits: [],
    accounts: [
      {
        id: ACCOUNT,
        hedgeMode: false,
        leverage: 10,
        collateral: { USDT: decimal('12000') },
        positions: [{ market: 'BTC_PERP', direction: 'long', amount: decimal('0.5') }],
      },
    ],
  });
  closers.push(() => simulator.close());
  const link = async (port: number): Promise<Link> => {
    const opened = await openLink(port);
    closers.push(() => opened.close());
    return opened;
  };
  const heard: Heard[][] = [];
  const scene = { redisLinks: [] as Link[], exchangeLinks: [] as Link[], daemons: [] as Daemon[] };
  for (let ordinal = 0; ordinal < outage.instances; ordinal++) {
    const redis = await link(server.port);
    const exchange = await link(Number(new URL(simulator.baseUrl).port));
    const configFile = path.join(folder, `breakwater-${ordinal}.yaml`);
    await writeFile(configFile, configOf(redis, exchange), { mode: 0o600 });
    const own: Heard[] = [];
    const daemon = await startDaemon({
      configFile,
      env: environment(simulator),
      ordinal,
      telemetry: [{ emit: (event) => void own.push({ atMs: simulator.model.nowMs(), event }) }],
    });
    closers.push(() => daemon.stop('the run ended', 30_000));
    heard.push(own);
    scene.redisLinks.push(redis);
    scene.exchangeLinks.push(exchange);
    scene.daemons.push(daemon);
  }
  return { outage, simulator, server, heard, ...scene };
}

function configOf(redis: Link, exchange: Link): string {
  return configText(
    { baseUrl: `http://127.0.0.1:${exchange.port}` },
    {
      accounts: { [ACCOUNT]: { rules: ['half'] } },
      rules: RULES,
      exchange: '  timeouts: { attempt: 1s, call: 2s }\n',
      acting: '{ fillWithin: 1500ms }',
      cadence: '{ calm: 500ms, alert: 150ms }',
      redis: { url: `redis://127.0.0.1:${redis.port}`, prefix: PREFIX },
    },
  ).replace(/lateArrival: \d+ms/, `lateArrival: ${LATE_ARRIVAL_MS}ms`);
}
