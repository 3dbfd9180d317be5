import { minuteWords } from '../../core/text/time-words.ts';
import { accountIds, type ReplayRecord } from '../record.ts';
import { counted, percent, signedPercent, span } from '../words.ts';
import { accountSection } from './account-section.ts';
import { comparison, pathRanges } from './comparison.ts';
import { type Html, markup } from './html.ts';
import { renderPage } from './page.ts';
import { type Verdict, verdictOn } from './verdict.ts';

export function renderReport(record: ReplayRecord): string {
  // Every variant on the first path, which every variant is played on.
  const runs = record.runs.filter(({ path }) => path === record.runs[0]?.path);
  const accounts = accountIds(record.runs);
  const verdicts = accounts.map((id) => [id, verdictOn(id, runs)] as const);
  return renderPage({
    title: record.title,
    header: markup`
<h1>${record.title}</h1>
<p class="facts">${facts(record)}</p>
${stopped(record)}
`,
    main: markup`<section class="verdicts">${verdicts.map(([id, verdict], index) => verdictCard(id, verdict, index))}</section>
${comparison(runs)}
${pathRanges(record)}
${accounts.map((id, index) => accountSection(record, runs, { id, key: String(index) }))}
${notes(record)}`,
    footer: markup`Made by <code>breakwater replay</code> with seed ${String(record.seed)}. The same input and seed give the same result.`,
  });
}

function facts({ fromMs, toMs, runs }: ReplayRecord): Html {
  const moves = Object.entries(runs[0]?.prices ?? {}).map(([market, track]) => {
    const values = track.flatMap(([, value]) => value ?? []);
    const first = values[0] ?? 1;
    let [lowest, highest] = [first, first];
    for (const value of values) {
      lowest = Math.min(lowest, value);
      highest = Math.max(highest, value);
    }
    return `${market} between ${signedPercent(lowest / first - 1)} and ${signedPercent(highest / first - 1)}`;
  });
  const time = `${minuteWords(fromMs)} to ${minuteWords(toMs)} (${span(toMs - fromMs)})`;
  return markup`${time}; ${moves.join('; ')}; ${counted(accountIds(runs).length, 'account')}.`;
}

function stopped({ stoppedAtMs, fromMs, toMs }: ReplayRecord): Html {
  if (stoppedAtMs === undefined) return markup``;
  const part = percent((stoppedAtMs - fromMs) / (toMs - fromMs));
  return markup`<p class="warning">Stopped at ${minuteWords(stoppedAtMs)}, after ${part} of the time: what follows is incomplete.</p>`;
}

function verdictCard(id: string, { level, title, text }: Verdict, index: number): Html {
  return markup`<article class="card ${level}"><h2><a href="#account-${String(index)}">${id}</a></h2><p class="title">${title}</p><p>${text}</p></article>`;
}

function notes({ notes: sentences }: ReplayRecord): Html {
  if (sentences.length === 0) return markup``;
  return markup`<section><h2>How this was made</h2><ul>${sentences.map((sentence) => markup`<li>${sentence}</li>`)}</ul></section>`;
}
