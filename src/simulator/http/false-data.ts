import { isJsonObject } from '../schemas.ts';
import { changeJson, damageOneRecord, damageRecords } from './damage.ts';

/** Makes replies well-formed but wrong, as exchanges have sent them in crashes. */

type JsonObject = Record<string, unknown>;

/** Fields that are still unknown while a position is being opened (live notes). */
const UNKNOWN_WHILE_OPENING = {
  amount: null,
  basePrice: null,
  pnl: null,
  pnlPercent: null,
  liquidationPrice: null,
} as const;

/** The figures of a position that an order is about to open. */
export const OPENING_FIGURES = {
  ...UNKNOWN_WHILE_OPENING,
  margin: '0',
  freeMargin: '0',
  funding: '0',
  unrealizedFunding: '0',
  unrealizedPnl: '0',
  tpsl: null,
} as const;

/** Empties lists and objects of records. */
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

/** Sets the fields of one random record to null that a position being opened does not have yet. */
export function nullOneRecord(text: string, random: () => number): string {
  return damageOneRecord(text, random, (record) => {
    const known = Object.entries(UNKNOWN_WHILE_OPENING).filter(([field]) => field in record);
    return { ...record, ...Object.fromEntries(known) };
  });
}

const OPENING_ID = 900_000_001;
const DEFAULT_MARKET = 'ETH_PERP';

/** Adds a position to the list, unless the request was for another market. */
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
    ...OPENING_FIGURES,
    liquidationState: null,
    positionSide: 'BOTH',
  };
}

/** Replaces the named field of every record, or every null, by the empty text. */
export function emptyFields(text: string, field?: string): string {
  return damageRecords(text, (record) => {
    const isEmptied = ([name, value]: [string, unknown]): boolean =>
      field === undefined ? value === null : name === field;
    return Object.fromEntries(
      Object.entries(record).map((entry) => (isEmptied(entry) ? [entry[0], ''] : entry)),
    );
  });
}
