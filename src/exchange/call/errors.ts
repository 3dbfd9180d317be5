import type { ExchangeError, PossibleEffect } from '../../core/ports/exchange.ts';
import type { Conceal } from '../../core/redaction/conceal.ts';
import type { ForeignWordsLimits } from '../../core/redaction/foreign-words.ts';
import type { EndpointId } from '../endpoints.ts';
import {
  type CatalogueEntry,
  CODES,
  entryForCode,
  entryForStatus,
  entryForWords,
  FINDINGS,
  type FindingName,
} from './error-catalogue.ts';
import { isObject } from './parse-json.ts';

/** A client order id has at most 32 characters and must stay visible. */
export const SHOWN_OF_ERRORS: ForeignWordsLimits = { maxLength: 300, opaqueLength: 40 };
const MAX_FIELDS = 50;
const MAX_FIELD_MESSAGES = 10;

/** Makes the error of a failure that the client found. */
export function finding(
  name: FindingName,
  endpoint: EndpointId,
  details: { effect?: PossibleEffect; message?: string; httpStatus?: number; code?: number } = {},
): ExchangeError {
  const { meaning, effect } = FINDINGS[name];
  return { name, endpoint, message: meaning, effect, ...details };
}

/**
 * Returns the error in a reply, or `undefined`. A body may refuse under status 200 (a key without access gets
 * `success: false`, code 0). A status above 299 is always an error.
 * @param body `undefined` if not JSON: the exchange always answers in JSON, so a gateway wrote it
 */
export function errorOfReply(
  context: { readonly endpoint: EndpointId; readonly redact: Conceal },
  status: number,
  body: unknown,
  retryAfterMs?: number,
): ExchangeError | undefined {
  const success = status >= 200 && status < 300;
  const said = readErrorBody(body, context.redact);
  if (success && !said.refused) return undefined;
  const judged = success ? (said.status ?? 400) : status;
  const base = {
    endpoint: context.endpoint,
    httpStatus: status,
    ...(said.code === undefined ? {} : { code: said.code }),
    ...(Object.keys(said.fields).length === 0 ? {} : { fields: said.fields }),
    ...(said.params.length === 0 ? {} : { params: said.params }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  if (body === undefined) {
    const { name, effect, meaning } = judgeGateway(status);
    return { name, message: meaning, effect, ...base, gateway: true };
  }
  const { name, effect, meaning } = judge(context.endpoint, judged, said);
  // Under a success status only `success: false` or another status is certain: a code and a message may be a receipt.
  const certain = !success || said.success === false || said.status !== undefined;
  const words = said.message || Object.values(said.fields).flat().join('; ');
  return { name, message: words || meaning, effect: certain ? effect : 'possible', ...base };
}

type Judgement = Pick<CatalogueEntry, 'name' | 'effect' | 'meaning'>;

/** A request refused by a gateway has not reached the exchange; one that failed on the way may have. */
function judgeGateway(status: number): Judgement {
  if (status === 429) return entryForStatus(status) ?? FINDINGS.gatewayRefused;
  if (isRefusal(status)) return FINDINGS.gatewayRefused;
  return status >= 400 ? FINDINGS.gatewayFailed : FINDINGS.unexpectedStatus;
}

const isRefusal = (status: number): boolean => status >= 400 && status < 500 && status !== 408;

/** The cause: by the words first, the code second, the HTTP status third. Low codes say less than a clear status. */
function judge(endpoint: EndpointId, status: number, said: ErrorBody): Judgement {
  const byStatus = entryForStatus(status);
  if (!isRefusal(status)) return byStatus ?? FINDINGS.unexpectedStatus;
  const byWords = entryForWords(endpoint, [said.message, ...Object.values(said.fields).flat()].join('; '));
  if (status === 429)
    return (byWords?.name === 'nonceRefused' ? byWords : byStatus) ?? FINDINGS.unexpectedStatus;
  if (byWords !== undefined) return byWords;
  if (endpoint === 'creditLines' && status === 404) return FINDINGS.loansNotAvailable;
  const { code = 0 } = said;
  const byCode = entryForCode(endpoint, code);
  const isVague = code <= LARGEST_VAGUE_CODE || byCode === undefined;
  if (isVague && status !== 400 && status !== 422 && byStatus !== undefined) return byStatus;
  if ((code === 0 || code === 30) && namesDuplicateId(said)) return DUPLICATE_ID;
  if (said.code === 0 && Object.keys(said.fields).length === 0 && deniesPermission(said)) {
    return PERMISSION_DENIED;
  }
  if (code === 36 && endpoint === 'stopLimit' && namesInvalidId(said)) return INVALID_ID;
  if (said.code === undefined) return byStatus ?? { ...FINDINGS.unexpectedStatus, effect: 'none' };
  const unknown = `unknown code ${code}`;
  return byCode ?? { name: unknown, effect: 'none', meaning: unknown };
}

const LARGEST_VAGUE_CODE = 30;

const PERMISSION_DENIED: Judgement = entryForStatus(403) ?? FINDINGS.unexpectedStatus;
const DUPLICATE_ID: Judgement = entryForCode('stopLimit', 36) ?? FINDINGS.unexpectedStatus;
const INVALID_ID: Judgement = CODES.find(({ name }) => name === 'clientOrderIdInvalid') ?? DUPLICATE_ID;

/** Specification 5, rule 3: `success` false, code 0 and a message; without `success`, the message decides. */
function deniesPermission({ success, message }: ErrorBody): boolean {
  return success === false ? !/validation/i.test(message) : /access|not enabled|not allowed/i.test(message);
}

const USED_BEFORE = /unique|already|exist|duplicate|taken|in use|(?:been|is|was) used|repeat/i;

/** Whether a validation error is about a reused client order id, which only its field or its words show. */
const namesDuplicateId = (said: ErrorBody): boolean => idTexts(said).some((text) => USED_BEFORE.test(text));

/**
 * Whether code 36 means a malformed id. A duplicate means that an order was accepted before, so a malformed id must not
 * be taken for one. Without a text it is a duplicate, because the client checks the form of ids itself.
 */
function namesInvalidId(said: ErrorBody): boolean {
  return idTexts(said).length > 0 && !namesDuplicateId(said);
}

const ORDER_ID = /\bclient[ _]?order[ _]?id\b/i;

/** By the field, or where texts have no fields by naming it themselves. */
function idTexts({ fields, message }: ErrorBody): string[] {
  const named = Object.entries(fields).flatMap(([name, said]) => (ORDER_ID.test(name) ? said : []));
  return Object.keys(fields).length > 0 ? named : message.split('; ').filter((text) => ORDER_ID.test(text));
}

type ErrorBody = ReturnType<typeof readErrorBody>;

/** Reads the contents of an error body (specification 7), under any status. */
function readErrorBody(body: unknown, redact: Conceal) {
  const own = (key: string): unknown => (isObject(body) && Object.hasOwn(body, key) ? body[key] : undefined);
  const code = wholeNumber(own('code'));
  const status = wholeNumber(own('status'));
  const success = own('success');
  const error = own('error');
  const message = own('message') ?? error;
  const errors = own('errors');
  const said = [message, errors].flatMap((one) =>
    texts(Array.isArray(one) ? one : [one], MAX_FIELDS, redact),
  );
  const fields = { ...readFields(message, redact), ...readFields(errors, redact) };
  return {
    code,
    message: [...new Set(said)].join('; '),
    fields,
    params: texts(own('params'), MAX_FIELDS, redact),
    success: typeof success === 'boolean' ? success : undefined,
    /** The status that the body names, if it is one of an error. */
    status: isErrorStatus(status) ? status : undefined,
    /** Whether the body is a refusal even under status 2xx. */
    refused:
      success === false ||
      isErrorStatus(status) ||
      (typeof error === 'string' && error !== '') ||
      isObject(error) ||
      (code !== undefined && (typeof message === 'string' || isObject(errors) || said.length > 0)),
  };
}

const isErrorStatus = (status = 0): boolean => status >= 400 && status < 600;

function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

/** Reads `errors`, which maps a parameter to its messages; a single text counts as a list of one. */
function readFields(errors: unknown, redact: Conceal): Record<string, readonly string[]> {
  if (!isObject(errors)) return {};
  const entries = Object.entries(errors).slice(0, MAX_FIELDS);
  return Object.fromEntries(
    entries.map(([name, value]) => {
      return [redact(name), texts(Array.isArray(value) ? value : [value], MAX_FIELD_MESSAGES, redact)];
    }),
  );
}

function texts(value: unknown, most: number, redact: Conceal): readonly string[] {
  if (!Array.isArray(value)) return [];
  const strings = value.filter((text) => typeof text === 'string');
  return strings.slice(0, most).map(redact);
}

/** A reply may ask for days, or name a date in 2099; obeying it would leave positions unwatched. */
const LONGEST_RETRY_AFTER_MS = 120_000;

/**
 * Reads seconds or a date (RFC 9110, 10.2.3) as a delay in ms of at most two minutes; `undefined` if neither. Some
 * gateways write decimals.
 * @param nowMs Unix milliseconds by the clock that the date was written with
 */
export function readRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const askedMs = header === undefined ? undefined : askedFor(header, nowMs);
  return askedMs === undefined ? undefined : Math.min(Math.max(0, askedMs), LONGEST_RETRY_AFTER_MS);
}

function askedFor(header: string, nowMs: number): number | undefined {
  if (/^(\d{1,6}(\.\d*)?|\.\d+)$/.test(header.trim())) return Math.ceil(Number(header) * 1000);
  if (/^[\s\d.,+-]*$/.test(header)) return undefined;
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? undefined : atMs - nowMs;
}
