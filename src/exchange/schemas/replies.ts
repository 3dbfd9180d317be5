import type {
  CreditLineRecord,
  MainBalance,
  OpeningPosition,
  PositionList,
  RecordList,
  SetAsideRecord,
  SpotOrderRecord,
  TransferRecord,
} from '../../core/ports/exchange.ts';
import type { DecimalString } from '../../core/quantities/decimal.ts';
import { isObject, NumberText, parseJsonKeepingDigits, shapeOf } from '../call/parse-json.ts';
import { decimalField } from './fields.ts';
import { asOpeningPosition, nullsOf } from './opening-position.ts';
import {
  creditLineReader,
  placedOrderReader,
  positionReader,
  type RecordReader,
  spotOrderReader,
  transferReader,
} from './records.ts';
import { SetAside } from './set-aside.ts';

/** A reply read as a whole, or where it was not as documented. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly SetAsideRecord[] };

/**
 * Reads a reply that was parsed the fast way. What is not accepted then may only have lost digits (decimals
 * sent as JSON numbers, ids beyond 2^53), so it is read once more from its text with every digit.
 */
export function readReply<T>(text: string, value: unknown, read: (value: unknown) => Parsed<T>): Parsed<T> {
  const parsed = read(value);
  if (parsed.ok && !hasSetAside(parsed.value)) return parsed;
  const exact = parseJsonKeepingDigits(text);
  return exact === undefined ? parsed : read(exact.value);
}

function hasSetAside(value: unknown): boolean {
  const setAside = (value as Partial<RecordList<unknown>> | null | undefined)?.setAside;
  return Array.isArray(setAside) && setAside.length > 0;
}

/** A record cannot say more than this about itself: enough to find the cause. */
const MAX_ISSUES = 5;
const MAX_KEY = 64;

const invalid = (path: string, expected: string, value: unknown): Parsed<never> => ({
  ok: false,
  problems: [{ path, expected, got: shapeOf(value) }],
});

interface RecordsAt {
  /** Where the list stands in the reply. */
  readonly at?: string;
  /** Whether an item is none of the records: neither read nor set aside. */
  readonly passOver?: (item: unknown) => boolean;
}

/** A list in which a bad record is set aside and the others are kept. */
function readRecords<T>(
  items: readonly unknown[],
  reader: RecordReader<T>,
  { at = '', passOver }: RecordsAt = {},
): RecordList<T> {
  const records: T[] = [];
  const aside = new SetAside();
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    const place = () => `${at}[${index}]`;
    if (!isObject(item)) {
      // Without the schema, which takes its time to say so of every field.
      aside.add(() => ({ path: place(), expected: 'an object', got: shapeOf(item) }));
    } else if (passOver?.(item) !== true) {
      const parsed = reader.safeParse(item);
      if (parsed.success) records.push(parsed.data);
      else aside.add(() => summarise(describe(parsed.error.issues, item, place())));
    }
  }
  return { records, ...aside.asList() };
}

function summarise([first, ...others]: readonly SetAsideRecord[]): SetAsideRecord {
  const fault = first ?? { path: '', expected: 'a record', got: 'another' };
  return others.length === 0 ? fault : { ...fault, furtherFaults: others.length };
}

function describe(
  issues: readonly { path: readonly PropertyKey[]; message: string }[],
  value: unknown,
  at: string,
): SetAsideRecord[] {
  return issues.slice(0, MAX_ISSUES).map(({ path, message }) => ({
    path: path.reduce<string>((text, key) => text + step(key), at),
    expected: message.replace(/^Invalid input: expected /, ''),
    got: shapeOf(path.reduce<unknown>(child, value)),
  }));
}

function step(key: PropertyKey): string {
  if (typeof key === 'number') return `[${key}]`;
  return `.${pathKey(String(key))}`;
}

/** Keys may come from the exchange: no control characters, bounded. */
function pathKey(key: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what must not get into a log line
  return key.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '?').slice(0, MAX_KEY);
}

function child(value: unknown, key: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<PropertyKey, unknown>)[key];
}

const isEmptyObject = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0;

/** Specification 1: an array holding the single string `pong`. */
export function readPing(value: unknown): Parsed<true> {
  if (Array.isArray(value) && value.length === 1 && value[0] === 'pong') return { ok: true, value: true };
  return invalid('', '["pong"]', value);
}

/** Specification 4.3; an empty list may come as `[]` or `{}`. */
export function readPositions(value: unknown): Parsed<PositionList> {
  if (Array.isArray(value)) {
    const notOpenYet: OpeningPosition[] = [];
    const passOver = (item: unknown): boolean => {
      const opening = asOpeningPosition(item);
      if (opening !== undefined) notOpenYet.push(opening);
      return opening !== undefined;
    };
    const list = readRecords(value, positionReader, { passOver });
    const nulls = nullsIn(value);
    return {
      ok: true,
      value: {
        ...list,
        ...(notOpenYet.length === 0 ? {} : { notOpenYet }),
        ...(nulls.length === 0 ? {} : { nulls }),
      },
    };
  }
  return isEmptyObject(value)
    ? { ok: true, value: readRecords([], positionReader) }
    : invalid('', 'an array of positions', value);
}

/** As many as records are told of that are set aside. */
const MOST_NULLS = 20;

/** In positions that are open; such a record counts all the same, as a margin call must not be hidden by it. */
function nullsIn(items: readonly unknown[]): readonly SetAsideRecord[] {
  const told: SetAsideRecord[] = [];
  for (const [index, item] of items.entries()) {
    if (told.length === MOST_NULLS) break;
    if (!isObject(item) || asOpeningPosition(item) !== undefined) continue;
    const [first, ...others] = nullsOf(item);
    if (first === undefined) continue;
    const fault = { path: `[${index}].${first}`, expected: 'a decimal string', got: shapeOf(item[first]) };
    told.push(others.length === 0 ? fault : { ...fault, furtherFaults: others.length });
  }
  return told;
}

/** Specification 4.6b: one object, an array of them, or nothing at all. */
export function readCreditLines(value: unknown): Parsed<RecordList<CreditLineRecord>> {
  if (Array.isArray(value)) return { ok: true, value: readRecords(value, creditLineReader) };
  if (value === null || isEmptyObject(value)) return { ok: true, value: readRecords([], creditLineReader) };
  if (!isObject(value)) return invalid('', 'a credit line or an array of them', value);
  return { ok: true, value: readRecords([value], creditLineReader) };
}

/**
 * Specification 2.6. An asset that is absent has zero, so a bad entry cannot be set aside: the whole reply
 * is refused.
 */
export function readMainBalance(value: unknown): Parsed<MainBalance> {
  if (Array.isArray(value) && value.length === 0) return { ok: true, value: {} };
  if (!isObject(value)) return invalid('', 'an object keyed by asset', value);
  const problems: SetAsideRecord[] = [];
  const entries: [string, DecimalString][] = [];
  for (const [asset, balance] of Object.entries(value)) {
    const amount = child(balance, 'main_balance') ?? child(balance, 'mainBalance');
    const parsed = decimalField.safeParse(amount);
    if (isObject(balance) && parsed.success) entries.push([asset, parsed.data]);
    else {
      const path = `.${pathKey(asset)}.main_balance`;
      problems.push({ path, expected: 'a decimal string', got: shapeOf(amount) });
    }
  }
  if (problems.length > 0) return { ok: false, problems: problems.slice(0, MAX_ISSUES) };
  return { ok: true, value: Object.fromEntries(entries) };
}

/** One page of a history. */
export interface Page<T> extends RecordList<T> {
  /** Records received, those set aside included. */
  readonly received: number;
  /** Records in the longest list: less than `received` where the reply holds a list for each market. */
  readonly longest: number;
  /** How many there are in all, when the exchange says so. */
  readonly total?: number;
}

/** Specification 4.2. */
export function readTransferPage(value: unknown): Parsed<Page<TransferRecord>> {
  if (isEmptyObject(value) || (Array.isArray(value) && value.length === 0)) {
    return { ok: true, value: { ...readRecords([], transferReader), received: 0, longest: 0, total: 0 } };
  }
  if (!isObject(value)) return invalid('', 'an object with records', value);
  const items = value['records'];
  if (!Array.isArray(items) && !isEmptyObject(items)) return invalid('.records', 'an array', items);
  for (const name of ['limit', 'offset', 'total']) {
    const bound = value[name];
    if (bound !== undefined && wholeNumber(bound) === undefined) {
      return invalid(`.${name}`, 'a whole number', bound);
    }
  }
  const total = wholeNumber(value['total']);
  const list = readRecords(Array.isArray(items) ? items : [], transferReader, { at: '.records' });
  const received = Array.isArray(items) ? items.length : 0;
  return {
    ok: true,
    value: { ...list, received, longest: received, ...(total === undefined ? {} : { total }) },
  };
}

function wholeNumber(value: unknown): number | undefined {
  const number = value instanceof NumberText ? Number(value.source) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

/** Specification 4.5: keyed by market; an empty history may come as `[]` or `{}`. */
export function readSpotOrderPage(value: unknown): Parsed<Page<SpotOrderRecord>> {
  if (Array.isArray(value) && value.length === 0) {
    return { ok: true, value: { ...readRecords([], spotOrderReader('')), received: 0, longest: 0 } };
  }
  if (!isObject(value)) return invalid('', 'an object keyed by market', value);
  const records: SpotOrderRecord[] = [];
  const aside = new SetAside();
  let received = 0;
  let longest = 0;
  for (const [market, items] of Object.entries(value)) {
    if (market === '' || market.length > 100) return invalid('', 'names of markets as keys', market);
    if (!Array.isArray(items)) return invalid(`.${pathKey(market)}`, 'an array of orders', items);
    const list = readRecords(items, spotOrderReader(market), { at: `.${pathKey(market)}` });
    for (const record of list.records) records.push(record);
    aside.addAll(list);
    received += items.length;
    longest = Math.max(longest, items.length);
  }
  return { ok: true, value: { records, ...aside.asList(), received, longest } };
}

export type PlacedOrderReply = ReturnType<typeof placedOrderReader.parse>;

/** Specification 2.2. */
export function readPlacedOrder(value: unknown): Parsed<PlacedOrderReply> {
  const parsed = placedOrderReader.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, problems: describe(parsed.error.issues, value, '') };
}

/** Specification 4.1. */
export function readDepositLink(value: unknown): Parsed<string> {
  const url = child(value, 'url');
  if (typeof url === 'string' && url.length <= 8192 && WEB_ADDRESS.test(url) && URL.canParse(url)) {
    return { ok: true, value: url };
  }
  return invalid('.url', 'a web address', url);
}

const WEB_ADDRESS = /^https?:\/\/[^\s]+$/;
