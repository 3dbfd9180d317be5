import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { secretValues } from '../../src/config/secret.ts';
import { BASE, linesOf, loaded } from './support.ts';

const CUSTOMER = {
  firstName: 'Ann',
  lastName: 'Quackenbush',
  email: 'ann.q@example.org',
  birthDate: '1980-02-29',
  line1: '1 Some Street',
  city: 'London',
  zipCode: 'N1 9GU',
  countryCode: 'GB',
};

const env = (changes: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  API_KEY: 'key-1',
  API_SECRET: 'secret-1',
  ...CUSTOMER,
  ...changes,
});

const PERSON = `customer:
    firstName: { env: firstName }
    lastName: { env: lastName }
    email: { env: email }
    birthDate: { env: birthDate }
    address: { line1: { env: line1 }, city: { env: city }, zipCode: { env: zipCode }, countryCode: { env: countryCode } }`;
const LINK = `depositLink:
  ticker: [USD, EUR]
  provider: CARD
  ${PERSON}
`;
const ACCOUNTS = `accounts:
  - { id: borrower, apiKey: { env: API_KEY }, apiSecret: { env: API_SECRET }, watch: { creditLine: yes } }
`;
const TRADER = `  - { id: trader, apiKey: { env: OTHER_KEY }, apiSecret: { env: API_SECRET } }
`;

describe('deposit links', () => {
  test('are offered for accounts with a credit line source, whose deposits are then read, too', () => {
    const given = { env: env({ OTHER_KEY: 'key-2' }) };
    const [borrower, trader] = loaded(`${BASE}${LINK}${ACCOUNTS}${TRADER}`, given).accounts;
    expect(borrower?.depositLink).toMatchObject({
      tickers: ['USD', 'EUR'],
      provider: 'CARD',
      byCard: true,
      uniqueIdPrefix: 'breakwater',
      links: {},
    });
    expect(borrower?.depositLink?.customer?.address.city.reveal()).toBe('London');
    expect(borrower?.watch.sources).toEqual(['positions', 'creditLine', 'transfers']);
    expect(trader?.depositLink).toBeUndefined();
    expect(trader?.watch.sources).toEqual(['positions']);
  });

  test('of an account replace those of the file', () => {
    const own = ACCOUNTS.replace(
      'watch: {',
      'depositLink: { ticker: GBP, provider: BANK, byCard: no, maxAmount: 100 }, watch: {',
    );
    const [account] = loaded(`${BASE}${LINK}${own}`, { env: env() }).accounts;
    expect(account?.depositLink).toEqual({
      tickers: ['GBP'],
      provider: 'BANK',
      byCard: false,
      uniqueIdPrefix: 'breakwater',
      maxAmount: '100',
      links: {},
    });
  });

  test("hide the payer's data", () => {
    const config = loaded(`${BASE}${LINK}${ACCOUNTS}`, { env: env() });
    const shown = inspect(config, { depth: 20, showHidden: true }) + JSON.stringify(config);
    for (const value of Object.values(CUSTOMER)) {
      if (value.length > 3) expect(shown).not.toContain(value);
    }
    // A value that cannot be a plain word is redacted everywhere; a city would be redacted in a time zone, too.
    const hidden = secretValues(config);
    for (const name of ['email', 'birthDate', 'line1'] as const) expect(hidden).toContain(CUSTOMER[name]);
    for (const name of ['firstName', 'lastName', 'city', 'countryCode'] as const) {
      expect(hidden).not.toContain(CUSTOMER[name]);
    }
  });

  test.each([
    [
      'firstName: { env: firstName }',
      'firstName: Ann',
      /customer\.firstName: expected .*env.* secrets are not written/,
    ],
    ['city: { env: city }', 'city: London', /customer\.address\.city: expected .*env/],
    [PERSON, '', /depositLink: expected customer, which the card provider needs for USD/],
    ['    birthDate: { env: birthDate }\n', '', /birthDate/],
    [
      'provider: CARD',
      'provider: CARD\n  minAmount: 10\n  maxAmount: 5',
      /depositLink\.maxAmount: expected maxAmount/,
    ],
    [
      'provider: CARD',
      'provider: CARD\n  successLink: http://a.example/',
      /successLink: expected an address that starts with https:/,
    ],
    ['provider: CARD', 'provider: CARD\n  uniqueIdPrefix: "a b"', /uniqueIdPrefix/],
    ['provider: CARD', 'provider: CARD\n  surprise: 1', /surprise/],
    ['ticker: [USD, EUR]', 'ticker: []', /ticker/],
  ])('with %s %j are refused', (from, to, words) => {
    const text = `${BASE}${LINK.replace(from, to)}${ACCOUNTS}`;
    expect(text).not.toBe(`${BASE}${LINK}${ACCOUNTS}`);
    const lines = linesOf(text, { env: env() });
    expect(lines.join('\n')).toMatch(words);
    for (const value of ['Quackenbush', 'Ann', 'London']) expect(lines.join('\n')).not.toContain(value);
  });

  test.each([
    ['birthDate', '29.02.1980'],
    ['birthDate', '1980-13-01'],
    ['email', 'ann at example'],
    ['countryCode', 'United Kingdom'],
    ['firstName', 'x'.repeat(201)],
  ])('need %s in its form, and do not repeat %j', (name, value) => {
    const lines = linesOf(`${BASE}${LINK}${ACCOUNTS}`, { env: env({ [name]: value }) });
    const about = lines.filter((line) => line.includes('depositLink'));
    expect(about).toHaveLength(1);
    expect(about[0]).toMatch(new RegExp(`${name}: expected .* got another text \\(not repeated here\\)`));
    expect(lines.join('\n')).not.toContain(value);
  });

  test('with a wrong section hide no other mistake', () => {
    const lines = linesOf(`${BASE}depositLink: 5\n${ACCOUNTS.replace('creditLine: yes', 'creditLine: 5')}`, {
      env: env(),
    });
    expect(lines.join('\n')).toMatch(/depositLink/);
    expect(lines.join('\n')).toMatch(/creditLine/);
  });
});

describe('the tokens of the web server', () => {
  const web = (keys: string): string => `${BASE}web: { ${keys} }\n${ACCOUNTS}`;
  const given = {
    env: env({ A: 'a-token-of-some-length', B: 'another-token-of-some-length', SHORT: 'short' }),
  };

  test('are two, and the control token needs the view token only on a public address', () => {
    const config = loaded(web('controlToken: { env: B }, publicUrl: https://b.example/x/'), given);
    expect(config.web.controlToken?.reveal()).toBe('another-token-of-some-length');
    expect([config.web.token, config.web.publicUrl]).toEqual([undefined, 'https://b.example/x']);
    expect(config.notify.links).toEqual([{ title: 'Status page', url: 'https://b.example/x{page}' }]);
  });

  test.each([
    ['controlToken: { env: SHORT }', /web\.controlToken: expected a token of at least 16/],
    [
      'token: { env: A }, controlToken: { env: A }',
      /web\.controlToken: expected another token than web\.token/,
    ],
    ['controlToken: a-control-token-in-the-file', /web\.controlToken: expected .*env/],
    ['host: 0.0.0.0, controlToken: { env: B }', /web\.host: expected web\.token/],
    ['publicUrl: b.example', /web\.publicUrl/],
    ['publicUrl: "https://me:secret@b.example"', /web\.publicUrl.*credentials/],
  ])('%s is refused', (keys, words) => {
    const lines = linesOf(web(keys), given);
    expect(lines.join('\n')).toMatch(words);
    expect(lines.join('\n')).not.toMatch(/some-length|in-the-file|me:secret/);
  });
});
