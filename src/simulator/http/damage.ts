import { isJsonObject } from '../schemas.ts';

/** Damages a finished reply text, as the faults of the same names promise. Randomness is passed in. */

type Random = () => number;
type JsonObject = Record<string, unknown>;

/** Cuts the text somewhere before its end; never leaves something that is still JSON. */
export function truncateJson(text: string, random: Random): string {
  const keep = Math.floor(random() * text.length);
  // A prefix of a JSON object or array is never JSON; of a number or an empty text it might be.
  return text.slice(0, keep) || '{';
}

/** Puts a stray bracket at a random place, or at the end where that did not suffice. */
export function malformJson(text: string, random: Random): string {
  const at = Math.floor(random() * text.length);
  const damaged = `${text.slice(0, at)}}${text.slice(at)}`;
  return isJson(damaged) ? `${text}}` : damaged;
}

/** One field of every record gets another type. */
export function changeTypes(text: string, random: Random): string {
  return damageRecords(text, (record) => {
    const field = pick(Object.keys(record), random);
    return field === undefined ? record : { ...record, [field]: otherType(record[field], random) };
  });
}

/** Every record loses one field, the named one or any. */
export function dropField(text: string, random: Random, name?: string): string {
  return damageRecords(text, (record) => {
    const field = name ?? pick(Object.keys(record), random);
    return Object.fromEntries(Object.entries(record).filter(([key]) => key !== field));
  });
}

/** Breaks one record that chance chooses or, with `market`, those of that market. */
export function breakOneRecord(text: string, random: Random, market?: string): string {
  if (market !== undefined) {
    return damageRecords(text, (record) =>
      record['market'] === market ? brokenRecord(record, random) : record,
    );
  }
  return damageOneRecord(text, random, (record) => brokenRecord(record, random));
}

function brokenRecord(record: JsonObject, random: Random): unknown {
  const way = random();
  if (way < 0.2) return null;
  if (way < 0.4) return 'record';
  const amountField = 'amount' in record ? 'amount' : pick(Object.keys(record), random);
  if (amountField === undefined) return null;
  if (way < 0.7) return { ...record, [amountField]: 'NaN' };
  return Object.fromEntries(Object.entries(record).filter(([key]) => key !== amountField));
}

/** Changes one record that chance chooses. */
export function damageOneRecord(
  text: string,
  random: Random,
  change: (record: JsonObject) => unknown,
): string {
  let total = 0;
  damageRecords(text, (record) => {
    total += 1;
    return record;
  });
  const chosen = Math.floor(random() * total);
  let index = -1;
  return damageRecords(text, (record) => {
    index += 1;
    return index === chosen ? change(record) : record;
  });
}

/**
 * Applies `change` to what counts as a record: the elements of an array, of the arrays inside an object
 * (`records`, order history by market), the objects inside an object of objects (balances), or the one object.
 */
export function damageRecords(text: string, change: (record: JsonObject) => unknown): string {
  return changeJson(text, (value) => changed(value, change));
}

/** A text that is not JSON stays as it is. */
export function changeJson(text: string, change: (value: unknown) => unknown): string {
  return isJson(text) ? JSON.stringify(change(JSON.parse(text))) : text;
}

function changed(value: unknown, change: (record: JsonObject) => unknown): unknown {
  if (Array.isArray(value))
    return value.map((element) => (isJsonObject(element) ? change(element) : element));
  if (!isJsonObject(value)) return value;
  const lists = Object.values(value).some((member) => Array.isArray(member) && member.some(isJsonObject));
  if (lists) return mapValues(value, (member) => (Array.isArray(member) ? changed(member, change) : member));
  const members = Object.values(value);
  if (members.length > 0 && members.every(isJsonObject)) {
    return mapValues(value, (member) => change(member as JsonObject));
  }
  return change(value);
}

function otherType(value: unknown, random: Random): unknown {
  const way = Math.floor(random() * 3);
  if (typeof value === 'string') return [Number.isNaN(Number(value)) ? 7 : Number(value), [value], true][way];
  if (typeof value === 'number') return [String(value), { value }, null][way];
  if (typeof value === 'boolean') return [String(value), Number(value), [value]][way];
  return ['none', 0, [value]][way];
}

function pick<T>(choices: readonly T[], random: Random): T | undefined {
  return choices[Math.floor(random() * choices.length)];
}

function mapValues(object: JsonObject, map: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
