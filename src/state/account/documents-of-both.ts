import type { Inbox } from '../../core/controls/controls.ts';
import {
  DOCUMENT_CODECS,
  DocumentError,
  documentField,
  FOLDED_FIELD,
  fieldsOf,
  HEADER_FIELD,
  laneField,
  laneHeaderField,
  MOVING_FIELD,
  readDocument,
  TALLY_FIELD,
} from './documents.ts';
import { nextEpisodeOf, positionsReadMsOf } from './evaluation-document.ts';

type Fields = ReadonlyMap<string, string>;

export const INBOX_FIELD = documentField('inbox');

/**
 * The inboxes of both sides together, if only people have changed the account there (with orders in its inbox, or a
 * pause). Undefined: others have too, or one of the inboxes cannot be read.
 */
export function inboxOfBoth(here: Fields, there: Fields, before: Fields): string | undefined {
  const isLeftAlone = (field: string): boolean =>
    !isDocument(field) ||
    field === FOLDED_FIELD ||
    field === INBOX_FIELD ||
    there.get(field) === before.get(field);
  if (![...there.keys(), ...before.keys()].every(isLeftAlone)) return undefined;
  return ordersOfBoth(here, there, before);
}

function ordersOfBoth(here: Fields, there: Fields, before: Fields): string | undefined {
  const [waiting, known, put] = [here, before, there].map(ordersIn);
  if (waiting === undefined || known === undefined || put === undefined) return undefined;
  const isKnown = new Set([...known, ...waiting].map(({ id }) => id));
  const inbox: Inbox = { version: 1, orders: [...waiting, ...put.filter(({ id }) => !isKnown.has(id))] };
  return JSON.stringify(inbox);
}

const EVALUATION_FIELDS = fieldsOf('evaluation');
const [EVALUATION_FIELD] = EVALUATION_FIELDS;

/**
 * The documents of this process, with changes by others that it had not seen, in documents that it has not written
 * itself. The last evaluation is this process's as a whole.
 */
export function documentsOfBoth(here: Fields, there: Fields, before: Fields): Fields {
  const both = new Map([...here].filter(([field]) => isDocument(field)));
  for (const [field, theirs] of there) {
    if (!isDocument(field) || EVALUATION_FIELDS.includes(field)) continue;
    if (here.get(field) === before.get(field)) both.set(field, theirs);
  }
  for (const [field, known] of before) {
    // A document that others have discarded must not come back.
    if (isDocument(field) && !there.has(field) && here.get(field) === known) both.delete(field);
  }
  const inbox = ordersOfBoth(here, there, before) ?? there.get(INBOX_FIELD);
  if (inbox !== undefined && there.has(INBOX_FIELD)) both.set(INBOX_FIELD, inbox);
  return both;
}

/** Whether nothing was known of the account, or its documents were: a mirror keeps only headers of the shared state. */
export function isKnownWhole(before: Fields): boolean {
  return before.size === 0 || [...before.keys()].some(isDocument);
}

/** The next episode number; infinite: it cannot be read. */
export function nextEpisodeIn(fields: Fields): number {
  const text = fields.get(EVALUATION_FIELD);
  return text === undefined ? 1 : (nextEpisodeOf(text) ?? Number.POSITIVE_INFINITY);
}

/** When the newest read of the positions behind the evaluation was sent; undefined: unknown. */
export function positionsReadMsIn(fields: Fields): number | undefined {
  return positionsReadMsOf(fields.get(MOVING_FIELD));
}

/** The orders in the inbox; undefined: some of them cannot be read. */
function ordersIn(fields: Fields): Inbox['orders'] | undefined {
  const text = fields.get(INBOX_FIELD);
  if (text === undefined) return [];
  try {
    const { orders, unread = 0 } = readDocument(DOCUMENT_CODECS.inbox, text, 'inbox', '');
    return unread === 0 ? orders : undefined;
  } catch (error) {
    if (error instanceof DocumentError) return undefined;
    throw error;
  }
}

const LANE_FIELDS: readonly string[] = [laneField(''), laneHeaderField('')];

export function isDocument(field: string): boolean {
  if (field === HEADER_FIELD || field === TALLY_FIELD) return false;
  return !LANE_FIELDS.some((prefix) => field.startsWith(prefix));
}
