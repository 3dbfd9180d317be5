import type { AuditEvent } from '../../core/audit/audit-event.ts';
import { acknowledgementOf, episodeOf, isSilenced } from '../../core/controls/controls.ts';
import type { Closing } from '../../core/costs/closing-words.ts';
import { actionKey } from '../../core/intents/intent.ts';
import { type CureFigures, type Notice, type NoticeKind, OF_NO_RULE } from '../../core/ports/notifier.ts';
import type { StoredAlerts } from '../../core/ports/state-store.ts';
import { CreditLineQuantities, curesOf } from '../../core/quantities/credit-line.ts';
import { roughly } from '../../core/quantities/roughly.ts';
import { creditLineKey } from '../../core/rules/memory.ts';
import { OWN_RULES } from '../../core/rules/own-rules.ts';
import type { ActionRequest } from '../../core/rules/subject.ts';
import { positionKey } from '../../core/rules/subjects.ts';
import { alarmWords } from '../../core/view/action-alarm-words.ts';
import { noticeFacts } from '../../core/view/notice-facts.ts';
import type { WatchedAccount } from '../pipeline-context.ts';
import type { AlertEntry, AlertScene } from './alert-scene.ts';
import { approvalNotices } from './approval-notices.ts';
import { endingOf, goneAlarms, isStopFill, stopFillNotice, stopFills } from './endings.ts';
import { ownAlert } from './own-alert.ts';
import { presentWords } from './present-words.ts';

export interface AlertsDue {
  /** Absent when nothing changed. */
  readonly alerts: StoredAlerts | undefined;
  /** To be handed over after the commit, including those of earlier polls that were not. */
  readonly notices: readonly Notice[];
}

/** Most alarms kept until they are handed over; the oldest beyond it are dropped. */
const MOST_ALARMS = 50;

/** The notices due now: committed before the hand-over and marked after it, so that the next poll repeats lost ones. */
export function alertsDue(scene: AlertScene): AlertsDue {
  const { stored, active } = scene;
  const alarms = [...(stored?.raised ?? []), ...scene.events].filter(({ alarm }) => alarm);
  const before = (stored?.entries ?? {}) as Readonly<Record<string, AlertEntry>>;
  const entries = new Map(Object.entries(before));
  const told = [...entries].find(
    ([, { notice }]) => notice.ruleId === OWN_RULES.blind && notice.kind !== 'resolved',
  );
  const own = ownAlert(scene, told && { key: told[0], sinceMs: told[1].notice.sinceMs });
  const fills = stopFills(scene);
  const isQuiet = own === undefined && entries.size === 0 && fills.size === 0;
  if (isQuiet && active.length === 0 && alarms.length === 0) {
    return { alerts: undefined, notices: [] };
  }
  const wanted = wantedNotices(scene);
  if (own !== undefined && !isSilenced(scene.inForce, OWN_RULES.blind, own[1].subject)) wanted.set(...own);
  for (const [key, request] of wanted) sayFiring(entries, key, request, scene);
  // Silencing a rule that fires does not resolve it.
  const firing = new Set(active.map((request) => actionKey(request, null)));
  if (own !== undefined) firing.add(own[0]);
  if (scene.conclusive) sayResolved(entries, firing, scene);
  for (const [key, { handed, saidMs }] of entries)
    if (isRepeated(key) && handed && scene.nowMs - saidMs >= scene.reminderMs) entries.delete(key);
  for (const event of alarms) sayAlarm(entries, event, scene);
  sayStopFills(entries, fills, scene);
  sayApprovals(entries, scene);
  const said = [...entries].filter(([key, { notice }]) => notice.kind === 'alarm' && !isStopFill(key));
  for (const [key] of said.slice(0, Math.max(0, said.length - MOST_ALARMS))) entries.delete(key);
  const notices = [...entries.values()].filter(({ handed }) => !handed).map(({ notice }) => notice);
  const isSame =
    stored?.raised === undefined &&
    entries.size === Object.keys(before).length &&
    [...entries].every(([key, entry]) => before[key] === entry);
  return {
    alerts: isSame ? undefined : { version: 1, entries: Object.fromEntries(entries) },
    notices,
  };
}

/** Adds the alarms of a lane's run that people do not know yet, for the next poll; undefined: there are none. */
export function raise(
  stored: StoredAlerts | undefined,
  events: readonly AuditEvent[],
): StoredAlerts | undefined {
  const { entries = {}, raised = [] } = stored ?? {};
  const added = events.filter((event) => event.alarm && entries[placeOf(event).entry] === undefined);
  if (added.length === 0) return undefined;
  return { version: 1, entries, raised: [...raised, ...added].slice(-MOST_ALARMS) };
}

/** They come with each attempt while their cause lasts: said once in `reminderMs`. */
const REPEATED_KINDS = new Set(['rejected', 'cancelRejected', 'unknown', 'doubt', 'blocked', 'overshoot']);

function placeOf({ kind, reason, market = '', positionId, key = '', atMs }: AuditEvent) {
  const place = JSON.stringify(['alarm', kind, reason, market, positionId ?? null, key]);
  return { place, entry: REPEATED_KINDS.has(kind) ? `repeated|${place}` : `${place}@${atMs}` };
}

const isRepeated = (key: string): boolean => key.startsWith('repeated|');

/** No reminders follow these kinds, and nothing resolves them. */
const SAID_ONCE: ReadonlySet<NoticeKind> = new Set(['resolved', 'alarm', 'approval']);

export function markHanded(stored: StoredAlerts, ids: ReadonlySet<string>): StoredAlerts {
  const entries = Object.entries(stored.entries as Readonly<Record<string, AlertEntry>>).flatMap(
    ([key, entry]): [string, AlertEntry][] => {
      if (!ids.has(entry.notice.id)) return [[key, entry]];
      const isOver = SAID_ONCE.has(entry.notice.kind) && !isStopFill(key) && !isRepeated(key);
      return isOver ? [] : [[key, { ...entry, handed: true }]];
    },
  );
  return { ...stored, entries: Object.fromEntries(entries) };
}

function wantedNotices({ active, inForce }: AlertScene): Map<string, ActionRequest> {
  const wanted = active.filter(
    ({ action, ruleId, subject }) => action.kind === 'notify' && !isSilenced(inForce, ruleId, subject),
  );
  return new Map(wanted.map((request) => [actionKey(request, null), request]));
}

function sayFiring(
  entries: Map<string, AlertEntry>,
  key: string,
  request: ActionRequest,
  scene: AlertScene,
): void {
  const entry = entries.get(key);
  const isNew = entry === undefined || entry.notice.kind === 'resolved';
  if (!isNew && escalate(entries, key, { entry, request }, scene)) return;
  if (!isNew && scene.nowMs - entry.saidMs < scene.reminderMs) return;
  const count = (entry?.count ?? 0) + 1;
  const seenTo = isNew ? undefined : whoSeesTo(request, scene);
  const notice = {
    ...noticeOf(request, { key, kind: isNew ? 'firing' : 'reminder', count }, scene),
    ...(seenTo === undefined ? {} : { acknowledged: seenTo }),
  };
  const told = isNew ? undefined : entry.told;
  entries.set(key, {
    notice,
    saidMs: scene.nowMs,
    count,
    handed: false,
    ...(told === undefined ? {} : { told }),
  });
}

interface Told {
  readonly entry: AlertEntry;
  readonly request: ActionRequest;
}

/** Notifies further channels, once per stage of an episode, if nobody has acknowledged it. */
function escalate(
  entries: Map<string, AlertEntry>,
  key: string,
  { entry, request }: Told,
  scene: AlertScene,
): boolean {
  const { escalation, nowMs } = scene;
  const { notice, handed, told, count } = entry;
  // A notice that names no channels has gone to all of them.
  if (escalation === undefined || told !== undefined || !handed || notice.channels.length === 0) return false;
  if (request.severity !== 'critical' || nowMs - request.atMs < escalation.afterMs) return false;
  const others = escalation.channels.filter((name) => !notice.channels.includes(name));
  if (others.length === 0 || whoSeesTo(request, scene) !== undefined) return false;
  const said = noticeOf(request, { key, kind: 'firing', count: count + 1 }, scene);
  const words = `Nobody has acknowledged it for ${roughly(nowMs - request.atMs)}. ${said.words}`;
  entries.set(key, {
    ...entry,
    notice: { ...said, words, channels: others },
    count: count + 1,
    handed: false,
    told: [...notice.channels, ...others],
  });
  return true;
}

/** Who acknowledged the episode, unless it has got worse since. */
function whoSeesTo(request: ActionRequest, { active, inForce }: AlertScene): Notice['acknowledged'] {
  const { ruleId, subject, atMs } = request;
  if (inForce.acknowledgements.length === 0) return undefined;
  const isOwn = (one: ActionRequest): boolean => one.ruleId === ruleId && one.subject === subject;
  const stage = Math.max(request.stage, ...active.filter(isOwn).map((one) => one.stage));
  const episode = episodeOf({ episode: request.episode, sinceMs: atMs });
  const found = acknowledgementOf(inForce.acknowledgements, { ruleId, subject, episode, stage });
  return found && { author: found.author, atMs: found.atMs };
}

function sayResolved(entries: Map<string, AlertEntry>, firing: ReadonlySet<string>, scene: AlertScene): void {
  const gone: AlertEntry[] = [];
  for (const [key, entry] of entries) {
    const { kind, ruleId } = entry.notice;
    if (SAID_ONCE.has(kind) || firing.has(key)) continue;
    const count = entry.count + 1;
    const id = noticeId(key, count, 'resolved', scene);
    const { figures: _before, acknowledged: _seenTo, ...same } = entry.notice;
    const notice: Notice = {
      ...same,
      ...noticeFacts(scene.view(), { ...same, kind: 'resolved' }),
      ...endingOf(entry.notice, scene),
      // The mode itself may have changed.
      mode: scene.account.rules.byId.get(ruleId)?.mode ?? same.mode,
      channels: entry.told ?? entry.notice.channels,
      id,
      kind: 'resolved',
      atMs: scene.nowMs,
    };
    const ended: AlertEntry = { notice, saidMs: scene.nowMs, count, handed: false };
    entries.set(key, ended);
    if (notice.ending === 'gone') gone.push(ended);
  }
  for (const notice of goneAlarms(gone, scene)) {
    entries.set(notice.id, { notice, saidMs: scene.nowMs, count: 1, handed: false });
  }
}

function sayStopFills(
  entries: Map<string, AlertEntry>,
  fills: ReadonlyMap<string, Closing>,
  scene: AlertScene,
): void {
  for (const [key, { handed }] of entries) {
    if (isStopFill(key) && handed && !fills.has(key)) entries.delete(key);
  }
  for (const [key, fill] of fills) {
    const notice = entries.has(key) ? undefined : stopFillNotice(key, fill, scene);
    if (notice !== undefined) entries.set(key, { notice, saidMs: scene.nowMs, count: 1, handed: false });
  }
}

function noticeOf(
  request: ActionRequest,
  { key, kind, count }: { readonly key: string; readonly kind: NoticeKind; readonly count: number },
  scene: AlertScene,
): Notice {
  const { ruleId, subject, episode, stage, severity, mode, action, atMs } = request;
  const notify = action.kind === 'notify' ? action : { channels: [], cure: [] };
  const market = marketOf(subject, scene);
  return {
    version: 1,
    id: noticeId(key, count, kind, scene),
    key: `${scene.account.id}|${key}`,
    kind,
    accountId: scene.account.id,
    ruleId,
    subject,
    ...market,
    episode,
    stage,
    severity,
    mode,
    labels: labelsOf(scene.account, ruleId),
    words: presentWords(request, scene),
    sinceMs: atMs,
    atMs: scene.nowMs,
    channels: notify.channels,
    cures: curesFor(subject, notify.cure, scene),
    ...noticeFacts(scene.view(), { subject, ...market, kind }),
  };
}

function marketOf(subject: string, { snapshot }: AlertScene): Pick<Notice, 'market'> {
  const { positions } = snapshot.sources;
  if (positions?.kind !== 'read') return {};
  const { records, notOpenYet = [] } = positions.value;
  const record = [...records, ...notOpenYet].find(({ positionId }) => positionKey(positionId) === subject);
  return record === undefined ? {} : { market: record.market };
}

function noticeId(key: string, count: number, kind: NoticeKind, { account }: AlertScene): string {
  return JSON.stringify([account.id, key, count, kind]);
}

function labelsOf({ rules }: WatchedAccount, ruleId: string): Readonly<Record<string, string>> {
  return { ...rules.settings.labels, ...rules.byId.get(ruleId)?.spec.labels };
}

function curesFor(subject: string, targets: readonly number[], scene: AlertScene): readonly CureFigures[] {
  const reading = scene.snapshot.sources.creditLine;
  if (targets.length === 0 || reading?.kind !== 'read') return [];
  const record = reading.value.records.find((one) => creditLineKey(one) === subject);
  if (record === undefined) return [];
  return curesOf(new CreditLineQuantities(record, scene.account.rules.settings), targets);
}

function sayApprovals(entries: Map<string, AlertEntry>, scene: AlertScene): void {
  if (scene.asked.length + scene.settled.length === 0) return;
  const labels = (ruleId: string): Notice['labels'] => labelsOf(scene.account, ruleId);
  const where = (subject: string): Pick<Notice, 'market'> => marketOf(subject, scene);
  for (const notice of approvalNotices({ ...scene, labels, marketOf: where })) {
    entries.set(notice.id, { notice, saidMs: scene.nowMs, count: 1, handed: false });
  }
}

function sayAlarm(entries: Map<string, AlertEntry>, event: AuditEvent, scene: AlertScene): void {
  const { ruleId = '', market = '', positionId, reason } = event;
  const subject =
    positionId === undefined ? (market === '' ? 'account' : `market:${market}`) : `position:${positionId}`;
  const { place, entry } = placeOf(event);
  if (entries.has(entry) || isSilenced(scene.inForce, ruleId, subject)) return;
  const rule = scene.account.rules.byId.get(ruleId);
  const id = JSON.stringify([scene.account.id, place, event.atMs]);
  const notice: Notice = {
    ...OF_NO_RULE,
    id,
    key: `${scene.account.id}|${place}`,
    kind: 'alarm',
    accountId: scene.account.id,
    ruleId,
    subject,
    ...(market === '' ? {} : { market }),
    // As severe as the notice of the fill, which follows when the fill is certain.
    severity: (reason === 'probablyClosedByOurs' ? undefined : rule?.spec.severity) ?? 'critical',
    mode: rule?.mode ?? scene.account.rules.settings.mode,
    labels: labelsOf(scene.account, ruleId),
    words: alarmWords(event),
    sinceMs: event.atMs,
    atMs: scene.nowMs,
    ...noticeFacts(scene.view(), { subject, ...(market === '' ? {} : { market }) }),
  };
  entries.set(entry, { notice, saidMs: scene.nowMs, count: 1, handed: false });
}
