import { describe, expect, it } from 'vitest';
import { accountNamed, connect, d, OPENING, openExchange, placed, STOP } from './support/world.ts';

const accepted = { ok: true };

describe('every endpoint, over real HTTP', () => {
  it('answers the ping', async () => {
    const { client } = connect(await openExchange(), 'long');
    expect(await client.ping()).toMatchObject({ kind: 'ok', value: true });
  });

  it('shows open positions with the digits of the model', async () => {
    const exchange = await openExchange();
    const { client, drift } = connect(exchange, 'hedged');
    exchange.setPrice('BTC_PERP', '59876.5');
    const outcome = await client.openPositions();
    const views = exchange.model.openPositions('hedged');
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: {
        complete: true,
        setAside: [],
        records: views.map((view) => ({
          positionId: String(view.positionId),
          market: 'BTC_PERP',
          amount: view.amount.toFixed(),
          basePrice: view.basePrice.toFixed(),
          liquidationPrice: view.liquidationPrice?.toFixed(),
          liquidationState: null,
          pnl: view.pnl.toFixed(),
          pnlPercent: view.pnlPercent.toFixed(),
          margin: view.margin.toFixed(),
          freeMargin: view.freeMargin.toFixed(),
          funding: '0',
          unrealizedFunding: '0',
          unrealizedPnl: view.unrealizedPnl.toFixed(),
          tpsl: null,
          openDate: view.openMs / 1000,
          modifyDate: view.modifyMs / 1000,
          positionSide: { known: true, value: view.positionSide },
        })),
      },
    });
    expect(views.map((view) => view.positionSide)).toEqual(['LONG', 'SHORT']);
    expect(drift).toEqual([]);
    expect(exchange.requestLog({ endpoint: 'openPositions' })).toMatchObject([{ outcome: 'served' }]);
  });

  it('filters positions by market', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    exchange.exchange.change((model) =>
      model.placeCollateralOrder('long', { market: 'ETH_PERP', side: 'buy', amount: d('1') }),
    );
    const markets = async (market?: string) => {
      const outcome = await client.openPositions(market === undefined ? {} : { market });
      return outcome.kind === 'ok' ? outcome.value.records.map((record) => record.market) : outcome;
    };
    expect(await markets()).toEqual(['BTC_PERP', 'ETH_PERP']);
    expect(await markets('ETH_PERP')).toEqual(['ETH_PERP']);
    expect(await markets('ETH_USDT')).toEqual([]);
  });

  it('shows a margin call, then the liquidation', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    const stateAt = async (price: string) => {
      exchange.setPrice('BTC_PERP', price);
      const outcome = await client.openPositions();
      return outcome.kind === 'ok' ? outcome.value.records.map((record) => record.liquidationState) : outcome;
    };
    const seen = [await stateAt('60000'), await stateAt('41700'), await stateAt('41000')];
    expect(seen).toEqual([
      [null],
      [{ known: true, value: 'margin_call' }],
      [{ known: true, value: 'liquidation' }],
    ]);
  });

  it('shows the stop loss attached to a position by an order with an oto object', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'flat');
    const order = await client.stopLimit({
      ...OPENING,
      clientOrderId: 'with-oto',
      stopLoss: '55000' as typeof OPENING.amount,
      takeProfit: '70000' as typeof OPENING.amount,
    });
    expect(order).toMatchObject({
      kind: 'accepted',
      value: {
        oto: { otoId: expect.stringMatching(/^\d+$/) as string, stopLoss: '55000', takeProfit: '70000' },
      },
    });
    exchange.setPrice('BTC_PERP', '61200');
    const outcome = await client.openPositions();
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: {
        records: [{ market: 'BTC_PERP', amount: '0.1', tpsl: { stopLoss: '55000', takeProfit: '70000' } }],
      },
    });
  });

  it('shows a credit line', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    const loan = { asset: 'USDT', amount: d('20000'), collateralAsset: 'BTC', collateralAmount: d('0.7') };
    expect(exchange.exchange.change((model) => model.openLoan('long', loan))).toMatchObject(accepted);
    const [view] = exchange.model.creditLines('long');
    expect(await client.creditLines()).toMatchObject({
      kind: 'ok',
      value: {
        complete: true,
        records: [
          {
            asset: 'USDT',
            amount: '20000',
            totalFunding: '0',
            currentLtv: view?.currentLtv.times(d('100')).toFixed(),
            liquidationLtv: view?.liquidationLtv.times(d('100')).toFixed(),
            createdAt: Math.floor((view?.createdMs ?? 0) / 1000),
          },
        ],
      },
    });
  });

  it('shows the main balance, and an empty one', async () => {
    const exchange = await openExchange();
    expect(await connect(exchange, 'long').client.mainBalance()).toMatchObject({
      kind: 'ok',
      value: { USDT: '5000', BTC: '1' },
    });
    const bare = await connect(exchange, 'bare').client.mainBalance();
    expect(bare).toMatchObject({ kind: 'ok', value: {} });
    expect(bare.kind === 'ok' && Object.keys(bare.value)).toEqual([]);
  });

  it('places, trims, triggers and cancels stops, in agreement with the ledger', async () => {
    const exchange = await openExchange();
    const { client, drift } = connect(exchange, 'long');
    const trimmed = await client.reduceOnlyStop({ ...STOP, amount: '3' as typeof STOP.amount });
    expect(trimmed).toMatchObject({
      kind: 'accepted',
      value: {
        clientOrderId: 'stop-1',
        clientOrderIdEchoed: true,
        market: 'BTC_PERP',
        side: 'sell',
        status: { known: true, value: 'NEW' },
        amount: '0.5',
        adjustedFrom: '3',
        left: '0.5',
        price: '58000',
        activationPrice: '58500',
        dealStock: '0',
        dealMoney: '0',
        dealFee: '0',
        reduceOnly: true,
        positionSide: { known: true, value: 'BOTH' },
      },
    });
    expect(placed(exchange)).toMatchObject([
      {
        accountId: 'long',
        clientOrderId: 'stop-1',
        side: 'sell',
        amount: '0.5',
        price: '58000',
        details: { type: 'stop limit', activationPrice: '58500', trigger: 'fall', reduceOnly: true },
      },
    ]);
    expect(await client.cancelAll({ market: 'BTC_PERP', types: ['futures'] })).toMatchObject({
      kind: 'accepted',
      value: null,
    });
    expect(exchange.model.openOrders('long')).toEqual([]);
    expect(exchange.ledger({ kinds: ['order_cancelled'] })).toMatchObject([{ clientOrderId: 'stop-1' }]);
    expect(await client.reduceOnlyStop({ ...STOP, clientOrderId: 'stop-2' })).toMatchObject({
      kind: 'accepted',
      value: { amount: '0.1' },
    });
    exchange.setPrice('BTC_PERP', '58400');
    expect(await client.openPositions()).toMatchObject({
      kind: 'ok',
      value: { records: [{ amount: '0.4' }] },
    });
    expect(drift).toEqual([]);
  });

  it('cancels only the given market and types', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'long');
    const resting = { side: 'buy', amount: d('0.01'), price: d('50000') } as const;
    exchange.exchange.change((model) => {
      model.placeSpotOrder('long', { market: 'BTC_USDT', ...resting, clientOrderId: 'spot' });
      model.placeCollateralOrder('long', { market: 'BTC_USDT', ...resting, clientOrderId: 'margin' });
      model.placeCollateralOrder('long', { market: 'BTC_PERP', ...resting, clientOrderId: 'futures' });
      const eth = { market: 'ETH_PERP', side: 'buy', amount: d('0.1'), price: d('2000') } as const;
      model.placeCollateralOrder('long', { ...eth, clientOrderId: 'eth' });
    });
    const open = () => exchange.model.openOrders('long').map((order) => order.clientOrderId);
    expect(open()).toEqual(['spot', 'margin', 'futures', 'eth']);
    await client.cancelAll({ types: ['margin'] });
    expect(open()).toEqual(['spot', 'futures', 'eth']);
    await client.cancelAll({ market: 'BTC_PERP' });
    expect(open()).toEqual(['spot', 'eth']);
    await client.cancelAll({ types: ['futures', 'spot'] });
    expect(open()).toEqual([]);
  });

  it('switches hedge mode', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'flat');
    expect(await client.setHedgeMode(true)).toMatchObject({ kind: 'accepted', value: null });
    expect(exchange.model.account('flat').hedgeMode).toBe(true);
    expect(await client.setHedgeMode(false)).toMatchObject({ kind: 'accepted' });
    expect(exchange.model.account('flat').hedgeMode).toBe(false);
  });

  it('makes a fiat deposit link, which is paid and arrives', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'flat', { cardProviders: ['VISAMASTER'] });
    const amount = '125.50' as typeof STOP.amount;
    const request = { ticker: 'UAH', provider: 'BANKLINK', amount, uniqueId: 'top-up-1' };
    const outcome = await client.fiatDepositLink({ ...request, successLink: 'https://example.com/ok' });
    expect(outcome).toMatchObject({
      kind: 'accepted',
      value: { url: expect.stringMatching(/^http/) as string },
    });
    expect(exchange.ledger({ kinds: ['fiat_link'] })).toMatchObject([
      { accountId: 'flat', amount: '125.5', details: { uniqueId: 'top-up-1', ticker: 'UAH' } },
    ]);
    const url = outcome.kind === 'accepted' ? outcome.value.url : '';
    const token = url.split('/').at(-1) ?? '';
    exchange.exchange.change((model) => model.payFiatDeposit(token));
    expect(await client.transfers({ uniqueId: 'top-up-1' })).toMatchObject({
      kind: 'ok',
      value: { complete: true, records: [{ uniqueId: 'top-up-1', ticker: 'UAH', amount: '125.5' }] },
    });
    expect(await client.mainBalance()).toMatchObject({ kind: 'ok', value: { UAH: '125.5' } });
  });

  it('signs every request so that the exchange knows the account', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'short');
    await client.openPositions();
    await client.mainBalance();
    expect(exchange.requestLog().map(({ account, status }) => [account, status])).toEqual([
      ['short', 200],
      ['short', 200],
    ]);
    expect(accountNamed(exchange, 'short').apiKey).toMatch(/^\w+$/);
  });
});
