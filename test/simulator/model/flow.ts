import fc from 'fast-check';
import { decimal, roundToStep } from '../../../src/core/quantities/decimal.ts';
import type { ExchangeModel } from '../../../src/simulator/model/exchange-model.ts';
import type { PositionLeg, Side } from '../../../src/simulator/model/types.ts';
import { walkSource } from '../../../src/simulator/prices/price-source.ts';
import { START_MS } from './helpers.ts';

/** Any order flow: actions of customers, markets and the control API, as data. */
export type Step =
  | { readonly do: 'price'; readonly market: string; readonly percent: number }
  | { readonly do: 'basis'; readonly market: string; readonly percent: number }
  | { readonly do: 'wait'; readonly ms: number }
  | {
      readonly do: 'stop' | 'limit';
      readonly account: number;
      readonly market: string;
      readonly side: Side;
      readonly positionSide: PositionLeg;
      readonly units: number;
      readonly away: number;
      readonly slip: number;
      readonly reduceOnly: boolean;
      readonly protect: boolean;
    }
  | {
      readonly do: 'spot';
      readonly account: number;
      readonly side: Side;
      readonly units: number;
      readonly away: number;
    }
  | { readonly do: 'cancel'; readonly account: number; readonly type: 'spot' | 'margin' | 'futures' | 'all' }
  | { readonly do: 'funds'; readonly account: number; readonly out: boolean; readonly amount: number }
  | { readonly do: 'move'; readonly account: number; readonly out: boolean; readonly amount: number }
  | { readonly do: 'loan'; readonly account: number; readonly ltv: number }
  | { readonly do: 'repay'; readonly account: number; readonly amount: number }
  | { readonly do: 'rate'; readonly market: string; readonly bps: number }
  | { readonly do: 'depth'; readonly market: string; readonly percent: number; readonly spread: number }
  | { readonly do: 'skew'; readonly market: string; readonly permille: number; readonly overMs: number }
  | { readonly do: 'deleverage'; readonly account: number; readonly market: string; readonly units: number }
  | { readonly do: 'steps'; readonly market: string; readonly coarser: boolean }
  | {
      readonly do: 'state';
      readonly market: string;
      readonly kind: 'halt' | 'reopen' | 'dropOrders' | 'rename';
    }
  | { readonly do: 'leverage'; readonly account: number; readonly leverage: number };

const MARKETS = ['BTC_PERP', 'BTC_USDT', 'ETH_PERP', 'ETH_USDT'];
const accountIndex = fc.nat({ max: 2 });
const market = fc.constantFrom(...MARKETS);
const side = fc.constantFrom<Side>('buy', 'sell');

const arbitraryOrder = fc.record({
  do: fc.constantFrom<'stop' | 'limit'>('stop', 'limit'),
  account: accountIndex,
  market,
  side,
  positionSide: fc.constantFrom<PositionLeg>('LONG', 'SHORT', 'BOTH'),
  units: fc.integer({ min: 1, max: 3000 }),
  away: fc.integer({ min: -30, max: 30 }),
  slip: fc.integer({ min: -10, max: 10 }),
  reduceOnly: fc.boolean(),
  protect: fc.boolean(),
});

export const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('price' as const),
      market,
      percent: fc.integer({ min: -120, max: 120 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('basis' as const),
      market,
      percent: fc.integer({ min: -20, max: 20 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(100, 1_000, 5_000, 600_000, 30_000_000),
    }),
  },
  { weight: 10, arbitrary: arbitraryOrder },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('spot' as const),
      account: accountIndex,
      side,
      units: fc.integer({ min: 1, max: 500 }),
      away: fc.integer({ min: -10, max: 10 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('cancel' as const),
      account: accountIndex,
      type: fc.constantFrom('spot', 'margin', 'futures', 'all'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom<'funds' | 'move'>('funds', 'move'),
      account: accountIndex,
      out: fc.boolean(),
      amount: fc.integer({ min: 1, max: 5000 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('loan' as const),
      account: accountIndex,
      ltv: fc.integer({ min: 10, max: 60 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('repay' as const),
      account: accountIndex,
      amount: fc.integer({ min: 1, max: 9000 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('rate' as const),
      market,
      bps: fc.integer({ min: -20, max: 20 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('depth' as const),
      market,
      percent: fc.constantFrom(0, 2, 10, 100),
      spread: fc.constantFrom(0, 1, 30),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('skew' as const),
      market,
      permille: fc.integer({ min: -60, max: 60 }),
      overMs: fc.constantFrom(0, 700, 60_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('deleverage' as const),
      account: accountIndex,
      market,
      units: fc.integer({ min: 0, max: 900 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('steps' as const), market, coarser: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('state' as const),
      market,
      kind: fc.constantFrom<'halt' | 'reopen' | 'dropOrders' | 'rename'>(
        'halt',
        'reopen',
        'reopen',
        'dropOrders',
        'rename',
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('leverage' as const),
      account: accountIndex,
      leverage: fc.integer({ min: 1, max: 20 }),
    }),
  },
);

/** The first account in one-way mode with two collaterals, the second hedged, the third without positions. */
export function populate(model: ExchangeModel, withWalk: boolean): void {
  const wallets = {
    collateral: { USDT: decimal('9000'), BTC: decimal('0.05') },
    main: { USDT: decimal('8000'), BTC: decimal('0.7') },
    spot: { USDT: decimal('20000'), BTC: decimal('1') },
  };
  model.createAccount({
    id: '0',
    hedgeMode: false,
    leverage: 10,
    ...wallets,
    positions: [
      { market: 'BTC_PERP', direction: 'long', amount: decimal('0.7') },
      { market: 'ETH_USDT', direction: 'short', amount: decimal('7.77') },
    ],
  });
  model.createAccount({
    id: '1',
    hedgeMode: true,
    leverage: 20,
    ...wallets,
    positions: [
      { market: 'BTC_PERP', direction: 'long', amount: decimal('1') },
      { market: 'BTC_PERP', direction: 'short', amount: decimal('0.3') },
      { market: 'BTC_USDT', direction: 'long', amount: decimal('0.123') },
    ],
  });
  model.createAccount({ id: '2', hedgeMode: false, leverage: 5, ...wallets });
  if (!withWalk) return;
  const priceStep = decimal('0.01');
  const walk = {
    seed: 5,
    startMs: START_MS,
    tickMs: 60_000,
    priceStep,
    dailyVolatility: 0.3,
    jumpsPerDay: 20,
    jumpSize: 0.1,
  };
  model.setPriceSource('ETH_USDT', walkSource(walk));
}

function priceNear(model: ExchangeModel, name: string, permille: number): ReturnType<typeof decimal> {
  const view = model.market(name);
  if (view === undefined) throw new Error(name);
  const factor = decimal(String(1000 + permille)).times(decimal('0.001'));
  const price = roundToStep(view.last.times(factor), view.spec.priceStep, 'halfUp');
  return price.gt(view.spec.priceStep) ? price : view.spec.priceStep;
}

/** A renamed market is found under its newest name. */
function present(model: ExchangeModel, name: string): string {
  const names = model.markets().map(({ spec }) => spec.name);
  return names.includes(name) ? name : (names.find((each) => each === `NEW${name}`) ?? name);
}

export function perform(model: ExchangeModel, flowStep: Step): void {
  const step = 'market' in flowStep ? { ...flowStep, market: present(model, flowStep.market) } : flowStep;
  switch (step.do) {
    case 'depth':
    case 'skew':
    case 'deleverage':
    case 'steps':
    case 'state':
      befall(model, step);
      return;
    case 'price':
      model.setPrice(step.market, priceNear(model, step.market, step.percent));
      return;
    case 'basis':
      model.setPrice(step.market, priceNear(model, step.market, 0), {
        mark: priceNear(model, step.market, step.percent),
      });
      return;
    case 'wait':
      model.advanceTo(model.nowMs() + step.ms);
      return;
    case 'stop':
    case 'limit':
      order(model, step);
      return;
    case 'spot':
      model.placeSpotOrder(String(step.account), {
        market: 'BTC_USDT',
        side: step.side,
        amount: decimal('0.001').times(decimal(String(step.units))),
        price: priceNear(model, 'BTC_USDT', step.away),
      });
      return;
    case 'cancel':
      model.cancelAll(String(step.account), step.type === 'all' ? {} : { types: [step.type] });
      return;
    case 'rate':
      model.setFundingRate(step.market, decimal('0.0001').times(decimal(String(step.bps))));
      return;
    case 'leverage':
      model.setLeverage(String(step.account), step.leverage);
      return;
    case 'funds':
    case 'move':
    case 'loan':
    case 'repay':
      money(model, step);
  }
}

/** Renames a market back and forth. */
function otherName(name: string): string {
  return name.startsWith('NEW') ? name.slice(3) : `NEW${name}`;
}

/** Applies a condition to a market; a refusal by the exchange is ignored. */
function befall(
  model: ExchangeModel,
  step: Extract<Step, { do: 'depth' | 'skew' | 'deleverage' | 'steps' | 'state' }>,
): void {
  const { market: name } = step;
  const part = (value: number, unit: string) => decimal(unit).times(decimal(String(value)));
  switch (step.do) {
    case 'depth': {
      const { percent, spread } = step;
      const thin = { factor: part(percent, '0.01'), spread: part(spread, '0.001') };
      model.setCondition({ kind: 'depth', market: name, ...thin }, { untilMs: model.nowMs() + 5_000 });
      return;
    }
    case 'skew': {
      const { permille, overMs } = step;
      model.setCondition({ kind: 'basis', market: name, ratio: part(permille, '0.001'), overMs });
      return;
    }
    case 'deleverage': {
      const account = String(step.account);
      const amount = step.units === 0 ? {} : { amount: part(step.units, '0.001') };
      model.setCondition({ kind: 'deleverage', account, market: name, ...amount });
      return;
    }
    case 'steps': {
      const spec = model.market(name)?.spec;
      const amountStep = spec?.amountStep.times(decimal(step.coarser ? '5' : '1'));
      if (amountStep !== undefined && amountStep.lt(decimal('1')))
        model.setCondition({ kind: 'terms', market: name, amountStep, minAmount: amountStep });
      return;
    }
    case 'state':
      if (step.kind === 'rename') model.setCondition({ kind: 'rename', market: name, to: otherName(name) });
      else model.setCondition({ kind: step.kind, market: name });
  }
}

function order(model: ExchangeModel, step: Extract<Step, { do: 'stop' | 'limit' }>): void {
  const { market: name, side: orderSide, positionSide, reduceOnly } = step;
  const amountStep = model.market(name)?.spec.amountStep ?? decimal('1');
  const falls = orderSide === 'sell' ? -50 : 50;
  const shared = {
    market: name,
    side: orderSide,
    positionSide,
    reduceOnly,
    amount: amountStep.times(decimal(String(step.units))),
    price: priceNear(model, name, step.away + step.slip),
    ...(step.protect && !reduceOnly ? { stopLoss: priceNear(model, name, step.away + falls) } : {}),
  };
  if (step.do === 'limit') model.placeCollateralOrder(String(step.account), shared);
  else
    model.placeCollateralOrder(String(step.account), {
      ...shared,
      activationPrice: priceNear(model, name, step.away),
    });
}

function money(model: ExchangeModel, step: Extract<Step, { do: 'funds' | 'move' | 'loan' | 'repay' }>): void {
  const id = String(step.account);
  if (step.do === 'loan') {
    const price = model.market('BTC_USDT')?.mark ?? decimal('1');
    const amount = roundToStep(
      price.times(decimal(String(step.ltv))).times(decimal('0.001')),
      decimal('0.01'),
      'down',
    );
    const collateralAmount = decimal('0.1');
    const terms = { marginCallLtv: decimal('0.64'), liquidationLtv: decimal('0.68') };
    model.openLoan(id, { asset: 'USDT', amount, collateralAsset: 'BTC', collateralAmount, ...terms });
    return;
  }
  const amount = decimal(String(step.amount));
  if (step.do === 'repay') {
    const loan = model.creditLines(id)[0];
    if (loan !== undefined) model.repayLoan(id, loan.loanId, amount);
  } else if (step.do === 'move') {
    const [from, to] = step.out ? (['collateral', 'main'] as const) : (['main', 'collateral'] as const);
    model.moveFunds(id, { from, to, ticker: 'USDT', amount });
  } else if (step.out) {
    model.withdraw(id, { ticker: 'USDT', amount, settleAfterMs: 1_000 });
  } else {
    model.deposit(id, { ticker: 'USDT', amount, settleAfterMs: 30_000 });
  }
}
