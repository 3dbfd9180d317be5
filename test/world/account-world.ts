import type { AccountSpec, ExchangeSpec, PriceSpec, TimedEvent } from '../../src/world/spec.ts';
import { type AccountCase, type Deed, generateAccount, type MarketCase } from '../accounts/generate.ts';
import { Dice } from '../support/dice.ts';

/** What a world of generated accounts has in place of the accounts, markets and prices of other random worlds. */
export interface AccountsWorld extends Pick<ExchangeSpec, 'accounts' | 'markets' | 'prices' | 'depth'> {
  readonly money: AccountCase['money'];
  readonly cases: readonly AccountCase[];
  readonly readings: Readonly<Record<string, string>>;
  /** In a config's `exchange:`. */
  readonly exchangeKeys: string;
  /** In a config's `markets:`. */
  readonly marketLines: readonly string[];
  readonly plays: readonly PriceSpec[];
  readonly deeds: readonly TimedEvent[];
}

/** Most coins of a world whose prices move; the others stand still. */
const MOST_MOVING = 8;

/**
 * Accounts as people have them, by default one or two; what their owners and the markets do to them happens at any
 * time. `ids`: those of as many accounts.
 */
export function accountsWorld(seed: number, durationMs: number, ids?: readonly string[]): AccountsWorld {
  const dice = new Dice(seed);
  const first = generateAccount(seed);
  const hasAnother = ids === undefined ? dice.hits(0.25) : ids.length > 1;
  const cases = [first, ...(hasAnother ? [another(seed, first.money)] : [])];
  const idOf = (index: number): string => ids?.[index] ?? `desk-${index + 1}`;
  const markets = cases.flatMap((one) => one.markets);
  const terms = markets.flatMap((market) => namesOf(market, first.money).map((name) => ({ name, market })));
  const isWide = dice.hits(0.5);
  return {
    money: first.money,
    cases,
    accounts: cases.map((account, index) => accountOf(account, idOf(index))),
    markets: Object.fromEntries(terms.map(({ name, market }) => [name, termsOf(market)])),
    prices: Object.fromEntries(terms.map(({ name, market: { price } }) => [name, price])),
    depth: depthFor(cases, dice),
    readings: readingsOf(first),
    exchangeKeys: `  bothSign: ${first.shortAmount}\n  marginModel: ${dice.of('auto', first.marginModel)}\n`,
    marketLines: terms.map(({ name, market }) => {
      const basis = isWide ? ', basisAllowance: 1%' : '';
      const rest = `, maintenanceMargin: ${Number(market.maintenanceMargin) * 100}%${basis}, money: ${first.money}`;
      const steps = `amountStep: "${market.amountStep}", priceStep: "${market.priceStep}", minAmount: "${market.minAmount}"`;
      return `  ${name}: { ${steps}${rest} }`;
    }),
    plays: markets
      .slice(0, MOST_MOVING)
      .map(({ coin }) => playOf(`${coin}_${first.money}`, durationMs, dice)),
    deeds: cases.flatMap((account, index) =>
      account.deeds.flatMap((deed) => {
        const atMs = Math.floor(dice.between(1_000, durationMs));
        return eventsOf(deed, { account, id: idOf(index), dice, atMs });
      }),
    ),
  };
}

/** An account with the same money and other coins. */
function another(seed: number, money: string): AccountCase {
  let at = seed * 31;
  let found = generateAccount(at);
  while (found.money !== money) found = generateAccount(++at);
  return JSON.parse(JSON.stringify(found).replaceAll(/"C(\d+)/g, '"D$1')) as AccountCase;
}

const namesOf = ({ coin }: MarketCase, money: string) => [`${coin}_${money}`, `${coin}_PERP`];

function termsOf({ priceStep, amountStep, minAmount, maintenanceMargin, basis }: MarketCase) {
  return { priceStep, amountStep, minAmount, maintenanceMargin, basis };
}

function accountOf(account: AccountCase, id: string): AccountSpec {
  const { hedgeMode, leverage, collateral, main, positions, loans } = account;
  return { id, hedgeMode, leverage, collateral, main, positions, loans };
}

function readingsOf({ marginModel, shortAmount, ltvUnit }: AccountCase): Readonly<Record<string, string>> {
  return { marginModel, shortAmount, ltvUnit };
}

/** A level of the books takes from a tenth to ten times the largest position. */
function depthFor(cases: readonly AccountCase[], dice: Dice): string {
  const values = cases.flatMap(({ positions, markets }) =>
    positions.map(({ market, amount }) => Number(amount) * Number(marketOf(market, markets)?.price ?? 0)),
  );
  const perLevel = 30_000;
  return Math.max(0.01, (Math.max(...values) * 10 ** dice.between(-1, 1)) / perLevel).toFixed(4);
}

export function marketOf(name: string, markets: readonly MarketCase[]): MarketCase | undefined {
  return markets.find(({ coin }) => name.startsWith(`${coin}_`));
}

function playOf(market: string, durationMs: number, dice: Dice): PriceSpec {
  if (dice.hits(0.3)) {
    const dailyVolatility = dice.between(0.1, 1);
    return { market, walk: { dailyVolatility, jumpsPerDay: 500, jumpSize: 0.02 } };
  }
  const name = dice.of('crash', 'wick', 'slowBleed', 'gap', 'crashThenRally', 'rally', 'rally');
  const magnitude = dice.between(0.02, 0.4).toFixed(3);
  return { market, scenario: { name, magnitude, durationMs, noise: dice.of(0, 0.0005), tickMs: 500 } };
}

interface DeedScene {
  readonly account: AccountCase;
  readonly id: string;
  readonly dice: Dice;
  readonly atMs: number;
}

function eventsOf(deed: Deed, { account, id, dice, atMs }: DeedScene): readonly TimedEvent[] {
  const { money, markets, positions, collateral, main, loans } = account;
  switch (deed.kind) {
    case 'price':
      return markets
        .filter(({ coin }) => deed.coin === null || deed.coin === coin)
        .map(({ coin, price, priceStep }) => {
          const moved = Math.max(Number(price) * (1 + deed.by), 10 * Number(priceStep));
          return { atMs, kind: 'setPrice', market: `${coin}_${money}`, price: inSteps(moved, priceStep) };
        });
    case 'withdraw': {
      const isOut = deed.share > 0;
      const wallets = isOut
        ? ({ from: 'collateral', to: 'main' } as const)
        : ({ from: 'main', to: 'collateral' } as const);
      const most = isOut ? Math.max(0, freeOf(account)) : Number(main[money] ?? 0);
      const amount = inSteps(
        Math.min(most, Number((isOut ? collateral : main)[money])) * Math.abs(deed.share),
        CENT,
      );
      return Number(amount) > 0
        ? [{ atMs, kind: 'move', account: id, ticker: money, amount, ...wallets }]
        : [];
    }
    case 'leverage':
      return [{ atMs, kind: 'leverage', account: id, leverage: deed.to }];
    case 'trade': {
      const { market = '', side, amount = '0' } = positions[deed.position] ?? {};
      const step = marketOf(market, markets)?.amountStep;
      if (step === undefined) return [];
      const traded = inSteps(Math.abs(deed.times) * Number(amount), step);
      const isBuy = (side === 'long') === deed.times > 0;
      const positionSide = account.hedgeMode
        ? ({ long: 'LONG', short: 'SHORT' } as const)[side ?? 'long']
        : 'BOTH';
      return [
        {
          atMs,
          kind: 'trade',
          account: id,
          market,
          side: isBuy ? 'buy' : 'sell',
          amount: traded,
          positionSide,
        },
      ];
    }
    case 'repay': {
      const [loan] = loans;
      if (loan === undefined) return [];
      return [{ atMs, kind: 'repay', account: id, amount: inSteps(Number(loan.amount) * deed.share, CENT) }];
    }
    case 'fund':
      // Hours, which no world has: a market apart from its mark instead.
      return [{ atMs, kind: 'condition', condition: basisOf(`${deed.coin}_PERP`, dice) }];
  }
}

const CENT = '0.00000001';

function basisOf(market: string, dice: Dice) {
  return {
    kind: 'basis',
    market,
    ratio: String(dice.of(-0.01, -0.003, 0.003, 0.01)),
    overMs: 20_000,
  } as const;
}

/** What could leave the collateral at the start. */
function freeOf({ positions, markets, collateral, money, leverage }: AccountCase): number {
  const parts = positions.map(({ market, side, amount, entry }) => {
    const terms = marketOf(market, markets);
    const mark = Number(terms?.price ?? 0) + Number(terms?.basis ?? 0);
    const profit = Number(amount) * (mark - Number(entry)) * (side === 'long' ? 1 : -1);
    return profit - (Number(amount) * mark) / leverage;
  });
  return parts.reduce((sum, part) => sum + part, Number(collateral[money]));
}

export function inSteps(value: number, step: string): string {
  const places = step.includes('.') ? step.length - step.indexOf('.') - 1 : 0;
  return (Math.round(value / Number(step)) * Number(step)).toFixed(places);
}
