import type { OperatorControls } from '../ports/operator-controls.ts';
import type { SubjectKey } from '../rules/subject.ts';
import {
  type Acknowledgement,
  type Authored,
  type EpisodeStage,
  LONGEST_ACKNOWLEDGED_MS,
} from './controls.ts';

/** An episode that people were told of, which is not over. */
export interface OpenEpisode extends EpisodeStage {
  /** null: it is about no account. */
  readonly accountId: string | null;
  readonly acknowledged: Acknowledgement | null;
}

/** What is absent stands for all. */
export interface EpisodeFilter {
  readonly ruleId?: string | undefined;
  readonly subject?: SubjectKey | undefined;
}

export interface Acknowledging {
  readonly by: Omit<Authored, 'atMs'>;
  readonly nowMs: number;
  /** Default and bound: `LONGEST_ACKNOWLEDGED_MS`. */
  readonly forMs?: number | undefined;
}

export interface Acknowledged {
  readonly acknowledgement: Acknowledgement;
  /** Somebody had acknowledged it before: theirs stays. */
  readonly isOlder: boolean;
}

export function isMeant(episode: EpisodeStage, { ruleId, subject }: EpisodeFilter): boolean {
  return (
    (ruleId === undefined || episode.ruleId === ruleId) &&
    (subject === undefined || episode.subject === subject)
  );
}

/** Each of these is acknowledged when this resolves. Rejects as `OperatorControls.put` does; repeating it is harmless. */
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
