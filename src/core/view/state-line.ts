import { z } from 'zod';
import { BLOCK_WORDS, type BlockReason, GATE_WORDS, type GateReason } from '../audit/audit-event.ts';
import { type Severity, severitySchema } from '../rules/rule.ts';
import { named, type OutputOf } from '../schema/parts.ts';

/** States of an account, worst first. Closed list, also a metric label. */
export const STATE_KINDS = [
  'blind',
  'blocked',
  'paused',
  'asking',
  'acting',
  'waiting',
  'observing',
  'watching',
  'calm',
] as const;

export type StateKind = (typeof STATE_KINDS)[number];

/** Why it is in that state; accounts are counted by it. Closed list, also a metric label. */
export type StateCause = keyof typeof CAUSES | BlockReason | Exclude<GateReason, 'observeMode' | 'paused'>;

const CAUSES = {
  storeLost: 'Redis is down',
  stateRefused: 'the stored state cannot be read',
  notPolled: 'not polled yet',
  overdue: 'not polled in time',
  keyRefused: 'the exchange refuses the key',
  unreachable: 'the exchange is unreachable',
  exchangeFails: 'the exchange answers with errors',
  rateLimited: 'the request limit is reached',
  replyUnreadable: 'the replies of the exchange cannot be read',
  dataTooOld: 'the data are too old',
  recordsUnreadable: 'some records of the exchange cannot be read',
  figureUnknown: 'figures are missing from what the exchange sends',
  orderRefused: 'the exchange refuses the order',
  orderUnanswered: 'not known whether the order was accepted',
  gaveUp: 'the rule gave up',
  paused: 'actions are paused',
  orderActive: 'an order is at work',
  orderWaits: 'an order waits for its price',
  observeMode: 'orders are recorded, not sent',
  exchangeCalls: 'the exchange calls for margin or liquidates',
  ruleFiring: 'a rule fires',
  rulePending: 'a rule is about to fire',
  ruleFrozen: 'a rule cannot be evaluated',
  nothing: 'nothing to do',
} as const;

export const STATE_CAUSES = [
  ...Object.keys(CAUSES),
  ...Object.keys(BLOCK_WORDS),
  ...Object.keys(GATE_WORDS).filter((reason) => reason !== 'observeMode' && reason !== 'paused'),
] as readonly StateCause[];

/** The state of an account, in the same words wherever it is shown. */
export const stateSchema = named('State', () => ({
  kind: z.enum(STATE_KINDS),
  cause: z.enum(STATE_CAUSES).describe('What accounts are counted by.'),
  /** With the account's own figures: `blind: the exchange refuses the key (401 ...)`. */
  words: z.string(),
  severity: severitySchema.nullable().describe('How much it matters to a person; null: not at all.'),
  sinceMs: z.number().nullable().describe('Unix milliseconds; null: not known.'),
}));
export type StateLine = OutputOf<typeof stateSchema>;

/** Words for a cause that fit every account in it. */
export function causeWords(cause: StateCause): string {
  if (Object.hasOwn(CAUSES, cause)) return CAUSES[cause as keyof typeof CAUSES];
  if (Object.hasOwn(BLOCK_WORDS, cause)) return BLOCK_WORDS[cause as BlockReason];
  return GATE_WORDS[cause as GateReason];
}

/** A cause, and its words. */
export interface Found {
  readonly cause: StateCause;
  /** Replaces the words of the cause. */
  readonly words?: string;
  /** Appended in brackets. */
  readonly detail?: string;
  readonly severity: Severity | null;
  readonly sinceMs?: number | null;
}

export function line(kind: StateKind, { cause, words, detail, severity, sinceMs }: Found): StateLine {
  const aside = detail === undefined ? '' : ` (${detail})`;
  const said = `${KIND_WORDS[kind]}: ${words ?? causeWords(cause)}${aside}`;
  return { kind, cause, words: said, severity, sinceMs: sinceMs ?? null };
}

/** Words for a kind at the start of a sentence about an account. */
export const KIND_WORDS: Readonly<Record<StateKind, string>> = {
  blind: 'blind',
  blocked: 'blocked',
  paused: 'paused',
  asking: 'waiting for approval',
  acting: 'acting',
  waiting: 'waiting for its trigger',
  observing: 'only observing',
  watching: 'watching closely',
  calm: 'calm',
};

/** Words for a kind after a number of accounts. */
function kindWordsOfMany(kind: StateKind): string {
  return kind === 'waiting' ? 'waiting for their trigger' : KIND_WORDS[kind];
}

/** Summary of all accounts. A group: accounts in the same state for the same cause. */
export const headlineSchema = named(
  { id: 'Headline', description: 'How all accounts are: the worst state first, with a count by cause.' },
  () => ({
    kind: z.enum(STATE_KINDS),
    severity: severitySchema.nullable(),
    words: z.string(),
    groups: z.array(
      z.strictObject({
        kind: z.enum(STATE_KINDS),
        cause: z.enum(STATE_CAUSES),
        severity: severitySchema.nullable().describe('Of the worst of them.'),
        words: z.string(),
        count: z.number().int(),
        accountIds: z.array(z.string()).describe('The first of them.'),
      }),
    ),
  }),
);
export type Headline = OutputOf<typeof headlineSchema>;
export type StateGroup = Headline['groups'][number];

const MOST_NAMED = 5;
const MOST_GROUPS = 4;

const SEVERITIES: readonly (Severity | null)[] = ['critical', 'warning', 'info', null];

interface InState {
  readonly accountId: string;
  readonly state: StateLine;
}

/** Sorts by urgency for a person, then by kind, worst first. */
export function worseFirst(a: Pick<StateLine, 'kind' | 'severity'>, b: typeof a): number {
  return rankOf(a) - rankOf(b);
}

/** Smaller is more urgent. */
export function rankOf({ severity, kind }: Pick<StateLine, 'kind' | 'severity'>): number {
  return SEVERITIES.indexOf(severity) * STATE_KINDS.length + STATE_KINDS.indexOf(kind);
}

export function headlineOf(accounts: readonly InState[]): Headline {
  const groups = groupsOf(accounts);
  const [worst] = groups;
  if (worst === undefined) {
    return { kind: 'calm', severity: null, words: 'No account is watched.', groups };
  }
  const more = groups.length - MOST_GROUPS;
  const shown = groups.slice(0, MOST_GROUPS).map(({ words }) => words);
  const severities = new Set(accounts.map(({ state }) => state.severity));
  return {
    kind: worst.kind,
    severity: SEVERITIES.find((severity) => severities.has(severity)) ?? null,
    words: `${[...shown, ...(more > 0 ? [`and ${more} more causes`] : [])].join('; ')}.`,
    groups,
  };
}

function groupsOf(accounts: readonly InState[]): readonly StateGroup[] {
  const byCause = Map.groupBy(accounts, ({ state }) => `${state.kind} ${state.cause}`);
  const groups = [...byCause.values()].flatMap((members) => {
    const [worst] = members.map(({ state }) => state).toSorted(worseFirst);
    if (worst === undefined) return [];
    const { kind, cause, severity } = worst;
    const accountIds = members.slice(0, MOST_NAMED).map(({ accountId }) => accountId);
    const words = groupWords(members);
    const group: StateGroup = { kind, cause, severity, words, count: members.length, accountIds };
    return [{ worst, group }];
  });
  return groups
    .toSorted((a, b) => worseFirst(a.worst, b.worst) || b.group.count - a.group.count)
    .map(({ group }) => group);
}

/** `20 accounts blind: the exchange is unreachable`; a single account has its own words, calm ones only a number. */
function groupWords(members: readonly InState[]): string {
  const [first] = members;
  if (first === undefined) return '';
  const { kind, cause, words } = first.state;
  if (members.length === 1) return `${first.accountId} ${words}`;
  const what = kind === 'calm' ? 'calm' : `${kindWordsOfMany(kind)}: ${causeWords(cause)}`;
  return `${members.length} accounts ${what}`;
}
