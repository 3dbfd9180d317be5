import { type Html, markup } from '../report/html.ts';
import { renderPage } from '../report/page.ts';
import { counted, percent } from '../words.ts';
import type { StressCase, StressedAccount, StressRecord } from './stress.ts';
import { fate, gridCell, kept, totalsOf, worstCase } from './stress-tables.ts';

export function renderStress(record: StressRecord): string {
  const played = record.cases.filter(({ scenario }) => scenario.kind !== 'grid');
  const grid = record.cases.filter(({ scenario }) => scenario.kind === 'grid');
  const accounts = record.cases[0]?.accounts.map(({ id }) => id) ?? [];
  const title = `Stress test of ${counted(accounts.length, 'account')}`;
  return renderPage({
    title,
    header: markup`<h1>${title}</h1><p class="facts">${counted(played.length, 'case')}, each without protection and with the config's rules.</p>${stopped(record)}`,
    main: markup`<p><strong>${worstCase(record) ?? 'Nothing was played.'}</strong></p>
${scenarios(played, accounts)}
${shocks(grid, accounts)}
<section><h2>How this was made</h2><ul>${record.notes.map((note) => markup`<li>${note}</li>`)}</ul></section>`,
    footer: markup`Made by <code>breakwater stress</code> with seed ${String(record.seed)}. The same input and seed give the same result.`,
  });
}

function stopped({ stopped: isStopped }: StressRecord): Html {
  return isStopped ? markup`<p class="warning">Stopped early: what follows is incomplete.</p>` : markup``;
}

function scenarios(cases: readonly StressCase[], accounts: readonly string[]): Html {
  const rows = cases.map((one) => {
    const { liquidatedWithout, liquidatedWith, keptWithout, keptWith } = totalsOf(one);
    const { title, about } = one.scenario;
    return markup`<tr><td>${title}</td><td>${one.conditions}</td><td class="n">${String(liquidatedWithout)} \u2192 ${String(liquidatedWith)}</td><td class="n">${percent(keptWithout)} \u2192 ${percent(keptWith)}</td>${one.accounts.map(accountCell)}<td class="reason">${about}</td></tr>`;
  });
  return markup`<section><h2>Scenarios</h2><p class="hint">Without protection \u2192 with the rules. Equity is what was left of it.</p><div class="wide"><table><thead><tr><th>Scenario</th><th>Exchange</th><th class="n">Liquidated</th><th class="n">Equity kept</th>${accounts.map((id) => markup`<th class="n">${id}</th>`)}<th>What happens</th></tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

function accountCell({ equityStart, without, withRules }: StressedAccount): Html {
  const part = ({ liquidated, equityEnd }: StressedAccount['without']): Html => {
    const share = kept(equityStart, equityEnd);
    return liquidated ? markup`<strong class="critical">${share} \u2717</strong>` : markup`${share}`;
  };
  const words = `${fate(without.liquidated)} without, ${fate(withRules.liquidated)} with the rules, which closed ${percent(withRules.closedFraction)} in ${counted(withRules.orders, 'order')}`;
  return markup`<td class="n" title="${words}">${part(without)} \u2192 ${part(withRules)}</td>`;
}

function shocks(cases: readonly StressCase[], accounts: readonly string[]): Html {
  if (cases.length === 0) return markup``;
  const rows = cases.map(
    ({ scenario, accounts: cells }) =>
      markup`<tr><td class="n">${scenario.title}</td>${cells.map((cell) => markup`<td class="n">${gridCell(cell)}</td>`)}</tr>`,
  );
  return markup`<section><h2>Instant moves, as portfolio margin scans them</h2><p class="hint">Equity left a minute after everything moved at once; the largest loss is what counts.</p><div class="wide"><table><thead><tr><th class="n">Move</th>${accounts.map((id) => markup`<th class="n">${id}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div></section>`;
}
