import { z } from 'zod';
import { parseApprovals } from '../../core/approvals/question.ts';
import { type Inbox, MAX_INBOX_ORDERS, type OperatorOrder } from '../../core/controls/controls.ts';
import { operatorOrderSchema } from '../../core/controls/operator-schemas.ts';
import { SOURCE_NAMES } from '../../core/fields/field-catalogue.ts';
import { LANE_VERSION, type LaneState } from '../../core/lanes/lane-state.ts';
import { creditLineFields, positionFields } from '../../core/ports/exchange-records.ts';
import type {
  AccountDocuments,
  DocumentName,
  RefusedAccount,
  StoredAccount,
  StoredReadings,
} from '../../core/ports/state-store.ts';
import { modeSchema } from '../../core/rules/rule.ts';
import { parsedJson } from '../../core/text/parsed-json.ts';
import type { StoredFigures } from '../../core/view/stored-figures.ts';
import {
  EVALUATION_VERSION,
  type FirstEvaluation,
  isJoined,
  joinEvaluation,
  joinFirst,
  type RestingEvaluation,
} from './evaluation-document.ts';
import { type LaneHeader, readLaneHeader } from './header.ts';

/** How a stored document is read: the version that this program writes, and the migrations of older ones. */
export interface DocumentCodec<T> {
  readonly version: number;
  /** By the version they read; each yields the next one. */
  readonly migrations: Readonly<Record<number, (old: unknown) => unknown>>;
  /** Parses the current version, with `moving` stored beside it. @throws Error for a value of another shape */
  readonly parse: (value: unknown, moving?: string) => T;
}

export class DocumentError extends Error {
  readonly code: RefusedAccount['code'];
  readonly document: string;

  constructor(code: DocumentError['code'], document: string, message: string) {
    super(message);
    this.name = 'DocumentError';
    this.code = code;
    this.document = document;
  }
}

/** Far above the size of an account with a thousand positions; reading more would hold up everything else. */
export const MOST_TEXT = 4_000_000;

/** Reads a document, and migrates it if it is older. @throws DocumentError that names place and remedy */
export function readDocument<T>(
  codec: DocumentCodec<T>,
  text: string,
  document: string,
  accountId: string,
  moving?: string,
): T {
  const where = `the stored ${cut(document)} of account ${JSON.stringify(accountId)}`;
  const unreadable = (why: string): DocumentError => {
    const message = `${where} ${why}: restore it, or discard it (docs/redis-keys.md)`;
    return new DocumentError('DOCUMENT_UNREADABLE', document, message);
  };
  if (text.length > MOST_TEXT) throw unreadable(`has ${text.length} characters, more than ${MOST_TEXT}`);
  const value = parsedJson(text) as { readonly version?: unknown } | null | undefined;
  if (value === undefined) throw unreadable('is not JSON');
  const version = value?.version;
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 1) {
    throw unreadable('bears no version');
  }
  if (version > codec.version) {
    const words = `has version ${version}, this program reads up to ${codec.version}: run the newer program`;
    throw new DocumentError('DOCUMENT_NEWER', document, `${where} ${words}`);
  }
  try {
    return codec.parse(migrate(codec, value, version), moving);
  } catch (error) {
    throw unreadable(`cannot be read (${cut(error instanceof Error ? error.message : String(error))})`);
  }
}

/** A text in Redis may have any length. */
function cut(text: string): string {
  return text.slice(0, 300);
}

function migrate(codec: DocumentCodec<unknown>, value: unknown, version: number): unknown {
  let current = value;
  for (let step = version; step < codec.version; step++) {
    const migration = codec.migrations[step];
    if (migration === undefined) throw new Error(`version ${step} is not read any more`);
    current = migration(current);
  }
  return current;
}

type Members<T> = Readonly<Partial<Record<keyof T & string, 'array' | 'object' | 'number' | 'string'>>>;

/** Checks that members are there. By hand: polls run it, and a schema would copy what it reads. */
function shaped<T>(members: Members<T>): DocumentCodec<T>['parse'] {
  return (value) => {
    const object = value as Readonly<Record<string, unknown>>;
    for (const [name, kind] of Object.entries<string | undefined>(members)) {
      const member = object[name];
      const found = Array.isArray(member) ? 'array' : member === null ? 'null' : typeof member;
      if (found !== kind) throw new Error(`"${name}" is not ${kind === 'array' ? 'a list' : `a ${kind}`}`);
    }
    return value as T;
  };
}

function codecOf<T>(
  version: number,
  members: Members<NoInfer<T>>,
  migrations: DocumentCodec<unknown>['migrations'] = {},
): DocumentCodec<T> {
  return { version, migrations, parse: shaped(members) };
}

function withoutTransfers(value: unknown): unknown {
  const { sources, ...readings } = value as StoredReadings;
  const { transfers: _personal, ...others } = sources;
  return { ...readings, version: 2, sources: others };
}

const EVALUATION_MEMBERS = {
  accountId: 'string',
  nextEpisode: 'number',
  rules: 'array',
  markets: 'array',
  loans: 'array',
  positions: 'array',
} as const;

const checkResting = shaped<RestingEvaluation>(EVALUATION_MEMBERS);
const checkFirst = shaped<FirstEvaluation>({ ...EVALUATION_MEMBERS, ages: 'object' });

type Codecs = { readonly [K in DocumentName]: DocumentCodec<NonNullable<AccountDocuments[K]>> };

const checkInbox = shaped<Inbox>({ orders: 'array' });

/** Leaves out entries that are not orders, and counts them: the account must still be judged. */
function readInbox(value: unknown): Inbox {
  const { orders } = checkInbox(value);
  const read = orders.slice(0, 2 * MAX_INBOX_ORDERS).map((order) => operatorOrderSchema.safeParse(order));
  const unread = orders.length - read.filter(({ success }) => success).length;
  return {
    version: 1,
    orders: read.flatMap(({ data }) => (data === undefined ? [] : [data as OperatorOrder])),
    ...(unread === 0 ? {} : { unread }),
  };
}

/** A new document needs an entry here and a member of `AccountDocuments`. */
export const DOCUMENT_CODECS: Codecs = {
  evaluation: {
    version: EVALUATION_VERSION,
    migrations: { 1: (value) => joinFirst(checkFirst(value)) },
    parse: (value, moving) => (isJoined(value) ? value : joinEvaluation(checkResting(value), moving)),
  },
  limits: codecOf(1, { admitted: 'array' }),
  // The first version kept addresses; histories are read again anyway.
  readings: codecOf(2, { at: 'object', sources: 'object' }, { 1: withoutTransfers }),
  requests: codecOf(1, { active: 'array', atMs: 'number' }),
  alerts: codecOf(1, { entries: 'object' }),
  inbox: { ...codecOf<Inbox>(1, { orders: 'array' }), parse: readInbox },
  routes: codecOf(1, { routes: 'object' }),
  accountLane: codecOf(1, { cancels: 'array', retryAtMs: 'number' }),
  approvals: { version: 1, migrations: {}, parse: parseApprovals },
  figures: { version: 1, migrations: {}, parse: parseFigures },
};

type FirstLane = Omit<LaneState, 'epoch' | 'latestRead'> & {
  readonly life: string;
  readonly glance: LaneState['latestRead'];
};

function withStoreEpoch(value: unknown): LaneState {
  const { life, glance, doubt, ...lane } = value as FirstLane;
  const isNewStore = (doubt?.why as string | undefined) === 'newLife';
  return {
    ...lane,
    version: LANE_VERSION,
    epoch: life,
    latestRead: glance,
    doubt: doubt !== null && isNewStore ? { ...doubt, why: 'newStore' } : doubt,
  };
}

export const LANE_CODEC: DocumentCodec<LaneState> = codecOf(
  LANE_VERSION,
  {
    market: 'string',
    epoch: 'string',
    intents: 'array',
    covers: 'array',
    cancels: 'array',
    orders: 'array',
    retryAtMs: 'object',
  },
  // The first version had other names for the store epoch and the latest read.
  { 1: withStoreEpoch },
);

/**
 * Fields of the account's hash: `h` the header, `d:<name>` documents, `m` the moving part of the document
 * `evaluation`, `f` how far the audit chains of lanes have been folded, `l:<market>` lanes, `v:<market>` their
 * headers, `t` the tally.
 */
export const HEADER_FIELD = 'h';
export const MOVING_FIELD = 'm';
export const FOLDED_FIELD = 'f';
export const TALLY_FIELD = 't';
const DOCUMENT_FIELD = 'd:';
const LANE_FIELD = 'l:';
const LANE_HEADER_FIELD = 'v:';

export function documentField(name: DocumentName): string {
  return DOCUMENT_FIELD + name;
}

/** Whether an account's fields have an open approval question. */
export function hasOpenQuestion(fields: ReadonlyMap<string, string>): boolean {
  return fields.get(documentField('approvals'))?.includes('"state":"waiting"') === true;
}

export function laneField(market: string): string {
  return LANE_FIELD + market;
}

export function laneHeaderField(market: string): string {
  return LANE_HEADER_FIELD + market;
}

/** The market of a lane named as in `RefusedAccount.document`; null: not a lane. */
export function marketOf(document: string): string | null {
  return document.startsWith(LANE_DOCUMENT) ? document.slice(LANE_DOCUMENT.length) : null;
}

const LANE_DOCUMENT = 'lane:';

/** The fields of a document named as in `RefusedAccount.document`; the first one exists if the document does. */
export function fieldsOf(document: string): readonly [string, ...string[]] {
  const market = marketOf(document);
  if (market !== null) return [laneField(market)];
  return document === 'evaluation' ? [DOCUMENT_FIELD + document, MOVING_FIELD] : [DOCUMENT_FIELD + document];
}

/** Stored texts of an account by field, except its header and its tally. */
export type Texts = ReadonlyMap<string, string>;

export function textsOf(fields: Texts): Texts {
  const texts = new Map(fields);
  for (const field of [HEADER_FIELD, TALLY_FIELD]) texts.delete(field);
  return texts;
}

/** By market. */
export function laneHeadersOf(texts: Texts): ReadonlyMap<string, LaneHeader> {
  const headers = new Map<string, LaneHeader>();
  for (const [field, text] of texts) {
    if (field.startsWith(LANE_HEADER_FIELD))
      headers.set(field.slice(LANE_HEADER_FIELD.length), readLaneHeader(text));
  }
  return headers;
}

/** `lanes`: by market. */
export type ReadDocuments = Pick<StoredAccount, 'documents' | 'lanes'>;

/**
 * Reads all documents of an account; a text that is the same as in `known` is not parsed again.
 * @throws DocumentError
 */
export function readDocuments(
  accountId: string,
  texts: Texts,
  known?: ReadDocuments & { readonly texts: Texts },
): ReadDocuments {
  const documents: Partial<Record<DocumentName, unknown>> = {};
  const lanes = new Map<string, LaneState>();
  const moving = texts.get(MOVING_FIELD);
  const hasMoved = known?.texts.get(MOVING_FIELD) !== moving;
  for (const [field, text] of texts) {
    if (field === MOVING_FIELD || field === FOLDED_FIELD || field.startsWith(LANE_HEADER_FIELD)) continue;
    const isKnown = known?.texts.get(field) === text;
    if (field.startsWith(LANE_FIELD)) {
      const market = field.slice(LANE_FIELD.length);
      const same = isKnown ? known.lanes.get(market) : undefined;
      lanes.set(market, same ?? readDocument(LANE_CODEC, text, `lane:${market}`, accountId));
      continue;
    }
    const name = documentNameOf(field, accountId);
    const same = isKnown && !(name === 'evaluation' && hasMoved) ? known.documents[name] : undefined;
    const read = same ?? readNamed(name, text, accountId, moving);
    if (read !== undefined) documents[name] = read;
  }
  return { documents: documents as AccountDocuments, lanes };
}

/** Reads one document. Figures are only shown: unreadable ones count as absent, and are written anew. */
function readNamed(name: DocumentName, text: string, accountId: string, moving?: string): unknown {
  try {
    return readDocument<unknown>(DOCUMENT_CODECS[name], text, name, accountId, moving);
  } catch (error) {
    if (name === 'figures' && error instanceof DocumentError) return undefined;
    throw error;
  }
}

function documentNameOf(field: string, accountId: string): DocumentName {
  const name = field.slice(DOCUMENT_FIELD.length);
  if (field.startsWith(DOCUMENT_FIELD) && Object.hasOwn(DOCUMENT_CODECS, name)) return name as DocumentName;
  const has = `account ${JSON.stringify(accountId)} has a stored ${JSON.stringify(cut(field))}`;
  const words = `${has}, which this program does not know: run the newer program`;
  throw new DocumentError('DOCUMENT_UNKNOWN', name, words);
}

/** Records are stored as they were read, values of enumerations marked. */
const position = positionFields.omit({ liquidationState: true, positionSide: true });

const setAside = z.array(z.object({ path: z.string(), expected: z.string(), got: z.string() }));

const opening = z.object({ positionId: z.string(), market: z.string() });

function listOf<T extends z.ZodType>(record: T) {
  return z.object({ records: z.array(record), setAside, complete: z.boolean() });
}

function readingOf<T extends z.ZodType>(list: T) {
  return z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('notRead'), ageMs: z.number() }),
      z.object({ kind: z.literal('read'), ageMs: z.number(), value: list }),
    ])
    .exactOptional();
}

const figuresSchema = z.object({
  version: z.literal(1),
  at: z.object({ wallMs: z.number(), monotonicMs: z.number(), clockId: z.string() }),
  settings: z.object({
    mode: modeSchema,
    bothSign: z.enum(['signed', 'unsigned']),
    ltvUnit: z.enum(['auto', 'percent', 'fraction']),
    maxSnapshotAgeMs: z.number(),
  }),
  positions: readingOf(listOf(position).extend({ notOpenYet: z.array(opening).exactOptional() })),
  creditLine: readingOf(listOf(creditLineFields)),
  failures: z
    .array(
      z.object({
        source: z.enum(SOURCE_NAMES),
        error: z.string(),
        httpStatus: z.number().exactOptional(),
        words: z.string(),
        sinceMs: z.number(),
      }),
    )
    .exactOptional(),
}) satisfies z.ZodType<StoredFigures>;

/** Checks stored figures, which are only shown: unreadable ones are left out, not refused. Other members are kept. */
function parseFigures(value: unknown): StoredFigures {
  figuresSchema.parse(value);
  return value as StoredFigures;
}
