import { type Decimal, parseDecimal, ZERO } from '../../core/quantities/decimal.ts';
import type { ServedEndpoint } from '../http/dispatch.ts';
import { privateError, type Reply, success, UNAVAILABLE } from '../http/reply.ts';
import type { Readings } from '../model/readings.ts';
import type { DepositLinkRequest } from '../model/types.ts';
import type { ParamReader } from './params.ts';
import { type EndpointParts, type FiatService, invalidFiatParams } from './parts.ts';

/** Currencies for which the card provider needs customer data (specification 4.1). */
const CUSTOMER_TICKERS: ReadonlySet<string | undefined> = new Set(['USD', 'EUR']);
const CUSTOMER_FIELDS = ['firstName', 'lastName', 'email', 'birthDate'] as const;
const ADDRESS_FIELDS = ['line1', 'city', 'zipCode', 'countryCode'] as const;
const REDIRECTS = ['successLink', 'failureLink'] as const;
const DATE_SYNTAX = /^\d{4}-\d{2}-\d{2}$/;

/** Specification 4.1. */
export function fiatDepositEndpoint(parts: EndpointParts): ServedEndpoint {
  return {
    name: 'fiatDepositUrl',
    path: '/api/v4/main-account/fiat-deposit-url',
    permission: 'fiatDeposit',
    isCommand: true,
    handle: ({ accountId, reader }): Reply => {
      if (parts.fiat.mode === 'unavailable') return privateError(503, 0, UNAVAILABLE);
      const ticker = reader.requiredString('ticker');
      const provider = reader.requiredString('provider');
      const amount = readAmount(reader);
      const uniqueId = readUniqueId(reader, parts.model.readings().uniqueIdSpelling);
      const links = readLinks(reader, parts.fiat);
      if (provider === parts.fiat.cardProvider && CUSTOMER_TICKERS.has(ticker)) {
        checkCustomer(reader, parts.model.nowMs());
      }
      const isComplete = ticker !== undefined && provider !== undefined && amount !== undefined;
      if (reader.hasProblems || !isComplete || uniqueId === undefined) {
        return invalidFiatParams(parts.model, reader.problems);
      }
      if (parts.fiat.mode === 'failing') return privateError(400, 10, 'Failed to generate deposit url');
      const request = { ticker, provider, amount, uniqueId, ...links };
      const outcome = parts.model.createFiatDeposit(accountId, request);
      if (!outcome.ok) return invalidFiatParams(parts.model, outcome.errors);
      return success({ url: parts.fiat.linkUrl(outcome.link.token) });
    },
  };
}

/** The refusal names `uniqueId` in either spelling (specification 7). */
function readUniqueId(reader: ParamReader, spelling: Readings['uniqueIdSpelling']): string | undefined {
  const isCamel = spelling === 'camel' || (spelling === 'either' && reader.raw('uniqueId') !== undefined);
  return reader.requiredString(isCamel ? 'uniqueId' : 'unique_id', 'uniqueId');
}

/** Checks that the amount is a number above zero; the model checks the least deposit of the asset. */
function readAmount(reader: ParamReader): Decimal | undefined {
  const text = reader.requiredString('amount');
  if (text === undefined) return undefined;
  const amount = parseDecimal(text);
  if (amount === undefined) return reader.problem('amount', 'The amount is not a number.');
  return amount.gt(ZERO) ? amount : reader.problem('amount', 'The amount is too little for deposit.');
}

/** Reads the links. Targets of redirects are restricted; that of the back option may be anything. */
function readLinks(reader: ParamReader, fiat: FiatService): Pick<DepositLinkRequest, LinkName> {
  const links: { [name in LinkName]?: string } = {};
  for (const name of [...REDIRECTS, 'returnLink'] as const) {
    const text = reader.optionalString(name);
    if (text === undefined) continue;
    links[name] = text;
    if (name !== 'returnLink') checkRedirect(reader, name, text, fiat);
  }
  return links;
}

type LinkName = (typeof REDIRECTS)[number] | 'returnLink';

function checkRedirect(reader: ParamReader, name: string, text: string, fiat: FiatService): void {
  const url = URL.parse(text);
  if (url === null) {
    reader.problem(name, `The ${name} is not a valid address.`);
  } else if (url.protocol !== 'https:') {
    reader.problem(name, `The ${name} must use https.`);
  } else if (!fiat.allowedDomains.some((domain) => isWithin(url.hostname, domain))) {
    reader.problem(name, `The domain of the ${name} is not allowed. Please contact support.`);
  }
}

function isWithin(hostname: string, domain: string): boolean {
  return hostname === domain || hostname.endsWith(`.${domain}`);
}

function checkCustomer(reader: ParamReader, nowMs: number): void {
  const customer = reader.requiredObject('customer');
  for (const field of CUSTOMER_FIELDS) customer?.requiredString(field);
  const birthDate = customer?.raw('birthDate');
  if (typeof birthDate === 'string' && birthDate !== '' && !isPastDate(birthDate, nowMs)) {
    reader.problem('customer.birthDate', 'The customer.birthDate must be a past date as YYYY-MM-DD.');
  }
  const address = customer?.requiredObject('address');
  for (const field of ADDRESS_FIELDS) address?.requiredString(field);
  address?.optionalString('line2');
}

function isPastDate(text: string, nowMs: number): boolean {
  if (!DATE_SYNTAX.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text) && time < nowMs;
}
