import type { SeededRandom } from '../../src/simulator/scenarios/random.ts';
import type { AccountSpec, ExchangeSpec, PriceSpec, TimedEvent } from '../../src/world/spec.ts';
import type { AccountCase } from '../accounts/generate.ts';
import { COIN_WEIGHT } from '../accounts/generate.ts';
import { type AccountsWorld, accountsWorld, inSteps, marketOf } from '../world/account-world.ts';
import type { Traded } from './events.ts';
import { between, chance, FIRST, LATEST_EVENT_MS, pick, TROUBLED_MS } from './parts.ts';

/** What a world of the fault matrix has of accounts as people have them, in place of accounts in BTC and ETH. */
export interface People {
  readonly accounts: readonly AccountSpec[];
  readonly exchange: Pick<ExchangeSpec, 'money' | 'markets' | 'prices' | 'depth'>;
  /** Readings that the accounts need, as `name=value`, if they are not the default. */
  readonly readings: readonly string[];
  readonly prices: readonly PriceSpec[];
  /** By the owners of the accounts, and of the first one alone, in its markets. */
  readonly deeds: readonly TimedEvent[];
  readonly deedsOfFirst: readonly TimedEvent[];
  readonly traded: Traded;
  readonly money: string;
  /** In a config's `markets:`. */
  readonly marketLines: readonly string[];
}

interface Cast {
  readonly seed: number;
  /** Of the accounts that come near liquidation. */
  readonly ids: readonly string[];
  readonly calm: string;
}

/** One or two accounts as people have them, with markets of their own that go against them, and one beside the first. */
export function peopleIn(random: SeededRandom, { seed, ids, calm }: Cast): People {
  const drawn = accountsWorld(seed, LATEST_EVENT_MS, ids);
  const { money, markets = {}, prices = {}, depth = '1', cases, marketLines, deeds } = drawn;
  const [first] = cases as readonly [AccountCase];
  return {
    accounts: [...drawn.accounts, calmBeside(first, calm)],
    exchange: { money, markets, prices, depth },
    readings: READINGS.filter(([name, value]) => drawn.readings[name] === value).map(
      ([name, value]) => `${name}=${value}`,
    ),
    prices: pricesOf(random, drawn),
    deeds,
    deedsOfFirst: deeds.filter((deed) => isOfFirst(deed, first)),
    traded: tradedBy(first),
    money,
    marketLines,
  };
}

const READINGS = [
  ['marginModel', 'isolated'],
  ['shortAmount', 'unsigned'],
  ['ltvUnit', 'fraction'],
] as const;

/** Whether the accounts decide a reading. */
export function isOfPeople(reading: string): boolean {
  return READINGS.some(([name]) => reading.startsWith(`${name}=`));
}

const CALM_WORTH = 10_000;

/** A long in the first market, without leverage, and money for five of it. */
function calmBeside({ markets, money }: AccountCase, id: string): AccountSpec {
  const [{ coin, price, amountStep }] = markets as readonly [AccountCase['markets'][number]];
  const steps = Math.max(1, Math.round(CALM_WORTH / (Number(price) * Number(amountStep))));
  const amount = inSteps(steps * Number(amountStep), amountStep);
  const worth = Number(amount) * Number(price);
  return {
    id,
    collateral: { [money]: (worth * 5).toFixed(8) },
    leverage: 1,
    main: { [money]: '500' },
    positions: [{ market: `${coin}_PERP`, side: 'long', amount, entry: price }],
  };
}

/** Half of the first position, on its side. */
function tradedBy({ positions, markets, hedgeMode }: AccountCase): Traded {
  const [{ market, amount, side }] = positions as readonly [AccountCase['positions'][number]];
  const step = marketOf(market, markets)?.amountStep ?? '1';
  const half = inSteps(Math.max(Number(step), Number(amount) / 2), step);
  return {
    market,
    amount: half,
    ...(hedgeMode ? { positionSide: side === 'long' ? 'LONG' : 'SHORT' } : {}),
  };
}

/** In one world of four the markets play what other worlds of such accounts play; they stand still afterwards. */
function pricesOf(random: SeededRandom, { cases, plays, money }: AccountsWorld): readonly PriceSpec[] {
  const playing = plays.flatMap((play): PriceSpec[] => ('scenario' in play ? [play] : []));
  if (chance(random, 0.25) && playing.length > 0) return playing;
  return cases.flatMap((account) => {
    const shape = shapeOf(random, account);
    return account.markets.map(({ coin, price, priceStep }): PriceSpec => {
      const text = (change: number): string =>
        inSteps(Math.max(Number(price) * (1 + change), LEAST_STEPS * Number(priceStep)), priceStep);
      return {
        market: `${coin}_${money}`,
        points: shape.map(([atMs, change]) => [atMs, text(change)] as const),
        tickMs: account.markets.length > FEW_MARKETS ? 1_000 : 250,
      };
    });
  });
}

const LEAST_STEPS = 10;
const FEW_MARKETS = 10;

/** All markets of an account move together against it; mostly short of liquidation, and they may come back. */
function shapeOf(
  random: SeededRandom,
  account: AccountCase,
): readonly (readonly [atMs: number, change: number])[] {
  const startMs = between(random, 3_000, 12_000);
  const fallMs = between(random, 2_000, 15_000);
  const left = chance(random, 0.12) ? -0.01 : between(random, 20, 32) / 1_000;
  const other = pick(random, [-0.3, -0.1, 0.1, 0.3]);
  const move = liquidationMove(account);
  const short = move === undefined ? other : shortOf(move, left);
  const back = chance(random, 0.3) ? short * 0.5 : short;
  return [
    [0, 0],
    [startMs, move === undefined ? between(random, -3, 3) / 1_000 : 0],
    [startMs + fallMs, short],
    [TROUBLED_MS, short],
    [TROUBLED_MS + 8_000, back],
  ];
}

/** Where this distance is left; nothing moves if no more is left at the start. */
function shortOf(move: number, left: number): number {
  return move < 0 ? Math.min(0, (move + left) / (1 - left)) : Math.max(0, (move - left) / (1 + left));
}

/** The farthest that prices move. */
const FARTHEST = 0.6;

/** How far all prices have to move, as a part of themselves, until the account or its first position is liquidated. */
function liquidationMove(account: AccountCase): number | undefined {
  const { positions, markets, money, collateral, leverage, marginModel } = account;
  const parts = positions.map(({ market, side, amount, entry }) => {
    const terms = marketOf(market, markets);
    const mark = Number(terms?.price) + Number(terms?.basis);
    const [sign, size, rate] = [side === 'long' ? 1 : -1, Number(amount), Number(terms?.maintenanceMargin)];
    return {
      worth: size * mark,
      gain: sign * size * (mark - Number(entry)),
      margin: (size * Number(entry)) / leverage,
      sign,
      rate,
    };
  });
  const untilGone = (own: readonly (typeof parts)[number][], money_: number, coins: number): number => {
    const buffer = own.reduce((sum, { gain, rate, worth }) => sum + gain - rate * worth, money_ + coins);
    return -buffer / own.reduce((sum, { sign, rate, worth }) => sum + (sign - rate) * worth, coins);
  };
  const coins = markets.reduce(
    (sum, { coin, price }) => sum + Number(collateral[coin] ?? 0) * Number(price) * COIN_WEIGHT,
    0,
  );
  const moves =
    marginModel === 'cross'
      ? [untilGone(parts, Number(collateral[money]), coins)]
      : parts.flatMap((part) => {
          const move = untilGone([part], part.margin, 0);
          // Past it from the start: it is liquidated at once.
          return move * part.sign < 0 ? [move] : [];
        });
  return moves.filter((move) => Math.abs(move) <= FARTHEST).toSorted((a, b) => Math.abs(a) - Math.abs(b))[0];
}

function isOfFirst(deed: TimedEvent, { markets }: AccountCase): boolean {
  const market = deed.kind === 'condition' && 'market' in deed.condition ? deed.condition.market : undefined;
  return (
    ('account' in deed && deed.account === FIRST) ||
    marketOf(market ?? (deed.kind === 'setPrice' ? deed.market : ''), markets) !== undefined
  );
}
