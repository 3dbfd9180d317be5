import { z } from 'zod';
import type { AuditEvent } from '../audit/audit-event.ts';
import type { AuditContent, ChainedRecord, StoredDecision } from '../audit/audit-record.ts';
import { defined } from '../ports/exchange-fields.ts';
import type { ActionRequest, SubjectKey } from '../rules/subject.ts';
import { positionKey } from '../rules/subjects.ts';
import { named, type OutputOf, timeMs } from '../schema/parts.ts';
import { parsedJson } from '../text/parsed-json.ts';
import { actionWords, contentWords, transitionWords } from './record-words.ts';

/** An event for people; one audit record may give several. */
export const storyEntrySchema = named('StoryEntry', () => ({
  /** Its inputs are at `/audit/:seq`. */
  seq: z.number().int().describe('Of the audit record.'),
  /** From 0. */
  part: z.number().int().describe('Tells the entries of one record apart.'),
  atMs: timeMs(),
  kind: z.enum(['transition', 'decision', 'order', 'cancel', 'intent', 'operator', 'other']),
  words: z.string(),
  ruleId: z.string().exactOptional(),
  subject: z.string().exactOptional(),
  market: z.string().exactOptional(),
  /** New phase of a rule, or outcome of a request. */
  outcome: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  tookMs: z.number().exactOptional().describe('Of an outcome: since its request was recorded.'),
  /** A person should know. */
  alarm: z.boolean().exactOptional(),
  detail: z.record(z.string(), z.unknown()),
}));
export type StoryEntry = OutputOf<typeof storyEntrySchema>;
type StoryKind = StoryEntry['kind'];

export interface StoryScope {
  /** Absent: the whole account. */
  readonly subject?: SubjectKey;
  /** For a position: its market, since cancels there concern it. */
  readonly market?: string;
}

/** The story of a subject, newest first, from records that are oldest first. */
export function storyOf(
  records: readonly Pick<ChainedRecord, 'number' | 'record'>[],
  scope: StoryScope,
): readonly StoryEntry[] {
  const begun = new Map<string, number>();
  const entries: StoryEntry[] = [];
  for (const { number: seq, record } of records) {
    const { atMs, content } = record;
    const parts = partsOf(content, atMs).filter((part) => concerns(part, scope));
    for (const [part, { scope: _scope, ...entry }] of parts.entries()) {
      entries.push({ seq, part, ...timed(entry, begun) });
    }
  }
  return entries.reverse();
}

/** An entry and what it concerns beyond its own subject. */
type Part = Omit<StoryEntry, 'seq' | 'part'> & { readonly scope: PartScope };

/** `all`: concerns every subject of the account. */
type PartScope = 'all' | 'own' | { readonly subjects: readonly SubjectKey[]; readonly market?: string };

function concerns({ subject: own, scope }: Part, { subject, market }: StoryScope): boolean {
  if (subject === undefined || scope === 'all' || own === subject) return true;
  if (scope === 'own') return false;
  return scope.subjects.includes(subject) || (scope.market !== undefined && scope.market === market);
}

function timed(entry: Omit<Part, 'scope'>, begun: Map<string, number>): Omit<Part, 'scope'> {
  const id = requestId(entry);
  if (id === undefined) return entry;
  if (entry.outcome === 'placing' || entry.outcome === 'cancelling') {
    begun.set(id, entry.atMs);
    return entry;
  }
  const sinceMs = begun.get(id);
  begun.delete(id);
  return sinceMs === undefined ? entry : { ...entry, tookMs: Math.max(0, entry.atMs - sinceMs) };
}

function requestId({ kind, market, detail }: Omit<Part, 'scope'>): string | undefined {
  if (kind === 'cancel') return `cancel:${market ?? ''}`;
  const order = detail['order'] as AuditEvent['order'];
  return kind === 'order' && order !== undefined ? `order:${order.clientOrderId}` : undefined;
}

function partsOf(content: AuditContent, atMs: number): readonly Part[] {
  switch (content.kind) {
    case 'decision':
      return decisionParts(content, atMs);
    case 'action':
      return [actionPart(content.event)];
    case 'control': {
      const { control } = content;
      const detail = { change: content.change, control, by: content.by };
      const about = control.kind === 'pause' ? {} : { ruleId: control.ruleId };
      const subject = control.kind === 'pause' ? null : control.subject;
      const scope = subject === null || subject === '' ? 'all' : { subjects: [subject] };
      const base = { atMs, kind: 'operator', words: contentWords(content), ...about, detail } as const;
      return [{ ...base, outcome: content.change, scope }];
    }
    case 'operatorOrder': {
      const { order } = content;
      const positionId = 'positionId' in order ? order.positionId : undefined;
      const scope = positionId === undefined ? 'all' : { subjects: [positionKey(positionId)] };
      return [{ atMs, kind: 'operator', words: contentWords(content), detail: { order }, scope }];
    }
    case 'note': {
      const { about, detail = {}, words } = content;
      const subject = typeof detail['subject'] === 'string' ? { subject: detail['subject'] } : {};
      const scope = 'subject' in subject ? 'own' : 'all';
      const kind = OPERATOR_NOTES.has(about) ? 'operator' : 'other';
      return [{ atMs, kind, words: `${about}: ${words}`, ...subject, reason: about, detail, scope }];
    }
    case 'lanes':
      // The lanes' own records tell what happened.
      return [];
    case 'notification':
    case 'epochStarted':
    case 'checkpoint': {
      const { kind: reason, atMs: _atMs, ...detail } = content;
      return [{ atMs, kind: 'other', words: contentWords(content), reason, detail, scope: 'all' }];
    }
  }
}

/** Notes about actions of people. */
const OPERATOR_NOTES: ReadonlySet<string> = new Set(['topUpAsked', 'topUpLinkMade', 'topUpFailed']);

function decisionParts({ transitions, active }: StoredDecision, atMs: number): readonly Part[] {
  if (transitions.length === 0) {
    const words =
      active.length === 0
        ? 'nothing is asked for any more'
        : `asked for: ${active.map((request) => `${request.action.kind} by rule ${request.ruleId} for ${request.subject}`).join('; ')}`;
    const scope = active.length === 0 ? 'all' : { subjects: active.map(({ subject }) => subject) };
    return [{ atMs, kind: 'decision', words, detail: { asked: active.map(asked) }, scope }];
  }
  return transitions.map((change): Part => {
    const { ruleId, subject, episode, stage, from, to, reason, mode, severity } = change;
    const own = active.filter((request) => request.ruleId === ruleId && request.subject === subject);
    return {
      atMs: change.atMs,
      kind: 'transition',
      words: transitionWords(change),
      ruleId,
      subject,
      outcome: to,
      reason,
      detail: { from, to, episode, stage: stage ?? null, mode, severity, asked: own.map(asked) },
      scope: 'own',
    };
  });
}

function asked({ action, ruleId, subject, stage, because }: ActionRequest): object {
  return { ruleId, subject, stage, action, because };
}

const KINDS: ReadonlyMap<AuditEvent['kind'], StoryKind> = kinds({
  order: [
    'placing',
    'accepted',
    'adjusted',
    'rejected',
    'filled',
    'priced',
    'wouldPlace',
    'overshoot',
    'standingOrder',
    'coverTriggered',
    'coverChanged',
  ],
  cancel: ['cancelling', 'cancelAccepted', 'cancelRejected', 'wouldCancel'],
  intent: [
    'intentOpened',
    'targetSet',
    'intentEnded',
    'intentRenewed',
    'intentReopened',
    'refused',
    'blocked',
    'approvalAsked',
    'approvalSettled',
    'approvalIgnored',
  ],
});

function kinds(events: Partial<Record<StoryKind, readonly AuditEvent['kind'][]>>) {
  const entries = Object.entries(events) as [StoryKind, readonly AuditEvent['kind'][]][];
  return new Map(entries.flatMap(([kind, of]) => of.map((event) => [event, kind] as const)));
}

function actionPart(event: AuditEvent): Part {
  const { kind, atMs, accountId: _accountId, alarm, ruleId, market, positionId, reason } = event;
  const { order, cancel, targetBase, sizeBase, key, cost } = event;
  const subject = positionId === undefined ? {} : { subject: positionKey(positionId) };
  const detail = defined({ order, cancel, targetBase, sizeBase, key, cost });
  const asking = key === undefined ? [] : subjectOfKey(key);
  const storyKind =
    kind === 'unknown' ? (cancel === undefined ? 'order' : 'cancel') : (KINDS.get(kind) ?? 'other');
  return {
    atMs,
    kind: storyKind,
    words: actionWords(event),
    ...(ruleId === undefined ? {} : { ruleId }),
    ...subject,
    ...(market === undefined ? {} : { market }),
    outcome: kind,
    reason,
    ...(alarm ? { alarm } : {}),
    detail,
    // Without a position it concerns the market; without a market, the account.
    scope:
      market === undefined && positionId === undefined && asking.length === 0
        ? 'all'
        : { subjects: asking, ...(positionId === undefined && market !== undefined ? { market } : {}) },
  };
}

/** The subject whose rule requested it: the third part of an action key. */
function subjectOfKey(key: string): readonly SubjectKey[] {
  const parts = parsedJson(key);
  const subject: unknown = Array.isArray(parts) ? parts[2] : undefined;
  return typeof subject === 'string' ? [subject] : [];
}
