import { createRandom, type SeededRandom } from '../../src/simulator/scenarios/random.ts';
import type {
  AccountSpec,
  DaemonSpec,
  NetworkSpec,
  PriceSpec,
  TimedEvent,
  TimedFault,
  WorldSpec,
} from '../../src/world/spec.ts';
import { drawLiveReadings } from '../support/live-readings.ts';
import { type AccountsWorld, accountsWorld } from './account-world.ts';

export interface RandomWorldOptions {
  /** Default 4 to 10 minutes. */
  readonly durationMs?: number;
  /** Number of daemons; default 1 to 2. */
  readonly daemons?: number;
  /** False: no faults, no trouble of hosts, no interference by people. */
  readonly troubled?: boolean;
}

/** A world generated from its seed: accounts, rules, prices, faults, and actions of people and hosts. */
export function randomWorld(seed: number, options: RandomWorldOptions = {}): WorldSpec {
  const random = createRandom(seed * 7_919 + 17);
  const { troubled = true } = options;
  const durationMs = options.durationMs ?? 60_000 * (4 + random.below(7));
  const drawn = Array.from({ length: 1 + random.below(3) }, (_, index) => accountOf(random, index));
  const people = seed >= ACCOUNTS_FROM && seed % 2 === 1 ? accountsWorld(seed, durationMs) : undefined;
  const accounts = people?.accounts ?? drawn;
  const count = options.daemons ?? 1 + random.below(2);
  const nonce = pick(random, ['unique', 'unique', 'increasing', 'window']);
  const config = configOf(random, accounts, { nonce, people });
  const nonceRule = nonce === 'increasing' ? 'increasing' : 'unique';
  const daemons = Array.from(
    { length: count },
    (_, index): DaemonSpec => ({
      name: NAMES[index] ?? `daemon-${index}`,
      config,
      ...(troubled
        ? { clock: { skewMs: between(random, -4_000, 4_000), driftPpm: between(random, -80, 80) } }
        : {}),
    }),
  );
  const depth = chance(random, 0.3) ? { depth: pick(random, ['0.05', '0.3', '3']) } : {};
  const readings = {
    ...(seed < LIVE_READINGS_FROM ? {} : liveReadingsOf(createRandom(seed * 6_007 + 5))),
    ...(seed < PUBLIC_PRICES_FROM || seed % 2 === 0 ? {} : { publicPrices: 'shown' }),
    nonceRule,
    ...(chance(random, 0.4) ? readingsOf(random) : {}),
    ...people?.readings,
  };
  return {
    seed,
    durationMs,
    exchange: { accounts, ...depth, ...(people === undefined ? {} : exchangeOf(people)), readings },
    prices: people?.plays ?? pricesOf(random, durationMs),
    daemons: seed < TOLD_READINGS_FROM ? daemons : daemons.map((daemon) => told(daemon, readings)),
    network: networkOf(random, troubled),
    faults: troubled ? faultsOf(random, durationMs) : [],
    events: [...(troubled ? eventsOf(random, durationMs, accounts, daemons) : []), ...(people?.deeds ?? [])],
  };
}

/** Worlds of smaller seeds never change: transcripts of some are kept. Of the others every second has such accounts. */
const ACCOUNTS_FROM = 10;

function exchangeOf({ money, markets = {}, prices = {}, depth = '1' }: AccountsWorld) {
  return { money, markets, prices, depth };
}

const TOLD_READINGS_FROM = ACCOUNTS_FROM;

/** What the exchange does with stops under a cancel, and how old its replies are: no reply tells, so the config does. */
function told(daemon: DaemonSpec, readings: Readonly<Record<string, unknown>>): DaemonSpec {
  const { readLagMs = 0, cancelCoversStops = 'yes' } = readings;
  const keys = `  readLag: ${String(readLagMs)}ms\n  cancelCoversStops: ${String(cancelCoversStops)}\n`;
  return { ...daemon, config: daemon.config.replace('exchange:\n', `exchange:\n${keys}`) };
}

const NAMES = ['north', 'south'];

function chance(random: SeededRandom, probability: number): boolean {
  return random.uniform() < probability;
}

function between(random: SeededRandom, least: number, most: number): number {
  return least + Math.floor(random.uniform() * (most - least + 1));
}

function pick<T>(random: SeededRandom, choices: readonly T[]): T {
  return choices[random.below(choices.length)] as T;
}

/** One to three positions, each within reach of a bad few minutes. */
function accountOf(random: SeededRandom, index: number): AccountSpec {
  const id = `desk-${index + 1}`;
  const collateral = { USDT: String(between(random, 2_500, 6_000)) };
  const hedgeMode = chance(random, 0.2);
  const side = chance(random, 0.65) ? 'long' : 'short';
  const bitcoin = {
    market: 'BTC_PERP',
    side,
    amount: (between(random, 250, 650) / 1_000).toFixed(3),
  } as const;
  const other = {
    market: 'ETH_PERP',
    side: chance(random, 0.5) ? 'long' : 'short',
    amount: (between(random, 100, 400) / 100).toFixed(2),
  } as const;
  const opposite = { ...bitcoin, side: side === 'long' ? 'short' : 'long', amount: '0.100' } as const;
  const positions = [
    bitcoin,
    ...(chance(random, 0.4) ? [other] : []),
    ...(hedgeMode && chance(random, 0.5) ? [opposite] : []),
  ];
  const loan = { asset: 'USDT', amount: '9000', collateralAsset: 'BTC', collateralAmount: '0.25' };
  const loans = chance(random, 0.2) ? { loans: [loan] } : {};
  return { id, collateral, hedgeMode, leverage: 10, main: { USDT: '500' }, positions, ...loans };
}

const RULES = `rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ reduce: { untilDistance: 9%, slippage: 1% } }]
    severity: critical
  - id: half
    on: position
    when: { liquidationDistance: { below: 4% } }
    do: [{ cancelAll: { types: [margin, futures], scope: market } }, { reduce: { by: 50%, slippage: 1% } }]
    escalate: [{ after: 10s, do: [{ reduce: { to: 10%, slippage: 3% } }] }]
  - id: called
    on: position
    when: { liquidationState: { in: [margin_call, liquidation, unrecognised] } }
    do: [{ reduce: { by: 60%, slippage: 3% } }]
  - id: ladder
    on: position
    when: { liquidationDistance: { below: 30% } }
    do: [{ protect: { at: 65%, slippage: 2% } }]
  - id: account
    on: account
    when: { marginUsage: { asset: USDT, above: 60% } }
    do: [{ reduce: { by: 30%, slippage: 1%, positions: "*" } }]
`;

const RULE_CHOICES = [
  ['balanced'],
  ['near'],
  ['near', 'called'],
  ['half', 'called'],
  ['near', 'ladder', 'called'],
  ['account', 'near'],
  ['balanced', 'credit-line'],
];

const MARKET_LINES = [
  '  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }',
  '  ETH_PERP: { amountStep: "0.01", priceStep: "0.01", minAmount: "0.01", maintenanceMargin: 3% }',
];

interface ConfigScene {
  readonly nonce: string;
  readonly people: AccountsWorld | undefined;
}

function configOf(
  random: SeededRandom,
  accounts: readonly AccountSpec[],
  { nonce, people }: ConfigScene,
): string {
  const cadence = pick(random, [
    '{ calm: 10s, alert: 1s }',
    '{ calm: 5s, alert: 500ms }',
    '{ calm: 2s, alert: 1s }',
  ]);
  const items = accounts.map(({ id }, index) => {
    const rules = pick(random, RULE_CHOICES).join(', ');
    const mode = chance(random, 0.1) ? ', mode: observe' : '';
    return `  - { id: ${id}, apiKey: { env: KEY_${index} }, apiSecret: { env: SECRET_${index} }, rules: [${rules}]${mode} }`;
  });
  return `mode: enforce
exchange:
  baseUrls: ["https://one.example", "https://two.example"]
  nonce: ${nonce}
${people?.exchangeKeys ?? ''}cadence: ${cadence}
markets:
${(people?.marketLines ?? MARKET_LINES).join('\n')}
accounts:
${items.join('\n')}
${RULES.replace('asset: USDT', `asset: ${people?.money ?? 'USDT'}`)}`;
}

function readingsOf(random: SeededRandom): Record<string, unknown> {
  const readings: Record<string, unknown> = {};
  if (chance(random, 0.3)) readings['lateArrivalMs'] = between(random, 50, 3_000);
  if (chance(random, 0.3)) readings['stopTriggerSource'] = 'mark';
  if (chance(random, 0.3)) readings['cancelCoversStops'] = 'no';
  if (chance(random, 0.3)) readings['readLagMs'] = between(random, 50, 800);
  if (chance(random, 0.3)) readings['clientOrderIdUniqueness'] = 'openOrders';
  if (chance(random, 0.3)) readings['orderFieldSpelling'] = 'camel';
  return readings;
}

/** Worlds of smaller seeds never change: transcripts of some are kept. */
const LIVE_READINGS_FROM = 10;

/** Worlds that show last prices are younger still. */
const PUBLIC_PRICES_FROM = 100_000;

/** In one world of two some readings of the live service; its ids are read in both spellings. */
function liveReadingsOf(random: SeededRandom): Record<string, unknown> {
  const some = Object.entries(drawLiveReadings((bound) => random.below(bound))).filter(() =>
    chance(random, 0.4),
  );
  return { ...(chance(random, 0.5) ? Object.fromEntries(some) : {}), unknownFields: 'read' };
}

function pricesOf(random: SeededRandom, durationMs: number): PriceSpec[] {
  const markets = ['BTC_USDT', 'ETH_USDT'];
  return markets.map((market): PriceSpec => {
    if (chance(random, 0.3)) {
      return { market, walk: { dailyVolatility: 0.1 + random.uniform(), jumpsPerDay: 500, jumpSize: 0.02 } };
    }
    const name = pick(random, ['crash', 'crash', 'wick', 'slowBleed', 'gap', 'crashThenRally', 'rally']);
    const magnitude = (0.05 + random.uniform() * 0.2).toFixed(3);
    return { market, scenario: { name, magnitude, durationMs, noise: 0.0005, tickMs: 500 } };
  });
}

function networkOf(random: SeededRandom, troubled: boolean): NetworkSpec {
  const oneWay = () =>
    troubled ? pick(random, [20, { minMs: 5, maxMs: 60 }, { medianMs: 25, sigma: 0.8, maxMs: 4_000 }]) : 15;
  const store = troubled ? pick(random, [0, 0.4, { minMs: 0.2, maxMs: 8 }]) : 0;
  return { toExchange: oneWay(), toDaemon: oneWay(), store };
}

function faultsOf(random: SeededRandom, durationMs: number): TimedFault[] {
  return Array.from({ length: random.below(4) }, (): TimedFault => {
    const atMs = between(random, 0, durationMs);
    const effect = pick<TimedFault['fault']['effect']>(random, [
      { kind: 'latency', delayMs: between(random, 50, 3_000), jitterMs: 500 },
      { kind: 'reset' },
      { kind: 'hang' },
      { kind: 'lostReply' },
      { kind: 'lostReply', connection: 'hang' },
      { kind: 'appliedLate', delayMs: between(random, 100, 4_000) },
      { kind: 'status', status: 503 },
      { kind: 'status', status: 429 },
      { kind: 'status', status: 500, applied: true },
      { kind: 'stale', ageMs: between(random, 100, 2_000) },
      { kind: 'truncatedJson' },
      { kind: 'cutBody' },
      { kind: 'badRecord' },
    ]);
    const probability = 0.05 + random.uniform() * 0.5;
    return { atMs, untilMs: atMs + between(random, 5_000, 60_000), fault: { effect, probability } };
  });
}

function eventsOf(
  random: SeededRandom,
  durationMs: number,
  accounts: readonly AccountSpec[],
  daemons: readonly DaemonSpec[],
): TimedEvent[] {
  const events: TimedEvent[] = [];
  for (let left = random.below(6); left > 0; left--) {
    const atMs = between(random, 1_000, durationMs);
    const laterMs = atMs + between(random, 200, 20_000);
    const daemon = pick(random, daemons).name;
    const account = pick(random, accounts).id;
    const choice = random.below(8);
    if (choice === 0) {
      events.push({ atMs, kind: 'suspend', daemon }, { atMs: laterMs, kind: 'resume', daemon });
    } else if (choice === 1) {
      events.push({ atMs, kind: 'kill', daemon }, { atMs: laterMs, kind: 'start', daemon });
    } else if (choice === 2) {
      events.push({ atMs, kind: 'stepClock', daemon, byMs: between(random, -30_000, 30_000) });
    } else if (choice === 3) {
      events.push({ atMs, kind: 'pause', account }, { atMs: laterMs, kind: 'unpause', account });
    } else if (choice === 4) {
      const target = { kind: 'by', fraction: 0.2 } as const;
      events.push({
        atMs,
        kind: 'reduce',
        account,
        markets: [marketOf(account, accounts)],
        target,
        slippage: 0.01,
      });
    } else if (choice === 5) {
      events.push({ atMs, kind: 'cancelAll', account });
    } else if (choice === 6) {
      const side = chance(random, 0.5) ? 'buy' : 'sell';
      const market = marketOf(account, accounts);
      const amount = market === 'BTC_PERP' ? '0.050' : (accounts[0]?.positions?.[0]?.amount ?? '1');
      events.push({ atMs, kind: 'trade', account, market, side, amount });
    } else {
      events.push({ atMs, kind: 'store', state: 'down' }, { atMs: laterMs, kind: 'store', state: 'up' });
    }
  }
  return events;
}

/** The market of the account's first position. */
function marketOf(account: string, accounts: readonly AccountSpec[]): string {
  return accounts.find(({ id }) => id === account)?.positions?.[0]?.market ?? 'BTC_PERP';
}
