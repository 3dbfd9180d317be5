import type { OperatorControls } from '../ports/operator-controls.ts';
import type { SubjectKey } from '../rules/subject.ts';
import {
  type Acknowledgement,
  type Authored,
  type EpisodeStage,
  LONGEST_ACKNOWLEDGED_MS,
} from './controls.ts';

/** An episode that is still open and that people were notified of. */
export interface OpenEpisode extends EpisodeStage {
  /** null: it concerns no single account. */
  readonly accountId: string | null;
  readonly acknowledged: Acknowledgement | null;
}

/** An absent field matches everything. */
export interface EpisodeFilter {
  readonly ruleId?: string | undefined;
  readonly subject?: SubjectKey | undefined;
}

export interface Acknowledging {
  readonly by: Omit<Authored, 'atMs'>;
  readonly nowMs: number;
  /** Default and maximum: `LONGEST_ACKNOWLEDGED_MS`. */
  readonly forMs?: number | undefined;
}

export interface Acknowledged {
  readonly acknowledgement: Acknowledgement;
  /** An earlier acknowledgement was found and is kept. */
  readonly isOlder: boolean;
}

export function isMeant(episode: EpisodeStage, { ruleId, subject }: EpisodeFilter): boolean {
  return (
    (ruleId === undefined || episode.ruleId === ruleId) &&
    (subject === undefined || episode.subject === subject)
  );
}

/** Acknowledges all episodes; all are in force when it resolves. Idempotent. Rejects as `OperatorControls.put` does. */
export async function acknowledgeAll(
  controls: Pick<OperatorControls, 'put'>,
  episodes: readonly OpenEpisode[],
  { by, nowMs, forMs = LONGEST_ACKNOWLEDGED_MS }: Acknowledging,
): Promise<readonly Acknowledged[]> {
  const expiresAtMs = nowMs + Math.min(forMs, LONGEST_ACKNOWLEDGED_MS);
  return await Promise.all(
    episodes.map(async ({ accountId, ruleId, subject, episode, stage, acknowledged }) => {
      if (acknowledged !== null) return { acknowledgement: acknowledged, isOlder: true };
      const draft = { accountId, ruleId, subject, episode, stage, expiresAtMs } as const;
      const put = await controls.put({ kind: 'acknowledgement', ...draft, ...by });
      return { acknowledgement: put as Acknowledgement, isOlder: put.author !== by.author };
    }),
  );
}
