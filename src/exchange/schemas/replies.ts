import type { z } from 'zod';
import type {
  CreditLineRecord,
  LastPrices,
  MainBalance,
  OpeningPosition,
  PlacedOrderReply,
  PositionList,
  PositionRecord,
  RecordList,
  SetAsideRecord,
  SpotOrderRecord,
  TransferRecord,
} from '../../core/ports/exchange.ts';
import { asCount, asDecimal, asId, asName, isNone } from '../../core/ports/exchange-fields.ts';
import {
  creditLineReader,
  placedOrderReader,
  positionReader,
  spotOrderReader,
  transferReader,
} from '../../core/ports/exchange-records.ts';
import type { DecimalString } from '../../core/quantities/decimal.ts';
import { isObject, parseJsonKeepingDigits, shapeOf } from '../call/parse-json.ts';
import { SetAside } from './set-aside.ts';

/** A reply as read, or where it was not as documented. `flaws`: fields that could not be read, and count as left out. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T; readonly flaws?: readonly SetAsideRecord[] }
  | { readonly ok: false; readonly problems: readonly SetAsideRecord[] };

/**
 * Reads a reply that was parsed the fast way. If it is not fully accepted, it may only have lost digits (decimals sent
 * as JSON numbers, ids beyond 2^53), so it is read once more from its text with every digit.
 */
export function readReply<T>(text: string, value: unknown, read: Read<T>): Parsed<T> {
  const parsed = read(value, 'until in doubt');
  if (parsed.ok && !hasSetAside(parsed.value) && !mayLackDigits(parsed.flaws ?? [])) return parsed;
  const exact = parseJsonKeepingDigits(text);
  return read(exact === undefined ? value : exact.value);
}

/** `until in doubt`: may stop at the first fault for which the reply is read again, as both readings block the loop. */
type Read<T> = (value: unknown, extent?: Extent) => Parsed<T>;
type Extent = 'until in doubt' | 'whole';

const mayLackDigits = (flaws: readonly SetAsideRecord[]): boolean =>
  flaws.length >= MAX_ISSUES || flaws.some(({ got }) => got === 'number');

function hasSetAside(value: unknown): boolean {
  const setAside = (value as Partial<RecordList<unknown>> | null | undefined)?.setAside;
  return Array.isArray(setAside) && setAside.length > 0;
}

/** Most faults described per record: enough to find the cause. */
const MAX_ISSUES = 5;
const MAX_KEY = 64;

const invalid = (path: string, expected: string, value: unknown): Parsed<never> => ({
  ok: false,
  problems: [{ path, expected, got: shapeOf(value) }],
});

type Fields = Readonly<Record<string, unknown>>;

interface RecordsAt {
  /** Path of the list in the reply. */
  readonly at?: string;
  /** Whether an item is not one of the records, so that it is neither read nor set aside. */
  readonly passOver?: (item: Fields) => boolean;
  readonly extent: Extent;
}

type Issues = readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];

/** The record, `undefined` if it lacks what is needed of it; `issues`: what could not be read. */
function readRecord<T>(item: Fields, reader: z.ZodType<T>) {
  const parsed = reader.safeParse(item);
  if (parsed.success) return { record: parsed.data, issues: [] };
  const { issues } = parsed.error;
  const unread = new Set(issues.map(({ path: [name] }) => name));
  const { data } = reader.safeParse(
    Object.fromEntries(Object.entries(item).filter(([name]) => !unread.has(name))),
  );
  return { record: data, issues };
}

/** Reads a list. A bad record is set aside and the others are kept. */
function readRecords<T>(
  items: readonly unknown[],
  reader: z.ZodType<T>,
  { at = '', passOver, extent }: RecordsAt,
) {
  const records: T[] = [];
  const aside = new SetAside();
  const flawed = new SetAside();
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    if (extent !== 'whole' && (aside.count > 0 || flawed.count >= MAX_ISSUES)) break;
    const place = () => `${at}[${index}]`;
    if (!isObject(item)) {
      // Skips the schema, which would slowly report every field.
      aside.add(() => ({ path: place(), expected: 'an object', got: shapeOf(item) }));
    } else if (passOver?.(item) !== true) {
      const { record, issues } = readRecord(item, reader);
      if (record === undefined) aside.add(() => summarise(describe(issues, item, place())));
      else {
        records.push(record);
        for (const flaw of describe(issues, item, place())) flawed.add(() => flaw);
      }
    }
  }
  return { list: { records, ...aside.asList() }, ...flawed.asFlaws() };
}

function summarise([first, ...others]: readonly SetAsideRecord[]): SetAsideRecord {
  const fault = first ?? { path: '', expected: 'a record', got: 'another' };
  return others.length === 0 ? fault : { ...fault, furtherFaults: others.length };
}

function describe(issues: Issues, value: unknown, at: string): SetAsideRecord[] {
  return issues.slice(0, MAX_ISSUES).map(({ path, message }) => ({
    path: path.reduce<string>((text, key) => text + step(key), at),
    expected: message.replace(/^Invalid input: expected /, ''),
    got: shapeOf(path.reduce<unknown>(child, value)),
  }));
}

const step = (key: PropertyKey): string =>
  typeof key === 'number' ? `[${key}]` : `.${pathKey(String(key))}`;

/** Keys may come from the exchange: strips control characters and bounds the length. */
function pathKey(key: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what must not get into a log line
  return key.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '?').slice(0, MAX_KEY);
}

function child(value: unknown, key: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<PropertyKey, unknown>)[key];
}

const isEmptyObject = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0;

const ok = <T>(value: T): Parsed<T> => ({ ok: true, value });

export const NO_RECORDS: RecordList<never> = { records: [], setAside: [], complete: true };

/** Specification 1: an array with the single string `pong`. */
export function readPing(value: unknown): Parsed<true> {
  if (Array.isArray(value) && value.length === 1 && value[0] === 'pong') return ok(true);
  return invalid('', '["pong"]', value);
}

/** Public data of the live service: markets under `result`. One without a name or a price is left out. */
export function readLastPrices(value: unknown): Parsed<LastPrices> {
  const { result } = isObject(value) ? value : {};
  if (!Array.isArray(result)) return invalid('.result', 'an array of markets', value);
  const prices = result.flatMap((item: unknown) => {
    const { ticker_id: market, last_price: last } = isObject(item) ? item : {};
    const price = asDecimal(last);
    return typeof market === 'string' && price !== undefined && Number(price) > 0 ? [[market, price]] : [];
  });
  return ok(Object.fromEntries(prices) as LastPrices);
}

/** Specification 4.3; an empty list may come as `[]` or `{}`. */
export function readPositions(value: unknown, extent: Extent = 'whole'): Parsed<PositionList> {
  if (isEmptyObject(value)) return ok(NO_RECORDS);
  const items = listIn(value);
  if (items === undefined) return invalid('', 'an array of positions', value);
  const notOpenYet: OpeningPosition[] = [];
  const passOver = (item: Fields): boolean => {
    const opening = asOpeningPosition(item);
    if (opening !== undefined) notOpenYet.push(opening);
    return opening !== undefined || isClosedPosition(item);
  };
  const { list, ...flaws } = readRecords(items, positionReader, { passOver, extent });
  const records = withDoubtfulSides(list.records, items);
  return {
    ok: true,
    value: { ...list, records, ...(notOpenYet.length === 0 ? {} : { notOpenYet }) },
    ...flaws,
  };
}

const WRAPPERS: ReadonlySet<string> = new Set([
  'records',
  'result',
  'results',
  'data',
  'items',
  'positions',
  'loans',
]);

/** The array that a reply is, or the only one of a name for lists in an object that is no record itself. */
function listIn(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (!isObject(value)) return undefined;
  const lists = Object.entries(value).filter(([name, list]) => WRAPPERS.has(name) && Array.isArray(list));
  return lists.length === 1 ? (lists[0]?.[1] as readonly unknown[]) : undefined;
}

/**
 * Marks records whose side is in doubt. Both sides of a hedge have the liquidation price of the larger one, so only
 * `positionSide` tells them apart.
 */
function withDoubtfulSides(
  records: readonly PositionRecord[],
  items: readonly unknown[],
): readonly PositionRecord[] {
  const isKnown = ({ positionSide }: PositionRecord): boolean => positionSide?.known === true;
  if (records.every(isKnown)) return records;
  const open = items.filter((item) => !isZero(child(item, 'amount')));
  const byMarket = Map.groupBy(open, (item) => asName(child(item, 'market')));
  // An item whose market cannot be read may be of any market.
  const hasNeighbour = ({ positionId, market }: PositionRecord): boolean =>
    [market, undefined].some((name) =>
      byMarket.get(name)?.some((item) => asId(child(item, 'positionId')) !== positionId),
    );
  const inDoubt = (record: PositionRecord): PositionRecord => ({ ...record, sideDoubtful: true });
  return records.map((record) => (!isKnown(record) && hasNeighbour(record) ? inDoubt(record) : record));
}

/**
 * Recognises a position that an order is about to open. The live service lists it without an amount, base price and
 * realized result. A nonzero amount means that it is open, even if other fields are missing.
 */
function asOpeningPosition(item: Fields): OpeningPosition | undefined {
  const { amount, basePrice, pnl } = item;
  if (!isNone(amount) && !((isNone(basePrice) || isNone(pnl)) && isZero(amount))) return undefined;
  const positionId = asId(item['positionId']);
  const market = asName(item['market']);
  return positionId === undefined || market === undefined ? undefined : { positionId, market };
}

const isZero = (amount: unknown): boolean => /^-?0+(\.0*)?$/.test(asDecimal(amount) ?? '');

/** A closed position that is still listed; it may have no amount, but has an id and a market. */
function isClosedPosition({ amount, positionId, market }: Fields): boolean {
  return isZero(amount) && asId(positionId) !== undefined && asName(market) !== undefined;
}

/** Specification 4.6b: one object, an array of them, or nothing at all. */
export function readCreditLines(
  value: unknown,
  extent: Extent = 'whole',
): Parsed<RecordList<CreditLineRecord>> {
  if (value === null || isEmptyObject(value)) return ok(NO_RECORDS);
  const items = listIn(value) ?? (isObject(value) ? [value] : undefined);
  if (items === undefined) return invalid('', 'a credit line or an array of them', value);
  const { list, ...flaws } = readRecords(items, creditLineReader, { extent });
  return { ok: true, value: list, ...flaws };
}

/** Specification 2.6. An absent asset means zero, so one that cannot be read is kept as unknown. */
export function readMainBalance(value: unknown): Parsed<MainBalance> {
  if (Array.isArray(value) && value.length === 0) return ok({});
  if (!isObject(value)) return invalid('', 'an object keyed by asset', value);
  const problems: SetAsideRecord[] = [];
  const entries: [string, DecimalString | null][] = [];
  for (const [asset, balance] of Object.entries(value)) {
    const amount = child(balance, 'main_balance') ?? child(balance, 'mainBalance');
    const decimal = asDecimal(amount);
    const isRead = isObject(balance) && decimal !== undefined;
    entries.push([asset, isRead ? decimal : null]);
    if (isRead || problems.length === MAX_ISSUES) continue;
    const path = `.${pathKey(asset)}.main_balance`;
    problems.push({ path, expected: 'a decimal string', got: shapeOf(amount) });
  }
  if (problems.length === 0) return ok(Object.fromEntries(entries));
  // Not a balance at all.
  if (entries.every(([, amount]) => amount === null)) return { ok: false, problems };
  return { ok: true, value: Object.fromEntries(entries), flaws: problems };
}

/** One page of a history. */
export interface Page<T> extends RecordList<T> {
  /** Records received, including those set aside. */
  readonly received: number;
  /** Records in the longest list; less than `received` if the reply has a list per market. */
  readonly longest: number;
  /** Records in the whole history, if the exchange says so. */
  readonly total?: number;
}

/** Specification 4.2. */
export function readTransferPage(value: unknown, extent: Extent = 'whole'): Parsed<Page<TransferRecord>> {
  if (isEmptyObject(value) || (Array.isArray(value) && value.length === 0)) {
    return ok({ ...NO_RECORDS, received: 0, longest: 0, total: 0 });
  }
  if (!isObject(value)) return invalid('', 'an object with records', value);
  const items = value['records'];
  if (!Array.isArray(items) && !isEmptyObject(items)) return invalid('.records', 'an array', items);
  for (const name of ['limit', 'offset', 'total']) {
    const bound = value[name];
    if (bound !== undefined && asCount(bound) === undefined) {
      return invalid(`.${name}`, 'a whole number', bound);
    }
  }
  const total = asCount(value['total']);
  const read: readonly unknown[] = Array.isArray(items) ? items : [];
  const { list, ...flaws } = readRecords(read, transferReader, { at: '.records', extent });
  const received = read.length;
  const page = { ...list, received, longest: received, ...(total === undefined ? {} : { total }) };
  return { ok: true, value: page, ...flaws };
}

/** Specification 4.5: keyed by market; an empty history may come as `[]` or `{}`. */
export function readSpotOrderPage(value: unknown, extent: Extent = 'whole'): Parsed<Page<SpotOrderRecord>> {
  if (Array.isArray(value) && value.length === 0) {
    return ok({ ...NO_RECORDS, received: 0, longest: 0 });
  }
  if (!isObject(value)) return invalid('', 'an object keyed by market', value);
  const records: SpotOrderRecord[] = [];
  const aside = new SetAside();
  const flawed = new SetAside();
  let received = 0;
  let longest = 0;
  for (const [market, items] of Object.entries(value)) {
    if (market === '' || market.length > 100) return invalid('', 'names of markets as keys', market);
    if (!Array.isArray(items)) return invalid(`.${pathKey(market)}`, 'an array of orders', items);
    const { list, flaws = [] } = readRecords(items, spotOrderReader, { at: `.${pathKey(market)}`, extent });
    for (const record of list.records) records.push({ market, ...record });
    aside.addAll(list);
    for (const flaw of flaws) flawed.add(() => flaw);
    received += items.length;
    longest = Math.max(longest, items.length);
  }
  return { ok: true, value: { records, ...aside.asList(), received, longest }, ...flawed.asFlaws() };
}

/** Specification 2.2. */
export function readPlacedOrder(value: unknown): Parsed<PlacedOrderReply> {
  if (!isObject(value)) return invalid('', 'an order', value);
  const { record, issues } = readRecord(value, placedOrderReader);
  const faults = describe(issues, value, '');
  if (record === undefined) return { ok: false, problems: faults };
  return { ok: true, value: record, ...(faults.length === 0 ? {} : { flaws: faults }) };
}

/** Specification 4.1. */
export function readDepositLink(value: unknown): Parsed<string> {
  const url = child(value, 'url');
  if (typeof url === 'string' && url.length <= 8192 && WEB_ADDRESS.test(url) && URL.canParse(url)) {
    return ok(url);
  }
  return invalid('.url', 'a web address', url);
}

const WEB_ADDRESS = /^https?:\/\/[^\s]+$/;
