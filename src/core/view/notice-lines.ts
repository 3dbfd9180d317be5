import { acknowledgementOf, type ControlsInForce, episodeOf } from '../controls/controls.ts';
import type { Notice } from '../ports/notifier.ts';
import type { StoredAlerts } from '../ports/state-store.ts';
import type { NoticeLine, RuleLine } from './account-view.ts';

/** Open notices: one line per rule and subject, for its newest episode. */
export function noticeLines(
  alerts: StoredAlerts | undefined,
  rules: readonly Pick<RuleLine, 'ruleId' | 'subject' | 'phase' | 'stage'>[],
  { acknowledgements }: Pick<ControlsInForce, 'acknowledgements'>,
): readonly NoticeLine[] {
  const lines = new Map<string, NoticeLine>();
  for (const entry of Object.values(alerts?.entries ?? {})) {
    const notice = openNotice(entry);
    if (notice === undefined) continue;
    const { ruleId, subject, severity, market = null, sinceMs, atMs } = notice;
    const key = JSON.stringify([ruleId, subject]);
    const before = lines.get(key);
    const episode = episodeOf(notice);
    if (before !== undefined && before.episode > episode) continue;
    const rule = rules.find((one) => one.ruleId === ruleId && one.subject === subject);
    const isSame = before?.episode === episode;
    const reached = rule?.phase === 'firing' ? (rule.stage ?? 0) : 0;
    const stage = Math.max(reached, notice.stage, isSame ? before.stage : 0);
    lines.set(key, {
      ruleId,
      subject,
      market,
      severity,
      episode,
      stage,
      sinceMs: isSame ? Math.min(before.sinceMs, sinceMs) : sinceMs,
      toldAtMs: isSame ? Math.max(before.toldAtMs, atMs) : atMs,
      acknowledged: acknowledgementOf(acknowledgements, { ruleId, subject, episode, stage }) ?? null,
    });
  }
  return [...lines.values()].sort((a, b) => a.sinceMs - b.sinceMs);
}

/** Skips unreadable entries: nothing is decided by them. */
function openNotice(entry: unknown): Notice | undefined {
  const notice = (entry as { readonly notice?: Partial<Notice> | null } | null)?.notice;
  const isRead =
    typeof notice?.ruleId === 'string' &&
    typeof notice.subject === 'string' &&
    typeof notice.episode === 'number' &&
    typeof notice.stage === 'number' &&
    typeof notice.sinceMs === 'number' &&
    typeof notice.atMs === 'number';
  if (!isRead || (notice.kind !== 'firing' && notice.kind !== 'reminder')) return undefined;
  return notice as Notice;
}
