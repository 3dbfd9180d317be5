import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';
import { openWorld } from '../../src/world/open-world.ts';
import type { PriceSpec, WorldSpec } from '../../src/world/spec.ts';

/**
 * How fast worlds run on one core: polls per second of processor time (accounts with one position, judged by the rule
 * set balanced), and worlds of one account and one hour per minute. `shares`: where the time goes, as far as the
 * profile shows; `platform` is Node itself, including garbage collection and signing.
 */
const MINUTE_MS = 60_000;
const WARM_UP_SHARE = 0.25;

const ROOMS = {
  simulator: /\/src\/simulator\//,
  client: /\/src\/exchange\/|\/node_modules\/zod\//,
  pipeline: /\/src\/(?:core|pipeline|state|app|queues|config)\//,
  world: /\/src\/world\//,
  decimals: /\/node_modules\/big\.js\//,
} as const;

function configOf(ids: readonly string[]): string {
  const items = ids.map(
    (id) => `  - { id: ${id}, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [balanced] }`,
  );
  return `mode: enforce
exchange: { baseUrls: ["https://exchange.example"] }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
${items.join('\n')}
`;
}

/** A world of accounts at different distances from liquidation. */
function specOf(accounts: number, durationMs: number, seed: number, price: PriceSpec): WorldSpec {
  const ids = Array.from({ length: accounts }, (_, index) => `desk-${index + 1}`);
  return {
    seed,
    durationMs,
    exchange: {
      accounts: ids.map((id, index) => ({
        id,
        collateral: { USDT: String(4_000 + 50 * index) },
        positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500' }],
      })),
    },
    prices: [price],
    daemons: [{ name: 'daemon', config: configOf(ids) }],
  };
}

const MARKET = 'BTC_USDT';

function crash(durationMs: number): PriceSpec {
  return {
    market: MARKET,
    scenario: { name: 'crash', magnitude: '0.15', durationMs, noise: 0.0005, tickMs: 1_000 },
  };
}

const CALM: PriceSpec = { market: MARKET, walk: { tickMs: 1_000 } };

async function measure(name: string, spec: WorldSpec): Promise<void> {
  const world = openWorld(spec);
  const [daemon] = world.daemons;
  await world.run(spec.durationMs * WARM_UP_SHARE);
  const polls = daemon?.polls ?? 0;
  const before = process.cpuUsage();
  await world.run();
  const { user, system } = process.cpuUsage(before);
  const made = (daemon?.polls ?? 0) - polls;
  print({
    figure: name,
    accounts: spec.exchange.accounts.length,
    polls: made,
    pollsPerCpuSecond: Math.round(made / ((user + system) / 1e6)),
  });
}

/** A second run with the profiler, which slows execution down. */
async function shares(name: string, spec: WorldSpec): Promise<void> {
  const session = new Session();
  session.connect();
  const world = openWorld(spec);
  await world.run(spec.durationMs * WARM_UP_SHARE);
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  await world.run();
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  print({ figure: name, shares: sharesOf(profile) });
}

function sharesOf({ nodes, samples = [] }: Profiler.Profile): Record<string, number> {
  const roomOf = new Map(nodes.map(({ id, callFrame }) => [id, roomNamed(callFrame)]));
  const counts: Record<string, number> = {};
  let counted = 0;
  for (const id of samples) {
    const room = roomOf.get(id) ?? 'platform';
    if (room === 'idle') continue;
    counts[room] = (counts[room] ?? 0) + 1;
    counted += 1;
  }
  return Object.fromEntries(
    Object.entries(counts).map(([room, count]) => [room, Math.round((1_000 * count) / counted) / 1_000]),
  );
}

function roomNamed({ url, functionName }: { readonly url: string; readonly functionName: string }): string {
  if (functionName === '(idle)' || functionName === '(program)') return 'idle';
  return Object.entries(ROOMS).find(([, pattern]) => pattern.test(url))?.[0] ?? 'platform';
}

async function worldsPerMinute(count: number): Promise<void> {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  for (let seed = 1; seed <= count; seed++) {
    await openWorld(specOf(1, 60 * MINUTE_MS, seed, { market: MARKET, walk: {} })).run();
  }
  const { user, system } = process.cpuUsage(before);
  const wallMs = performance.now() - startedMs;
  print({
    figure: 'worlds of one account and one hour',
    worlds: count,
    perMinute: Math.round((60_000 * count) / wallMs),
    perCpuMinute: Math.round((60e6 * count) / (user + system)),
  });
}

function print(line: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify({ bench: 'world', ...line })}\n`);
}

await measure('calm', specOf(30, 240 * MINUTE_MS, 1, CALM));
await measure('crash', specOf(30, 80 * MINUTE_MS, 1, crash(80 * MINUTE_MS)));
await shares('calm', specOf(30, 240 * MINUTE_MS, 1, CALM));
await shares('crash', specOf(30, 80 * MINUTE_MS, 1, crash(80 * MINUTE_MS)));
await worldsPerMinute(100);
