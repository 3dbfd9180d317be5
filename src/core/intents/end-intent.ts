import type { IntentEnd, Recorder } from '../audit/audit-event.ts';
import type { Intent } from '../lanes/lane-state.ts';

export function endIntent(
  intent: Intent,
  end: IntentEnd,
  distance: number | null,
  nowMs: number,
  audit: Recorder,
): Intent {
  audit.emit({
    kind: 'intentEnded',
    key: intent.key,
    positionId: intent.positionId,
    ruleId: intent.ruleId,
    reason: `${end.how}:${end.why}`,
    words: endWords(intent, end),
    alarm: isAlarming(intent, end),
    openedMs: intent.openedMs,
    ...(intent.targetBase === null ? {} : { targetBase: intent.targetBase }),
  });
  return { ...intent, end, endedMs: nowMs, endDistance: distance };
}

/** What was only watched has not failed anybody. */
function isAlarming(intent: Intent, end: IntentEnd): boolean {
  if (end.how === 'failed') return end.why !== 'refused:observeMode';
  return end.how === 'expired' && intent.source === 'operator';
}

function endWords(intent: Intent, end: IntentEnd): string {
  const aim = intent.targetBase === null ? 'no target yet' : `target ${intent.targetBase}`;
  return `position ${intent.positionId}, ${aim}: ${end.how} (${end.why})`;
}
