import type { AccountSpec, LoanSpec, MarketTerms, PositionSpec } from '../../src/world/spec.ts';
import {
  type Coin,
  coinsOf,
  inMoney,
  NOTIONAL,
  onStep,
  perpetual,
  placesOf,
  TEN,
  termsOf,
  weightOf,
} from './coins.ts';
import type { Levels } from './factors.ts';

export const ACCOUNT = 'desk';

export interface Position extends PositionSpec {
  readonly coin: Coin;
  readonly entry: string;
  /** The fall or rise of the case goes against it. */
  readonly isLosing: boolean;
}

export interface Holdings {
  readonly account: AccountSpec;
  readonly positions: readonly Position[];
  readonly markets: Readonly<Record<string, MarketTerms>>;
  /** Start price by market. */
  readonly prices: Readonly<Record<string, string>>;
  /** Coins whose markets move. */
  readonly coins: readonly Coin[];
  /** Value of the collateral in coins after haircuts, in money. */
  readonly coinsWorth: Readonly<Record<string, string>>;
  /** 1: prices rise, which harms it; -1: they fall. */
  readonly move: 1 | -1;
}

export interface HoldingsPlan {
  readonly levels: Levels;
  readonly maintenance: number;
  readonly leverage: number;
  /** From the initial mark price to liquidation, as a fraction of it. */
  readonly distance: number;
  /** Mark less last at the start, as a fraction. */
  readonly basis: number;
  /** A second, small position whose market stands still. */
  readonly withBystander: boolean;
}

/** An account at this distance from liquidation, whatever it holds. */
export function holdingsOf(plan: HoldingsPlan): Holdings {
  const { levels, maintenance, leverage } = plan;
  const listed = coinsOf(levels);
  const [main] = listed as readonly [Coin];
  const legs = legsOf(plan, listed);
  const move = levels.account === 'one short' ? 1 : -1;
  const positions = legs.map((leg) => positionOf(leg, plan, move, openedAt(legs, plan, move)));
  const hasLoan = levels.account === 'mixed with loan';
  const { money, coins, coinsWorth } = collateralOf(legs, positions, plan, move);
  const hasCoins = coins > 0;
  const held = [...new Set([...legs.map(({ coin }) => coin), ...(hasCoins || hasLoan ? [main] : [])])];
  const moving = held.filter((coin) => legs.every((leg) => leg.coin !== coin || leg.isStill !== true));
  const terms = held.map((coin) => [coin, termsOf(coin, maintenance)] as const);
  return {
    account: {
      id: ACCOUNT,
      collateral: {
        [levels.money]: money.toFixed(levels.money === 'BTC' ? 10 : 2),
        ...(hasCoins ? { [main.name]: coins.toFixed(12) } : {}),
      },
      leverage,
      hedgeMode: levels.account === 'hedged',
      positions: positions.map(({ market, side, amount, entry }) => ({ market, side, amount, entry })),
      ...(hasLoan ? { loans: [loanOf(main, levels)] } : {}),
    },
    positions,
    markets: Object.fromEntries(
      terms.flatMap(([{ name, leader }, own]) => [
        [leader, own],
        [perpetual(name), own],
      ]),
    ),
    prices: Object.fromEntries(
      held.flatMap(({ name, leader, price, priceStep }) =>
        [leader, perpetual(name)].map((market) => [market, onStep(price, priceStep)]),
      ),
    ),
    coins: moving,
    coinsWorth: hasCoins ? { [main.name]: coinsWorth.toFixed(10) } : {},
    move,
  };
}

/** Far from its own margin call: its collateral may fall by a third. */
function loanOf({ name, price }: Coin, levels: Levels): LoanSpec {
  return {
    asset: levels.money,
    amount: inMoney(6_000, levels).toFixed(8),
    collateralAsset: name,
    collateralAmount: (inMoney(12_000, levels) / price).toFixed(12),
  };
}

interface Leg {
  readonly coin: Coin;
  readonly side: 'long' | 'short';
  readonly amount: number;
  /** Opened at the current price; excluded from what the account may lose. */
  readonly isSmall?: boolean;
  /** Its price stands still while others fall. */
  readonly isStill?: boolean;
}

function legsOf({ levels, withBystander }: HoldingsPlan, coins: readonly Coin[]): readonly Leg[] {
  const [main, second] = coins as readonly [Coin, Coin];
  const leg = (coin: Coin, side: Leg['side'], share: number, more: Partial<Leg> = {}): Leg => {
    const step = Number(coin.amountStep);
    const steps = Math.max(1, Math.round((inMoney(NOTIONAL, levels) * share) / coin.price / step));
    return { coin, side, amount: steps * step, ...more };
  };
  const bystander = withBystander
    ? [leg(coins[TEN - 1] as Coin, 'long', 1 / 150, { isSmall: true, isStill: true })]
    : [];
  switch (levels.account) {
    case 'one long':
      return [leg(main, 'long', 1), ...bystander];
    case 'one short':
      return [leg(main, 'short', 1), ...bystander];
    case 'hedged':
      return [leg(main, 'long', 1), leg(main, 'short', 1 / 3, { isSmall: true }), ...bystander];
    case 'ten correlated':
      return coins.slice(0, TEN).map((coin) => leg(coin, 'long', 1 / TEN));
    case 'mixed with loan':
      return [leg(main, 'long', 1), leg(second, 'short', 1 / 5, { isSmall: true }), ...bystander];
    case 'sixty markets':
      return coins.map((coin) => leg(coin, 'long', 1 / coins.length));
  }
}

function directionOf({ side }: Leg): 1 | -1 {
  return side === 'long' ? 1 : -1;
}

function positionOf(leg: Leg, plan: HoldingsPlan, move: 1 | -1, opened: number | undefined): Position {
  const { coin, side, amount, isSmall, isStill } = leg;
  const { maintenance, leverage, distance, basis } = plan;
  const mark = coin.price * (1 + basis);
  const direction = directionOf(leg);
  const liquidation = mark * (1 - direction * distance);
  // The entry at which its own margin is used up exactly there.
  const own = (liquidation * (1 - direction * maintenance)) / (1 - direction / leverage);
  const entry =
    isStill === true ? mark : opened === undefined ? (isSmall === true ? mark : own) : mark * (1 + opened);
  return {
    coin,
    market: perpetual(coin.name),
    side,
    amount: amount.toFixed(placesOf(coin.amountStep)),
    // An average, and finer than the price step.
    entry: entry.toFixed(placesOf(coin.priceStep) + 2),
    isLosing: direction !== move && isStill !== true,
  };
}

/** Part of the maintenance margin at liquidation that is left as collateral where the profit was withdrawn. */
const LEFT = 0.5;

/**
 * How far from the mark the markets were when the positions were opened, as a fraction; undefined: each position has its
 * own entry. With isolated margin only the leverage puts liquidation at the planned distance.
 */
function openedAt(legs: readonly Leg[], plan: HoldingsPlan, move: 1 | -1): number | undefined {
  const { levels, distance, basis } = plan;
  if (levels.margin === 'isolated' || levels.standing === 'by its leverage') return undefined;
  if (levels.standing === 'at entry') return 0;
  const net = legs
    .filter(({ isStill }) => isStill !== true)
    .reduce((sum, leg) => sum - move * directionOf(leg) * leg.amount * leg.coin.price * (1 + basis), 0);
  return move * (distance + ((1 - LEFT) * maintenanceOf(legs, plan, move)) / net);
}

/** Maintenance margin of all positions when the account is liquidated. */
function maintenanceOf(legs: readonly Leg[], plan: HoldingsPlan, move: 1 | -1): number {
  return legs.reduce((sum, leg) => sum + plan.maintenance * leg.amount * lastMark(leg, plan, move), 0);
}

/** Mark price when the account is liquidated. */
function lastMark({ coin, isStill }: Leg, { distance, basis }: HoldingsPlan, move: 1 | -1): number {
  return coin.price * (1 + basis) * (isStill === true ? 1 : 1 + move * distance);
}

interface Collateral {
  readonly money: number;
  /** Amount of the main coin. */
  readonly coins: number;
  readonly coinsWorth: number;
}

/** Collateral that puts the liquidation of a single pool at the planned distance if all moving markets move alike. */
function collateralOf(
  legs: readonly Leg[],
  positions: readonly Position[],
  plan: HoldingsPlan,
  move: 1 | -1,
): Collateral {
  const { levels, leverage, distance } = plan;
  const [main] = coinsOf(levels) as readonly [Coin];
  const share = levels.collateral === 'half in coins' ? 0.5 : levels.account === 'mixed with loan' ? 0.15 : 0;
  const split = (whole: number): Collateral => ({
    money: whole * (1 - share),
    coins: (whole * share) / main.price / weightOf(main.name),
    coinsWorth: whole * share,
  });
  if (levels.margin === 'isolated') {
    const margins = positions.reduce(
      (sum, { amount, entry }) => sum + (Number(amount) * Number(entry)) / leverage,
      0,
    );
    return split((margins + inMoney(5, levels)) / (1 - share));
  }
  let needed = maintenanceOf(legs, plan, move);
  for (const [index, leg] of legs.entries())
    needed -= directionOf(leg) * leg.amount * (lastMark(leg, plan, move) - Number(positions[index]?.entry));
  // The coins fall, or rise, with the markets.
  return split(needed / (1 + share * move * distance));
}
