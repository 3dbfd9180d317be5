import { createRandom, type SeededRandom } from '../../src/simulator/scenarios/random.ts';
import type { AccountSpec, DaemonSpec, PositionSpec, PriceSpec, TimedFault } from '../../src/world/spec.ts';
import { eventsOf, type Traded } from './events.ts';
import { hazardWorld } from './hazards.ts';
import {
  FAULTS,
  LATE_ARRIVAL_MS,
  OLDER_READING_VALUES,
  READ_LAG_MS,
  READING_VALUES,
  requestsOf,
} from './matrix.ts';
import { withOtherConfig } from './other-configs.ts';
import { between, chance, type FaultWorld, FIRST, PRICES, pick, TROUBLED_MS } from './parts.ts';
import { isOfPeople, type People, peopleIn } from './people.ts';
import { widened } from './widen.ts';

/** Time after the troubles in which everything that began must end. */
const QUIET_MS = 36_000;

/** Worlds of smaller seeds never change: tests name some of them. */
export const WIDER_FROM = 100_000;
/** From this seed on the market goes against the first account, so that nearly every world requires an action. */
export const PRESSING_FROM = 1_000_000;
/** From this seed on configs use more features. */
const OTHER_CONFIGS_FROM = 1_500_000;
/** From this seed on worlds are small, of a few kinds, and a single guard keeps an order from being sent twice. */
const HAZARDS_FROM = 2_000_000;
/** From this seed on worlds are those of the seeds from `OTHER_CONFIGS_FROM` on, with newer readings. */
export const NEWER_READINGS_FROM = 3_000_000;
/** From this seed on accounts, markets, prices and what owners do are drawn as people have them. */
export const PEOPLE_FROM = 4_000_000;

const SECOND = 'second';
const CALM = 'calm';

/**
 * A world generated from its seed: an account that comes close to liquidation, mostly a second one, and a calm one; one
 * to three daemons; at least three faults, each for a kind of request; one to three readings; and up to four events of
 * hosts, the store, the market or the account.
 */
export function faultWorld(seed: number): FaultWorld {
  if (seed >= HAZARDS_FROM && seed < NEWER_READINGS_FROM) return hazardWorld(seed, configOf);
  const world = coreWorld(seed);
  if (seed < WIDER_FROM) return world;
  const wider = widened(world, createRandom(seed * 7_919 + 11));
  return seed < OTHER_CONFIGS_FROM ? wider : withOtherConfig(wider, createRandom(seed * 5_347 + 7));
}

function coreWorld(seed: number): FaultWorld {
  const random = createRandom(seed * 6_151 + 29);
  const drawn = readingsOf(random, seed < NEWER_READINGS_FROM ? OLDER_READING_VALUES : READING_VALUES);
  const sparesSecond = chance(random, 0.25);
  const hasSecond = sparesSecond || chance(random, 0.5);
  const ids = [FIRST, ...(hasSecond ? [SECOND] : [])];
  const people = seed < PEOPLE_FROM ? undefined : peopleIn(random, { seed, ids, calm: CALM });
  const readings =
    people === undefined ? drawn : [...drawn.filter((reading) => !isOfPeople(reading)), ...people.readings];
  const isIsolated = readings.includes('marginModel=isolated');
  // At ten times leverage, an isolated position's distance to liquidation is its margin beyond maintenance.
  const bufferRatio = isIsolated ? 0.07 : between(random, 70, 100) / 1_000;
  const accounts = people?.accounts ?? accountsOf(random, { hasSecond, isIsolated, bufferRatio });
  const pressed = seed < PRESSING_FROM ? undefined : accounts[0]?.positions?.[0]?.side;
  const observed = hasSecond && !sparesSecond && chance(random, 0.3) ? [SECOND] : [];
  const config = configOf(random, {
    accounts,
    observed,
    readings,
    ...(people === undefined ? {} : { people }),
  });
  const daemons = NAMES.slice(0, 1 + random.below(3)).map(
    (name): DaemonSpec => ({
      name,
      config,
      clock: { skewMs: between(random, -3_000, 3_000), driftPpm: between(random, -100, 100) },
    }),
  );
  const pairs = Array.from({ length: 3 + random.below(4) }, () => pairOf(random));
  return {
    spec: {
      seed,
      durationMs: TROUBLED_MS + QUIET_MS,
      exchange: {
        accounts,
        ...(chance(random, 0.3) ? { depth: pick(random, ['0.1', '0.4', '3']) } : {}),
        ...people?.exchange,
        readings: Object.fromEntries(readings.map(valueOf)),
      },
      prices: people?.prices ?? pricesOf(random, bufferRatio - between(random, 20, 32) / 1_000, pressed),
      daemons,
      network: {
        toExchange: pick(random, [20, { minMs: 5, maxMs: 80 }, { medianMs: 40, sigma: 0.8, maxMs: 1_500 }]),
        toDaemon: pick(random, [20, { minMs: 5, maxMs: 80 }]),
        store: pick(random, [0, 0.4, { minMs: 0.3, maxMs: 12 }]),
      },
      faults: pairs.map((pair) => faultOf(random, pair, sparesSecond)),
      events: [
        ...(sparesSecond
          ? []
          : eventsOf(random, { config, daemons, accounts, traded: people?.traded ?? TRADED })),
        ...((sparesSecond ? people?.deedsOfFirst : people?.deeds) ?? []),
      ],
    },
    readings,
    pairs,
    observed,
    sparesSecond,
    second: SECOND,
    calm: CALM,
  };
}

const TRADED: Traded = { market: 'BTC_PERP', amount: '0.050' };
const NAMES = ['north', 'south', 'east'];

/** One to three readings, each name once. */
function readingsOf(random: SeededRandom, values: readonly string[]): readonly string[] {
  const chosen = Array.from({ length: 1 + random.below(3) }, () => pick(random, values));
  return [...new Map(chosen.map((reading) => [reading.split('=')[0], reading])).values()];
}

function valueOf(reading: string): readonly [name: string, value: unknown] {
  const [name = '', value = ''] = reading.split('=');
  return [name, name.endsWith('Ms') ? Number(value) : value];
}

const FAULT_NAMES = Object.keys(FAULTS);

function pairOf(random: SeededRandom): readonly [string, string] {
  const fault = pick(random, FAULT_NAMES);
  return [fault, pick(random, requestsOf(fault))];
}

function faultOf(
  random: SeededRandom,
  [fault, endpoint]: readonly [string, string],
  sparesSecond: boolean,
): TimedFault {
  const effect = FAULTS[fault];
  if (effect === undefined) throw new RangeError(`there is no fault ${fault}`);
  const atMs = between(random, 0, TROUBLED_MS - 8_000);
  return {
    atMs,
    untilMs: Math.min(TROUBLED_MS, atMs + between(random, 3_000, 30_000)),
    fault: {
      effect,
      probability: pick(random, [0.3, 0.6, 1]),
      target: sparesSecond ? { endpoint, account: FIRST } : { endpoint },
    },
  };
}

interface Holdings {
  readonly hasSecond: boolean;
  readonly isIsolated: boolean;
  /** Loss until liquidation, as a part of the notional. */
  readonly bufferRatio: number;
}

const MAINTENANCE = 0.03;

/** Accounts seven to ten per cent from liquidation at the start, each in one or two markets. */
function accountsOf(
  random: SeededRandom,
  { hasSecond, isIsolated, bufferRatio }: Holdings,
): readonly AccountSpec[] {
  const endangered = (id: string): AccountSpec => {
    const hedgeMode = chance(random, 0.2);
    const side = chance(random, 0.65) ? 'long' : 'short';
    const coins = chance(random, 0.4) ? ['BTC', 'ETH'] : ['BTC'];
    const notional = 30_000;
    const positions = coins.flatMap((coin): PositionSpec[] => {
      const value = notional / coins.length;
      const digits = coin === 'BTC' ? 3 : 2;
      const amount = (value / (PRICES[coin] ?? 1)).toFixed(digits);
      const market = `${coin}_PERP`;
      const opposite = side === 'long' ? 'short' : 'long';
      const small = (value / (PRICES[coin] ?? 1) / 5).toFixed(digits);
      return hedgeMode && chance(random, 0.5)
        ? [
            { market, side, amount },
            { market, side: opposite, amount: small },
          ]
        : [{ market, side, amount }];
    });
    const collateral = { USDT: String(Math.round(notional * (MAINTENANCE + bufferRatio))) };
    return { id, collateral, hedgeMode, leverage: 10, main: { USDT: '500' }, positions, ...loanOf() };
  };
  const loanOf = () =>
    chance(random, 0.2)
      ? { loans: [{ asset: 'USDT', amount: '3000', collateralAsset: 'BTC', collateralAmount: '0.2' }] }
      : {};
  const calm: AccountSpec = {
    id: CALM,
    collateral: { USDT: '60000' },
    leverage: isIsolated ? 2 : 10,
    main: { USDT: '500' },
    positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.200' }],
  };
  return [endangered(FIRST), ...(hasSecond ? [endangered(SECOND)] : []), calm];
}

const RULES = `rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ reduce: { untilDistance: 9%, slippage: 1% } }]
    severity: critical
  - id: half
    on: position
    when: { liquidationDistance: { below: 4.5% } }
    do: [{ cancelAll: { types: [margin, futures], scope: market } }, { reduce: { by: 50%, slippage: 1% } }]
    escalate: [{ after: 10s, do: [{ reduce: { to: 10%, slippage: 3% } }] }]
  - id: called
    on: position
    when: { liquidationState: { in: [margin_call, liquidation, unrecognised] } }
    do: [{ reduce: { by: 60%, slippage: 3% } }]
  - id: standing
    on: position
    when: { liquidationDistance: { below: 30% } }
    do: [{ protect: { at: 80%, slippage: 2% } }]
  - id: account
    on: account
    when: { jointDistance: { below: 4.5% } }
    do: [{ reduce: { by: 30%, slippage: 1%, positions: "*" } }]
`;
const RULE_CHOICES = [
  ['near'],
  ['half'],
  ['near', 'called'],
  ['near', 'standing'],
  ['half', 'called'],
  ['account'],
];

interface ConfigParts {
  readonly accounts: readonly AccountSpec[];
  readonly observed: readonly string[];
  readonly readings: readonly string[];
  /** Default: a random choice. */
  readonly rules?: readonly string[];
  readonly people?: People;
}

/** The config of a careful owner who knows the readings. */
function configOf(random: SeededRandom, { accounts, observed, readings, ...parts }: ConfigParts): string {
  const has = (reading: string): boolean => readings.includes(reading);
  const rules = (parts.rules ?? pick(random, RULE_CHOICES)).join(', ');
  const watch = WATCH.replace('USDT', parts.people?.money ?? 'USDT');
  const items = accounts.map(({ id }, index) => {
    const mode = observed.includes(id) ? ', mode: observe' : '';
    return `  - { id: ${id}, apiKey: { env: KEY_${index} }, apiSecret: { env: SECRET_${index} }, rules: [${rules}], watch: ${watch}${mode} }`;
  });
  const isLive = has('profile=live');
  const nonces = isLive ? ['window'] : ['unique', 'window'];
  const nonce = has('nonceRule=increasing') ? 'increasing' : pick(random, nonces);
  return `mode: enforce
exchange:
  baseUrls: ["https://one.example", "https://two.example"]
  nonce: ${nonce}
  dialect: ${isLive || has('orderFieldSpelling=camel') ? 'camel' : 'spec'}
  bothSign: ${has('shortAmount=unsigned') ? 'unsigned' : 'signed'}
  cancelCoversStops: ${has('cancelCoversStops=no') ? 'false' : 'true'}
  marginModel: ${has('marginModel=isolated') ? 'isolated' : 'cross'}
  lateArrival: ${LATE_ARRIVAL_MS}ms
  readLag: ${READ_LAG_MS}ms
acting: { fillWithin: 2s }
cadence: ${pick(random, ['{ calm: 2s, alert: 500ms }', '{ calm: 4s, alert: 1s }'])}
markets:
${(parts.people?.marketLines ?? MARKET_LINES).join('\n')}
accounts:
${items.join('\n')}
${RULES}`;
}

const MARKET_LINES = [
  '  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }',
  '  ETH_PERP: { amountStep: "0.01", priceStep: "0.01", minAmount: "0.01", maintenanceMargin: 3% }',
];
const WATCH = '{ positions: true, creditLine: true, mainBalance: [USDT], transfers: true, spotOrders: true }';

/** Both coins fall or rise together, short of liquidation, and may come back; against the side `pressed` if given. */
function pricesOf(
  random: SeededRandom,
  farRatio: number,
  pressed: PositionSpec['side'] | undefined,
): readonly PriceSpec[] {
  const startMs = between(random, 3_000, 12_000);
  const fallMs = between(random, 2_000, 15_000);
  const drawn = chance(random, 0.35);
  const rises = pressed === undefined ? drawn : pressed === 'short';
  const far = farRatio * (rises ? 1 : -1);
  const back = chance(random, 0.3) ? far * 0.5 : far;
  const text = (coin: string, change: number): string => ((PRICES[coin] ?? 0) * (1 + change)).toFixed(1);
  return ['BTC', 'ETH'].map((coin) => ({
    market: `${coin}_USDT`,
    points: [
      [0, text(coin, 0)],
      [startMs, text(coin, between(random, -3, 3) / 1_000)],
      [startMs + fallMs, text(coin, far)],
      [TROUBLED_MS, text(coin, far * 0.95)],
      [TROUBLED_MS + 8_000, text(coin, back)],
    ],
    tickMs: 250,
  }));
}
