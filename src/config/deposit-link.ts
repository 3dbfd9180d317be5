import { z } from 'zod';
import { type DecimalString, parseDecimal } from '../core/quantities/decimal.ts';
import type { Path } from './problem.ts';
import { Personal } from './secret.ts';
import { resolveSecret, type SecretContext } from './secrets.ts';
import { complain } from './shape/read.ts';
import { type Reference, secretRef } from './shape/references.ts';
import { decimalText, flag, text, ticker, url } from './shape/scalars.ts';
import { oneOrMany, section } from './shape/shape.ts';

// Links at which a person pays in fiat (specification 4.1). The payer's data is personal: it comes only from files or
// the environment.

const addressSchema = z.strictObject({
  line1: secretRef().describe('Street and number.'),
  line2: secretRef().exactOptional().describe('What the address has besides.'),
  city: secretRef().describe('City.'),
  zipCode: secretRef().describe('Postal code.'),
  countryCode: secretRef().describe('Country, such as DE.'),
});

const customerSchema = z.strictObject({
  firstName: secretRef().describe('First name.'),
  lastName: secretRef().describe('Last name.'),
  email: secretRef().describe('E-mail address.'),
  birthDate: secretRef().describe('YYYY-MM-DD.'),
  address: addressSchema.describe('Where that person lives.'),
});

const httpsLink = (): z.ZodType<string> => url('https:');

export const depositLinkSchema = section(
  {
    ticker: oneOrMany(ticker()).describe('Fiat currency, or several: the first one is offered first.'),
    provider: text({
      expected: 'the name of a provider from the asset status listing of the exchange',
      pattern: /^\S+$/,
      maxLength: 60,
    }).describe('Who takes the money, as the asset status listing of the exchange names it.'),
    byCard: flag().describe(
      'Whether that is the card provider, which wants to know the customer for USD and EUR, and a page that says where it comes from.',
    ),
    minAmount: decimalText().exactOptional().describe('Least amount that may be asked for.'),
    maxAmount: decimalText().exactOptional().describe('Largest amount that may be asked for.'),
    uniqueIdPrefix: text({
      expected: 'letters, digits and dashes, at most 20',
      pattern: /^[A-Za-z0-9-]+$/,
      maxLength: 20,
    }).describe('Begins the id of each link; the rest is random and never repeats.'),
    successLink: httpsLink()
      .exactOptional()
      .describe('Where a browser goes after success; of a domain that the exchange allowed you.'),
    failureLink: httpsLink().exactOptional().describe('Where it goes after a failure or rejection.'),
    returnLink: httpsLink().exactOptional().describe('Where the way back on the result page leads.'),
    customer: customerSchema
      .exactOptional()
      .describe('Who pays in. Each value from a file or the environment; none is shown or recorded.'),
  },
  { byCard: true, uniqueIdPrefix: 'breakwater' },
);

type WrittenDepositLink = z.output<typeof depositLinkSchema>;

/** Data of the person who pays in; see `DepositCustomer`. */
export type PersonalData = Personalised<z.output<typeof customerSchema>>;

type Personalised<T> = { readonly [K in keyof T]: Reference extends T[K] ? Personal : Personalised<T[K]> };

type LinkName = 'successLink' | 'failureLink' | 'returnLink';

export type CompiledDepositLink = Omit<WrittenDepositLink, LinkName | 'ticker' | 'customer'> & {
  readonly tickers: readonly string[];
  readonly links: Pick<WrittenDepositLink, LinkName>;
  readonly customer?: PersonalData;
};

/** Currencies for which the card provider requires customer data (specification 4.1). */
const CUSTOMER_TICKERS: ReadonlySet<string> = new Set(['USD', 'EUR']);

export function compileDepositLink(
  written: WrittenDepositLink,
  path: Path,
  context: SecretContext,
): CompiledDepositLink {
  const { ticker: tickers, customer, successLink, failureLink, returnLink, ...same } = written;
  const { byCard, minAmount, maxAmount } = same;
  const needing = tickers.find((one) => CUSTOMER_TICKERS.has(one.toUpperCase()));
  if (byCard && needing !== undefined && customer === undefined) {
    const message = `expected customer, which the card provider needs for ${needing} (or byCard: no), got none`;
    complain(context, path, 'missing-key', message);
  }
  if (isBelow(maxAmount, minAmount)) {
    const message = 'expected maxAmount to be at least minAmount, got a smaller amount';
    complain(context, [...path, 'maxAmount'], 'wrong-value', message);
  }
  const links = Object.entries({ successLink, failureLink, returnLink });
  const person = customer && compileCustomer(customer, [...path, 'customer'], context);
  return {
    ...same,
    tickers,
    links: Object.fromEntries(links.filter(([, link]) => link !== undefined)),
    ...(person === undefined ? {} : { customer: person }),
  };
}

function isBelow(max: DecimalString | undefined, min: DecimalString | undefined): boolean {
  const [largest, least] = [max, min].map((amount) => amount && parseDecimal(amount));
  return largest !== undefined && least !== undefined && largest.lt(least);
}

/** Formats of personal values. Messages must not contain the values. */
const FORMS: Readonly<Record<string, readonly [pattern: RegExp, expected: string]>> = {
  birthDate: [/^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, 'a date YYYY-MM-DD'],
  email: [/^[^\s@]+@[^\s@]+$/, 'an e-mail address'],
  countryCode: [/^[A-Za-z]{2,3}$/, 'a country code such as DE'],
};

/** Resolves the customer's data; reports what is missing or wrong, and then returns undefined. */
function compileCustomer(
  written: z.output<typeof customerSchema>,
  path: Path,
  context: SecretContext,
): PersonalData | undefined {
  let isWhole = true;
  const read = (name: string, reference: Reference, at: Path): Personal | undefined => {
    const value = resolveSecret(reference, [...at, name], context)?.reveal();
    const [pattern, expected] = FORMS[name] ?? [/^.{1,200}$/, 'at most 200 characters'];
    if (value !== undefined && pattern.test(value)) return new Personal(value);
    isWhole = false;
    if (value === undefined) return undefined;
    const message = `expected ${expected} behind it, got another text (not repeated here)`;
    complain(context, [...at, name], 'wrong-value', message);
    return undefined;
  };
  const readAll = (references: Readonly<Record<string, Reference>>, at: Path): object =>
    Object.fromEntries(Object.entries(references).map(([name, one]) => [name, read(name, one, at)]));
  const { address, ...person } = written;
  const personal = { ...readAll(person, path), address: readAll(address, [...path, 'address']) };
  return isWhole ? (personal as PersonalData) : undefined;
}
