import type { IntentEnd } from '../audit/audit-event.ts';
import { about, type LaneScene } from '../lanes/lane-change.ts';
import type { Intent } from '../lanes/lane-state.ts';

/** Ends an intent and audits it. `distance`: of its position now, a fraction; null if none or unknown. */
export function endIntent(
  intent: Intent,
  end: IntentEnd,
  { nowMs, audit }: Pick<LaneScene, 'nowMs' | 'audit'>,
  distance: number | null = null,
): Intent {
  const { positionId, targetBase, openedMs } = intent;
  const { how, why } = end;
  const aim = targetBase === null ? 'no target yet' : `target ${targetBase}`;
  audit.emit({
    kind: 'intentEnded',
    ...about(intent),
    reason: `${how}:${why}`,
    words: `position ${positionId}, ${aim}: ${how} (${why})`,
    // An action that is only observed, or was vetoed, fails without an alarm.
    alarm:
      how === 'failed'
        ? why !== 'refused:observeMode' && why !== 'refused:vetoed'
        : how === 'expired' && intent.source === 'operator',
    openedMs,
    ...(targetBase === null ? {} : { targetBase }),
  });
  return { ...intent, end, endedMs: nowMs, endDistance: distance };
}
