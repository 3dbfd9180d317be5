import { type FieldErrors, privateError, type Reply } from '../http/reply.ts';
import type { ExchangeModel } from '../model/exchange-model.ts';
import type { Rejection } from '../model/types.ts';
import type { AccountReads, Revision } from '../timeline.ts';
import type { ParamReader } from './params.ts';

export interface EndpointParts {
  readonly model: ExchangeModel;
  readonly revision: Revision;
  /** The account as it was `staleMs` ago; 0 for the present. */
  readonly reads: (accountId: string, staleMs: number) => AccountReads;
  readonly fiat: FiatService;
}

/** The service that makes fiat deposit links. */
export interface FiatService {
  /** `failing`: links cannot be made (code 10); `unavailable`: HTTP 503. */
  mode: 'up' | 'failing' | 'unavailable';
  /** The provider that requires customer data for USD and EUR, and a Referer. */
  readonly cardProvider: string;
  /** Domains that support has allowed for redirects, with their subdomains. */
  allowedDomains: readonly string[];
  readonly linkUrl: (token: string) => string;
}

const VALIDATION_FAILED = 'Validation failed';
const UNKNOWN_MARKET = 'Market is not available.';

/** Refused parameters of an order, history, cancel, hedge or position endpoint (specification 7). */
export function invalidParams(model: ExchangeModel, fields: FieldErrors, status?: number): Reply {
  const { unknownMarketCode, validationCode } = model.readings();
  const isUnknownMarket = Object.keys(fields).length === 1 && fields['market']?.[0] === UNKNOWN_MARKET;
  if (isUnknownMarket && unknownMarketCode === '10')
    return refusal(model, { code: 10, message: 'Market not found or disabled', fields: {} });
  const code = isUnknownMarket && unknownMarketCode === '31' ? 31 : Number(validationCode);
  return refusal(model, { code, message: VALIDATION_FAILED, fields }, status);
}

interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly fields: FieldErrors;
}

/** Applies the readings of the status and of the form of an error. */
function refusal(model: ExchangeModel, { code, message, fields }: Refusal, otherStatus?: number): Reply {
  const { validationStatus, emptyResult, errorForm } = model.readings();
  const status = otherStatus ?? Number(validationStatus);
  const reply = privateError(status, code, message, { fields, empties: emptyResult });
  if (errorForm === 'fields' || Object.keys(fields).length === 0) return reply;
  const body =
    errorForm === 'message'
      ? { success: false, message: fields, result: [] }
      : { code, message, errors: Object.values(fields).flat() };
  return { ...reply, body: JSON.stringify(body) };
}

/** Refused parameters of a fiat deposit link: always code 0 (specification 7). */
export function invalidFiatParams(model: ExchangeModel, fields: FieldErrors): Reply {
  return privateError(Number(model.readings().validationStatus), 0, VALIDATION_FAILED, { fields });
}

/** A refusal by the rules of the exchange rather than the form of the parameters. */
export function rejected(model: ExchangeModel, rejection: Rejection): Reply {
  const { message, errors: fields } = rejection;
  const code = rejection.code === 30 ? Number(model.readings().validationCode) : rejection.code;
  return refusal(model, { code, message, fields });
}

/** Success reply of cancel-all and hedge mode, whose body the specification does not show. */
export function commandReply(model: ExchangeModel, documented: unknown): Reply {
  const bodies = {
    documented: JSON.stringify(documented),
    emptyArray: '[]',
    emptyObject: '{}',
    nothing: '',
  };
  return { status: 200, body: bodies[model.readings().successBody] };
}

/** Reads an optional market, which must exist if given. */
export function optionalMarket(reader: ParamReader, model: ExchangeModel): string | undefined {
  const market = reader.optionalString('market');
  if (market !== undefined && (model.market(market)?.status ?? 'delisted') === 'delisted') {
    return reader.problem('market', UNKNOWN_MARKET);
  }
  return market;
}

/** Converts to Unix seconds with at most six decimals, as in replies (specification 1, rule 3, and 2.2). */
export function unixSeconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000_000;
}
