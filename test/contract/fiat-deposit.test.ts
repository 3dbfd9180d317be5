import { describe, expect, it } from 'vitest';
import type { DepositCustomer, FiatDepositRequest } from '../../src/core/ports/exchange.ts';
import { blamed, summary } from './support/outcomes.ts';
import { startTampering } from './support/tamper.ts';
import { accountNamed, connect, openExchange } from './support/world.ts';

/** Specification 4.1, and its table of validation errors in section 7, field by field. */

const amount = (value: string) => value as FiatDepositRequest['amount'];

const BANK: FiatDepositRequest = {
  ticker: 'UAH',
  provider: 'BANKLINK',
  amount: amount('50'),
  uniqueId: 'deposit-1',
};

const CUSTOMER: DepositCustomer = {
  firstName: 'Ada',
  lastName: 'Byron',
  email: 'ada@example.org',
  birthDate: '1815-12-10',
  address: { line1: '12 St James Square', city: 'London', zipCode: 'SW1Y', countryCode: 'GB' },
};
const CARD: FiatDepositRequest = { ...BANK, ticker: 'USD', provider: 'VISAMASTER', customer: CUSTOMER };

async function ask(request: FiatDepositRequest, cardProviders: readonly string[] = []) {
  const exchange = await openExchange();
  const { client } = connect(exchange, 'flat', { cardProviders });
  return { exchange, client, outcome: await client.fiatDepositLink(request) };
}

describe('a fiat deposit link', () => {
  it.each<readonly [string, FiatDepositRequest]>([
    ['by bank', BANK],
    ['with links on the allowed domain', { ...BANK, successLink: 'https://pay.example.com/done?a=1' }],
    // The table of errors in section 7 has no rule for this field.
    ['with a return link anywhere', { ...BANK, returnLink: 'https://elsewhere.org/' }],
    ['by card with the customer', CARD],
    ['in euro by card', { ...CARD, ticker: 'EUR' }],
    ['in euro by SEPA without a customer', { ...BANK, ticker: 'EUR', provider: 'SEPA' }],
    [
      'with a second address line',
      { ...CARD, customer: { ...CUSTOMER, address: { ...CUSTOMER.address, line2: 'Flat 2' } } },
    ],
  ])('is made %s', async (_what, request) => {
    const { exchange, outcome } = await ask(request, ['VISAMASTER']);
    expect(summary(outcome)).toBe('accepted');
    expect(exchange.ledger({ kinds: ['fiat_link'] })).toHaveLength(1);
  });

  const REFUSED = 'rejected validationFailed 0 400 none';

  it.each<readonly [string, Partial<FiatDepositRequest>, string]>([
    ['too small an amount', { amount: amount('9.99') }, 'amount'],
    ['a ticker that does not exist', { ticker: 'NOCOIN' }, 'ticker'],
    ['a ticker without deposits', { ticker: 'GBP' }, 'ticker'],
    ['a coin', { ticker: 'BTC' }, 'ticker'],
    ['a provider that does not exist', { provider: 'NOBODY' }, 'provider'],
    ['a provider of another currency', { provider: 'SEPA' }, 'provider'],
    ['a success link on another domain', { successLink: 'https://elsewhere.org/' }, 'successLink'],
    ['a failure link on another domain', { failureLink: 'https://example.com.evil.org/' }, 'failureLink'],
    ['a link whose domain only ends alike', { successLink: 'https://notexample.com/' }, 'successLink'],
  ])('is refused for %s', async (_what, change, field) => {
    const { exchange, outcome } = await ask({ ...BANK, ...change });
    expect([summary(outcome), blamed(outcome)]).toEqual([REFUSED, [field]]);
    expect(exchange.ledger({ kinds: ['fiat_link'] })).toEqual([]);
  });

  it.each<readonly [string, Record<string, unknown>, string]>([
    ['without an amount', { amount: '' }, 'amount'],
    ['with an amount that is no number', { amount: 'ten' }, 'amount'],
    ['with an amount of zero', { amount: '0' }, 'amount'],
    ['without a provider', { provider: null }, 'provider'],
    ['without a ticker', { ticker: '' }, 'ticker'],
    ['without a unique id', { unique_id: '' }, 'uniqueId'],
    ['with a success link by http', { successLink: 'http://example.com/' }, 'successLink'],
    ['with a failure link by http', { failureLink: 'http://example.com/' }, 'failureLink'],
    ['with a link that is none', { successLink: 'home' }, 'successLink'],
    ['without the customer', { ticker: 'USD', provider: 'VISAMASTER' }, 'customer'],
    [
      'without a first name',
      { ticker: 'USD', provider: 'VISAMASTER', customer: { ...CUSTOMER, firstName: '' } },
      'customer.firstName',
    ],
    [
      'with a birth date in words',
      { ticker: 'EUR', provider: 'VISAMASTER', customer: { ...CUSTOMER, birthDate: '10 Dec 1815' } },
      'customer.birthDate',
    ],
    [
      'without the city',
      {
        ticker: 'EUR',
        provider: 'VISAMASTER',
        customer: { ...CUSTOMER, address: { ...CUSTOMER.address, city: undefined } },
      },
      'customer.address.city',
    ],
  ])('%s, which this client never sends, is refused by the exchange', async (_what, change, field) => {
    const exchange = await openExchange();
    const proxy = await startTampering(exchange.baseUrl, accountNamed(exchange, 'flat').apiSecret);
    proxy.tampering = { params: (params) => ({ ...params, ...change }) };
    const { client } = connect({ ...exchange, baseUrls: [proxy.url] }, 'flat');
    const outcome = await client.fiatDepositLink(BANK);
    expect([summary(outcome), blamed(outcome)]).toEqual([REFUSED, [field]]);
  });

  it.each<readonly [string, Partial<FiatDepositRequest>, string]>([
    ['an amount that is no number', { amount: amount('ten') }, 'amount'],
    ['no unique id', { uniqueId: ' ' }, 'uniqueId'],
    ['a link by http', { successLink: 'http://example.com/' }, 'successLink'],
    ['a customer left out', { ticker: 'USD', provider: 'VISAMASTER' }, 'customer'],
    [
      'a birth date in words',
      { ...CARD, customer: { ...CUSTOMER, birthDate: '10 Dec 1815' } },
      'customer.birthDate',
    ],
  ])('with %s is not sent at all', async (_what, change, field) => {
    const { exchange, outcome } = await ask({ ...BANK, ...change }, ['VISAMASTER']);
    expect([summary(outcome), blamed(outcome)]).toEqual(['rejected requestRejected - - none', [field]]);
    expect(exchange.requestLog()).toEqual([]);
  });

  it('refuses a used unique id, and names the field', async () => {
    const { client, exchange } = await ask(BANK);
    const again = await client.fiatDepositLink(BANK);
    expect([summary(again), blamed(again)]).toEqual([REFUSED, ['uniqueId']]);
    expect(exchange.ledger({ kinds: ['fiat_link'] })).toHaveLength(1);
    expect(summary(await client.fiatDepositLink({ ...BANK, uniqueId: 'deposit-2' }))).toBe('accepted');
  });

  it('a link that cannot be made is certain, a service that is away is not', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'flat');
    exchange.exchange.fiat.mode = 'failing';
    expect(summary(await client.fiatDepositLink(BANK))).toBe('rejected depositLinkFailed 10 400 none');
    exchange.exchange.fiat.mode = 'unavailable';
    expect(summary(await client.fiatDepositLink(BANK))).toBe('unknown temporarilyUnavailable 0 503 possible');
    expect(exchange.requestLog({ endpoint: 'fiatDepositUrl' })).toHaveLength(2);
  });

  it('an unavailable service does not make the base address count as failing', async () => {
    const exchange = await openExchange();
    const { client } = connect(exchange, 'flat');
    exchange.exchange.fiat.mode = 'unavailable';
    await client.fiatDepositLink(BANK);
    await client.openPositions();
    expect(exchange.requestLog().map(({ region }) => region)).toEqual([0, 0]);
  });

  it('is announced by the asset status listing', async () => {
    const exchange = await openExchange();
    const listing = (await (await fetch(`${exchange.baseUrl}/api/v4/public/assets`)).json()) as Record<
      string,
      { can_deposit: boolean; providers: { deposits: string[] } }
    >;
    expect(listing['UAH']).toMatchObject({ can_deposit: true, providers: { deposits: ['BANKLINK'] } });
    expect(listing['EUR']?.providers.deposits).toEqual(['VISAMASTER', 'SEPA']);
    expect(listing['GBP']).toMatchObject({ can_deposit: false, providers: { deposits: [] } });
  });
});
