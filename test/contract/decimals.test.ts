import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  CommandOutcome,
  PlacedOrder,
  ReadOutcome,
  StopLimitRequest,
} from '../../src/core/ports/exchange.ts';
import { decimal } from '../../src/core/quantities/decimal.ts';
import { DEFAULT_ASSETS, DEFAULT_MARKETS } from '../../src/simulator/defaults.ts';
import type { SeedAccount } from '../../src/simulator/model/types.ts';
import { startTampering } from './support/tamper.ts';
import { accountNamed, connect, openExchange, placed } from './support/world.ts';

/** No digit is lost in either direction, however long or large a number is. */

const STEP = decimal(`0.${'0'.repeat(17)}1`);

/** Positive decimals in plain notation, up to 18 places and 12 digits before the point, none of them zero. */
const digits = (min: number, max: number) =>
  fc.string({ unit: fc.integer({ min: 0, max: 9 }).map(String), minLength: min, maxLength: max });
const amount = fc
  .tuple(fc.integer({ min: 0, max: 999_999_999 }), digits(0, 17))
  .map(([whole, fraction]) => `${whole}.${fraction}7`);

const FINE = DEFAULT_MARKETS.map((spec) =>
  Object.assign({}, spec, {
    amountStep: STEP,
    priceStep: STEP,
    minAmount: STEP,
    depth: Object.assign({}, spec.depth, { levelStep: STEP, halfSpread: STEP }),
  }),
);
const RICH = Object.fromEntries(DEFAULT_ASSETS.map(({ ticker }) => [ticker, decimal(`1${'0'.repeat(40)}`)]));
const rich = (id: string, seed: Partial<SeedAccount> = {}): SeedAccount => ({
  id,
  hedgeMode: false,
  leverage: 100,
  collateral: RICH,
  ...seed,
});

function valueOf<T>(outcome: ReadOutcome<T> | CommandOutcome<T>): T {
  if (outcome.kind === 'ok' || outcome.kind === 'accepted') return outcome.value;
  throw new Error(JSON.stringify(outcome));
}

/** The shortest notation of the same number, as the exchange itself writes it. */
const plain = (text: string) => decimal(text).toFixed();

describe('to the client', () => {
  it('positions arrive digit by digit', async () => {
    const exchange = await openExchange({ config: { markets: FINE } });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        amount,
        amount,
        fc.constantFrom('long', 'short'),
        async (size, basePrice, direction) => {
          run += 1;
          const id = `p-${run}`;
          const position = {
            market: 'BTC_PERP',
            direction,
            amount: decimal(size),
            basePrice: decimal(basePrice),
          } as const;
          const access = exchange.exchange.createAccount(rich(id, { positions: [position] }));
          const { client } = connect({ ...exchange, accounts: [access] }, id);
          const [record] = valueOf(await client.openPositions()).records;
          const sign = direction === 'short' ? '-' : '';
          expect([record?.amount, record?.basePrice]).toEqual([`${sign}${plain(size)}`, plain(basePrice)]);
          const profit = decimal(size)
            .times(decimal('60000').minus(decimal(basePrice)))
            .times(decimal(direction === 'short' ? '-1' : '1'));
          expect(record?.unrealizedPnl).toBe(profit.toFixed());
          await client.close();
        },
      ),
      { numRuns: 60 },
    );
  });

  it('balances, transfers and loans arrive digit by digit', async () => {
    const exchange = await openExchange({ accounts: [] });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(amount, amount, async (balance, sent) => {
        run += 1;
        const id = `b-${run}`;
        const main = { USDT: decimal(balance).plus(decimal(sent)), BTC: decimal(balance) };
        const access = exchange.exchange.createAccount(rich(id, { main }));
        const { client } = connect({ ...exchange, accounts: [access] }, id);
        exchange.exchange.change((model) => {
          model.withdraw(id, { ticker: 'USDT', amount: decimal(sent) });
          const collateralAmount = decimal(balance);
          model.openLoan(id, {
            asset: 'USDT',
            amount: collateralAmount,
            collateralAsset: 'BTC',
            collateralAmount,
          });
        });
        const after = valueOf(await client.mainBalance());
        expect([after['USDT'], after['BTC']]).toEqual([
          plain(decimal(balance).times(decimal('2')).toFixed()),
          undefined,
        ]);
        const [transfer] = valueOf(await client.transfers()).records;
        expect(transfer?.amount).toBe(plain(sent));
        const [loan] = valueOf(await client.creditLines()).records;
        expect([
          loan?.amount,
          exchange.model.creditLines(id)[0]?.currentLtv.times(decimal('100')).toFixed(),
        ]).toEqual([plain(balance), loan?.currentLtv]);
        await client.close();
      }),
      { numRuns: 40 },
    );
  });

  it('JSON numbers keep every digit, too', async () => {
    const exchange = await openExchange();
    const proxy = await startTampering(exchange.baseUrl, accountNamed(exchange, 'long').apiSecret);
    const { client } = connect({ ...exchange, baseUrls: [proxy.url] }, 'long');
    await fc.assert(
      fc.asyncProperty(amount, fc.bigInt({ min: 1n, max: 10n ** 30n }), async (number, id) => {
        proxy.tampering = {
          reply: (answer) => ({
            ...answer,
            text: answer.text
              .replace(/"basePrice":"[^"]*"/, `"basePrice":${number}`)
              .replace(/"positionId":\d+/, `"positionId":${id}`),
          }),
        };
        const [record] = valueOf(await client.openPositions()).records;
        expect([record?.basePrice, record?.positionId]).toEqual([number, String(id)]);
      }),
      { numRuns: 60 },
    );
  });
});

describe('to the exchange', () => {
  it('orders arrive digit by digit, and are confirmed so', async () => {
    const exchange = await openExchange({ config: { markets: FINE }, accounts: [rich('rich')] });
    const { client } = connect(exchange, 'rich', {
      limiter: { limits: { order: { limit: 1_000_000 } } },
    });
    let run = 0;
    const brand = (text: string) => text as StopLimitRequest['amount'];
    await fc.assert(
      fc.asyncProperty(amount, amount, amount, amount, async (size, price, activation, stopLoss) => {
        run += 1;
        const clientOrderId = `d-${run}`;
        const order: PlacedOrder = valueOf(
          await client.stopLimit({
            market: 'BTC_PERP',
            side: 'buy',
            amount: brand(size),
            price: brand(price),
            activationPrice: brand(activation),
            stopLoss: brand(stopLoss),
            clientOrderId,
          }),
        );
        const [entry] = placed(exchange, clientOrderId);
        expect([entry?.amount, entry?.price, entry?.details?.['activationPrice']]).toEqual([
          plain(size),
          plain(price),
          plain(activation),
        ]);
        expect([order.amount, order.left, order.price, order.activationPrice, order.oto?.stopLoss]).toEqual([
          plain(size),
          plain(size),
          plain(price),
          plain(activation),
          plain(stopLoss),
        ]);
        expect(order.adjustedFrom).toBeUndefined();
      }),
      { numRuns: 100 },
    );
  });

  it.each(['1e-7', '1E+2', '0.0000001', '100.000'])(
    '%s is sent in plain notation with the same value',
    async (text) => {
      const exchange = await openExchange({ config: { markets: FINE }, accounts: [rich('rich')] });
      const { apiSecret } = accountNamed(exchange, 'rich');
      const proxy = await startTampering(exchange.baseUrl, apiSecret);
      const { client } = connect({ ...exchange, baseUrls: [proxy.url] }, 'rich');
      const value = text as StopLimitRequest['amount'];
      const order = {
        market: 'BTC_PERP',
        side: 'buy',
        amount: value,
        price: value,
        activationPrice: value,
      } as const;
      expect((await client.stopLimit(order)).kind).toBe('accepted');
      expect(placed(exchange)).toMatchObject([{ amount: plain(text), price: plain(text) }]);
      const body = JSON.parse(proxy.bodies[0] ?? '') as { amount: string };
      expect(body.amount).toMatch(/^\d+(\.\d+)?$/);
    },
  );

  it('deposit amounts arrive digit by digit', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'flat', {
      limiter: { limits: { 'main-account': { limit: 100_000 } } },
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(amount, async (text) => {
        fc.pre(decimal(text).gte(decimal('10')));
        run += 1;
        const uniqueId = `u-${run}`;
        valueOf(
          await client.fiatDepositLink({
            ticker: 'UAH',
            provider: 'BANKLINK',
            amount: text as StopLimitRequest['amount'],
            uniqueId,
          }),
        );
        const link = exchange.ledger({ kinds: ['fiat_link'] }).at(-1);
        expect([link?.details?.['uniqueId'], link?.amount]).toEqual([uniqueId, plain(text)]);
      }),
      { numRuns: 40 },
    );
  });
});
