import { minuteWords, utcSecond } from '../../core/text/time-words.ts';
import { figures, type OutcomeTable, texts } from '../outcome-table.ts';
import { counted, span } from '../words.ts';
import type { AccountHistory, HistoryRecord, RuleHistory } from './judge-history.ts';

/** What each rule would have done, as a table for the terminal and the page. */
export function historyTable({ accounts }: HistoryRecord): OutcomeTable {
  return {
    columns: [...texts('ACCOUNT', 'RULE'), ...figures('FIRED', 'FOR', 'NOT DECIDED'), ...texts('NOTE')],
    rows: accounts.flatMap((account) =>
      account.rules.map((rule, index) => [index === 0 ? account.id : '', ...ruleCells(account, rule)]),
    ),
  };
}

function ruleCells(account: AccountHistory, rule: RuleHistory): readonly string[] {
  const { id, episodes, undecided, notJudged } = rule;
  if (notJudged !== null) return [id, '', '', '', `not judged: ${notJudged}`];
  const last = episodes.at(-1);
  return [
    id,
    episodes.length === 0 ? 'never' : counted(episodes.length, 'time'),
    episodes.length === 0 ? '' : span(firingMs(account, rule)),
    undecided === 0 ? '' : `${undecided} of ${account.moments}`,
    last?.endedMs === null ? 'fires at the end' : '',
  ];
}

export function firingMs({ toMs }: AccountHistory, { episodes }: RuleHistory): number {
  return episodes.reduce((sum, { firedMs, endedMs }) => sum + (endedMs ?? toMs) - firedMs, 0);
}

export function episodeTable({ accounts }: HistoryRecord): OutcomeTable {
  const rows = accounts.flatMap((account) =>
    account.rules.flatMap(({ id, episodes }) =>
      episodes.map((episode) => {
        const { firedMs, endedMs, subject, words, stages } = episode;
        const reached = stages.map(({ stage, atMs }) => `stage ${stage} after ${span(atMs - firedMs)}`);
        return {
          firedMs,
          row: [
            utcSecond(firedMs),
            account.id,
            id,
            subject,
            endedMs === null ? `to the end, ${span(account.toMs - firedMs)}` : span(endedMs - firedMs),
            [words, ...reached].join('; '),
          ],
        };
      }),
    ),
  );
  return {
    columns: texts('FIRED (UTC)', 'ACCOUNT', 'RULE', 'FOR WHAT', 'HOW LONG', 'WHY'),
    rows: rows.toSorted((a, b) => a.firedMs - b.firedMs).map(({ row }) => row),
  };
}

/** Sentences about the time over which an account was judged, and the gaps in it. */
export function coverage({ id, moments, fromMs, toMs, everyMs, gaps }: AccountHistory): readonly string[] {
  const often = everyMs === 0 ? 'moments at which something changed' : `samples, one every ${span(everyMs)}`;
  const whole = `Account ${id}: ${moments} ${often}, from ${minuteWords(fromMs)} to ${minuteWords(toMs)}.`;
  const longest = gaps.toSorted((a, b) => b.toMs - b.fromMs - (a.toMs - a.fromMs))[0];
  if (longest === undefined) return [whole];
  const many = gaps.length === 1 ? 'a gap' : `${gaps.length} gaps, the longest`;
  const { fromMs: gapMs, toMs: endMs } = longest;
  return [
    whole,
    `Account ${id}: ${many} of ${span(endMs - gapMs)} from ${minuteWords(gapMs)}: nothing is known of that time.`,
  ];
}

/** Lines of `replay --history --json`: one for each episode, then the summary. */
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
      const { rules, ...about } = account;
      return Object.assign(about, {
        rules: rules.map((rule) => ({
          id: rule.id,
          fired: rule.episodes.length,
          firingMs: firingMs(account, rule),
          undecided: rule.undecided,
          notJudged: rule.notJudged,
        })),
      });
    }),
  };
  return [...episodes.toSorted((a, b) => a.firedMs - b.firedMs), last];
}
