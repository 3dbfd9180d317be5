import { isJsonObject } from '../schemas.ts';

/** Functions that damage a finished reply text, one for each fault. The caller passes the randomness. */

type Random = () => number;
type JsonObject = Record<string, unknown>;

/** Cuts the text somewhere before its end; the rest is never valid JSON. */
export function truncateJson(text: string, random: Random): string {
  const keep = Math.floor(random() * text.length);
  // A proper prefix of a JSON object or array is never JSON; an empty one could pass for an empty body.
  return text.slice(0, keep) || '{';
}

/** Inserts a stray bracket at a random place, or at the end if the text is still JSON. */
export function malformJson(text: string, random: Random): string {
  const at = Math.floor(random() * text.length);
  const damaged = `${text.slice(0, at)}}${text.slice(at)}`;
  return isJson(damaged) ? `${text}}` : damaged;
}

/** Changes the type of one random field of every record. */
export function changeTypes(text: string, random: Random): string {
  return damageRecords(text, (record) => {
    const field = pick(Object.keys(record), random);
    return field === undefined ? record : { ...record, [field]: otherType(record[field], random) };
  });
}

/** Removes one field of every record, the named one or a random one. */
export function dropField(text: string, random: Random, name?: string): string {
  return damageRecords(text, (record) => {
    const field = name ?? pick(Object.keys(record), random);
    return Object.fromEntries(Object.entries(record).filter(([key]) => key !== field));
  });
}

/** Breaks one random record or, with `market`, all records of that market. */
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
 * Applies `change` to all records: the elements of an array, of the arrays inside an object (`records`, order history
 * by market), the objects inside an object of objects (balances), or the one object.
 */
export function damageRecords(text: string, change: (record: JsonObject) => unknown): string {
  return changeJson(text, (value) => changed(value, change));
}

/** Applies `change` to the parsed text; a text that is not JSON stays unchanged. */
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
