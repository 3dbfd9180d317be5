import { htmlTable, markup } from '../report/html.ts';
import { renderPage } from '../report/page.ts';
import { counted } from '../words.ts';
import { coverage, episodeTable, historyTable } from './history-tables.ts';
import type { HistoryRecord } from './judge-history.ts';

export function renderHistory(record: HistoryRecord): string {
  const title = `Rules on the recorded history of ${counted(record.accounts.length, 'account')}`;
  const fired = episodeTable(record);
  const notes = [...record.accounts.flatMap(coverage), ...record.notes];
  return renderPage({
    title,
    header: markup`<h1>${title}</h1><p class="facts">From ${record.source}. Judged only: nothing was ordered or played.</p>`,
    main: markup`<section><h2>Rules</h2>${htmlTable(historyTable(record))}</section>
<section><h2>When they would have fired</h2>${fired.rows.length === 0 ? markup`<p>No rule would have fired.</p>` : htmlTable(fired)}</section>
<section><h2>What was judged</h2><ul>${notes.map((note) => markup`<li>${note}</li>`)}</ul></section>`,
    footer: markup`Made by <code>breakwater replay --history</code>.`,
  });
}
