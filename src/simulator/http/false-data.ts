import { isJsonObject } from '../schemas.ts';
import { changeJson, damageOneRecord, damageRecords } from './damage.ts';

/** Replies that are well-formed and wrong, as exchanges have shown them in crashes. */

type JsonObject = Record<string, unknown>;

/** What is not known yet of a position that is being opened (live notes). */
const UNKNOWN_WHILE_OPENING = {
  amount: null,
  basePrice: null,
  pnl: null,
  pnlPercent: null,
  liquidationPrice: null,
} as const;

/** Lists without a record, objects of records without a member. */
export function emptyAll(text: string): string {
  return changeJson(text, (value) => {
    if (Array.isArray(value)) return [];
    if (!isJsonObject(value)) return value;
    if (Array.isArray(value['records'])) return { ...value, records: [], total: 0 };
    const isByName = Object.values(value).every((member) => typeof member === 'object' && member !== null);
    return isByName ? {} : value;
  });
}

export function zeroBalances(text: string): string {
  return damageRecords(text, (record) => ({
    ...record,
    ...('main_balance' in record ? { main_balance: '0' } : {}),
    ...('freeMargin' in record ? { freeMargin: '0' } : {}),
  }));
}

/** One record, chosen by chance, loses what a position being opened does not have yet. */
export function nullOneRecord(text: string, random: () => number): string {
  return damageOneRecord(text, random, (record) => {
    const known = Object.entries(UNKNOWN_WHILE_OPENING).filter(([field]) => field in record);
    return { ...record, ...Object.fromEntries(known) };
  });
}

const OPENING_ID = 900_000_001;
const DEFAULT_MARKET = 'ETH_PERP';

/** A list of positions has one more, unless the request was for another market. */
export function addOpeningRecord(
  text: string,
  {
    nowMs,
    market,
    position = market ?? DEFAULT_MARKET,
  }: { readonly nowMs: number; readonly market: string | undefined; readonly position: string | undefined },
): string {
  return changeJson(text, (value) => {
    if (!Array.isArray(value) || (market !== undefined && market !== position)) return value;
    return [...(value as unknown[]), openingRecord(position, nowMs / 1_000)];
  });
}

function openingRecord(market: string, atSeconds: number): JsonObject {
  return {
    positionId: OPENING_ID,
    market,
    openDate: atSeconds,
    modifyDate: atSeconds,
    ...UNKNOWN_WHILE_OPENING,
    liquidationState: null,
    margin: '0',
    freeMargin: '0',
    funding: '0',
    unrealizedFunding: '0',
    unrealizedPnl: '0',
    tpsl: null,
    positionSide: 'BOTH',
  };
}

/** The named field of every record, or every null, becomes the empty text. */
export function emptyFields(text: string, field?: string): string {
  return damageRecords(text, (record) => {
    const isEmptied = ([name, value]: [string, unknown]): boolean =>
      field === undefined ? value === null : name === field;
    return Object.fromEntries(
      Object.entries(record).map((entry) => (isEmptied(entry) ? [entry[0], ''] : entry)),
    );
  });
}
