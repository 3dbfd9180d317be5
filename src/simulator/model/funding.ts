import { ZERO } from '../../core/quantities/decimal.ts';
import { BOOKS, transfer } from './ledger.ts';
import { unrealizedFunding } from './margin.ts';
import { collateralBook, type ExchangeState, type Market, marginBook, record, sign } from './state.ts';

/** Schedules the funding of a perpetual: longs pay shorts `size * mark * rate`, as a balance update. */
export function scheduleFunding(world: ExchangeState, market: Market): void {
  if (market.spec.kind !== 'perpetual') return;
  const interval = market.spec.fundingIntervalMs;
  const nextMs = (Math.floor(world.nowMs / interval) + 1) * interval;
  world.agenda.schedule(nextMs, () => {
    payFunding(world, market);
    scheduleFunding(world, market);
  });
}

function payFunding(world: ExchangeState, market: Market): void {
  if (market.fundingRate.eq(ZERO)) return;
  for (const position of market.positions) {
    const { account } = position;
    const payment = position.size
      .times(market.mark)
      .times(market.fundingRate)
      .times(sign(position.direction));
    const payer = world.readings.marginModel === 'isolated' ? marginBook(position) : collateralBook(account);
    record(
      world,
      'funding',
      {
        accountId: account.id,
        market: market.spec.name,
        positionId: position.positionId,
        amount: ZERO.minus(payment),
        price: market.mark,
        details: { rate: market.fundingRate, size: position.size },
      },
      transfer(payer, BOOKS.funding, market.spec.quote, payment),
    );
    world.dirtyUnits.add(account.unit);
    world.dirtyUnits.add(position.unit);
  }
}

/** Sets a new rate; margin positions keep the funding accrued at the old one. */
export function changeFundingRate(world: ExchangeState, market: Market, rate: Market['fundingRate']): void {
  for (const position of market.positions) {
    position.fundingCarried = unrealizedFunding(world, position);
    position.accrualFromMs = world.nowMs;
    world.dirtyUnits.add(position.unit);
  }
  market.fundingRate = rate;
}
