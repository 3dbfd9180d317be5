import { createHash } from 'node:crypto';
import { decimal } from '../../src/core/quantities/decimal.ts';
import { DEFAULT_MARKETS } from '../../src/simulator/defaults.ts';
import type { MarketSpec, SeedAccount } from '../../src/simulator/model/types.ts';
import type { RunningSimulator } from '../../src/simulator/start-simulated-exchange.ts';
import { COMMIT, VIEW } from '../../src/state/account/account-scripts.ts';
import { ACQUIRE, RELEASE, RENEW } from '../../src/state/leases/leases-redis.ts';
import type { SlowRedis } from './slow-redis.ts';

/** One account with a position in each of many markets, all breached by one move. */
export const CROWD = 'crowd';

/** All markets follow this one. */
export const LEADER = 'BTC_USDT';

const marketOf = (wanted: string): MarketSpec => {
  const found = DEFAULT_MARKETS.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`the exchange has no ${wanted}`);
  return found;
};

function perpetuals(count: number): readonly MarketSpec[] {
  return Array.from({ length: count }, (_, index) => ({ ...marketOf('BTC_PERP'), name: `M${index}_PERP` }));
}

export function crowdMarkets(count: number): readonly MarketSpec[] {
  return [marketOf(LEADER), ...perpetuals(count)];
}

export function crowdAccount(count: number): SeedAccount {
  return {
    id: CROWD,
    hedgeMode: false,
    leverage: 10,
    collateral: { USDT: decimal(String(count * 6_500)) },
    positions: perpetuals(count).map(({ name }) => ({
      market: name,
      direction: 'long',
      amount: decimal('1'),
    })),
  };
}

export function crowdConfig(parts: {
  readonly count: number;
  readonly simulator: Pick<RunningSimulator, 'baseUrl'>;
  readonly redis: { readonly url: string; readonly prefix: string };
  readonly webPort?: number;
}): string {
  const { count, simulator, redis } = parts;
  const markets = perpetuals(count).map(
    ({ name }) =>
      `  ${name}: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }`,
  );
  return `mode: enforce
insecure: [redis]
exchange: { baseUrls: ["${simulator.baseUrl}"], lateArrival: 500ms }
redis: { url: "${redis.url}", prefix: "${redis.prefix}" }
web: { port: ${parts.webPort ?? 0} }
cadence: { calm: 500ms, alert: 500ms }
acting: { fillWithin: 20s }
markets:
${markets.join('\n')}
accounts:
  - { id: ${CROWD}, apiKey: { env: KEY_${CROWD} }, apiSecret: { env: SECRET_${CROWD} }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 30% } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
    severity: critical
`;
}

/** Requests of lanes and polls to the store, by script. */
const SCRIPTS = { view: VIEW, commit: COMMIT, acquire: ACQUIRE, renew: RENEW, release: RELEASE };

export type StoreCalls = Readonly<Record<keyof typeof SCRIPTS, number>>;

/** Requests of a lane to the store for its order; a busy machine renews leases more often. */
export function callsBetween(before: StoreCalls, after: StoreCalls): number {
  const { renew: _renewals, ...rest } = SCRIPTS;
  const names = Object.keys(rest) as (keyof typeof rest)[];
  return names.reduce((sum, name) => sum + after[name] - before[name], 0);
}

export function storeCalls({ commands }: SlowRedis): StoreCalls {
  const counts = Object.entries(SCRIPTS).map(([name, { lua }]) => {
    const digest = createHash('sha1').update(lua).digest('hex');
    return [name, commands.get(digest) ?? 0];
  });
  return Object.fromEntries(counts) as StoreCalls;
}

/** A price at which every position is closer to liquidation than the rule allows. */
export function breachPrice(simulator: Pick<RunningSimulator, 'model'>): string {
  const [position] = simulator.model.openPositions(CROWD);
  const liquidationPrice = position?.liquidationPrice ?? null;
  if (liquidationPrice === null) throw new Error('the position has no liquidation price');
  return (liquidationPrice.toNumber() / 0.96).toFixed(1);
}
