import type { HistoryRecord } from './history-record.ts';
import { firingMs } from './history-tables.ts';

/** What `replay --history --json` prints: a line for each episode, then the last line. */
export function historyLines({
  source,
  accounts,
}: HistoryRecord): readonly Readonly<Record<string, unknown>>[] {
  const episodes = accounts.flatMap(({ id: account, rules }) =>
    rules.flatMap(({ id: rule, severity, episodes: fired }) =>
      fired.map((episode) => ({ event: 'episode', account, rule, severity, ...episode })),
    ),
  );
  const last = {
    event: 'history',
    source,
    accounts: accounts.map((account) => {
      const { id, moments, fromMs, toMs, everyMs, gaps, rules } = account;
      return {
        id,
        moments,
        fromMs,
        toMs,
        everyMs,
        gaps,
        rules: rules.map((rule) => ({
          id: rule.id,
          fired: rule.episodes.length,
          firingMs: firingMs(account, rule),
          undecided: rule.undecided,
          notJudged: rule.notJudged,
        })),
      };
    }),
  };
  return [...episodes.toSorted((a, b) => a.firedMs - b.firedMs), last];
}
