import { type AccountRecord, accountIds, type ReplayRecord, type RunRecord } from '../record.ts';
import { lowerMedian, variantWords } from '../summary.ts';
import { clock, money, percent, signedPercent, span } from '../words.ts';
import { type Html, markup } from './html.ts';

/** One table of all accounts in all variants, on one path. */
export function comparison(runs: readonly RunRecord[]): Html {
  const bodies = accountIds(runs).map((id) => {
    const rows = runs.flatMap(({ variant, accounts }) => {
      const account = accounts.find((one) => one.id === id);
      return account === undefined ? [] : [row(variant, account)];
    });
    return markup`<tbody><tr><th colspan="8" scope="rowgroup">${id}</th></tr>${rows}</tbody>`;
  });
  return markup`<section><h2>What happened</h2><div class="wide"><table>
<thead><tr><th>Variant</th><th>Liquidated</th><th class="n">Equity: start</th><th class="n">end</th><th class="n">Closed by orders</th><th class="n">Orders</th><th class="n">Fees + slippage</th><th class="n">Breach to fill</th></tr></thead>${bodies}</table></div></section>`;
}

function row(variant: string, account: AccountRecord): Html {
  const { equityStart, equityEnd, liquidatedAtMs, closedFraction, orders, fees, slippage } = account;
  const isDead = liquidatedAtMs !== null;
  const fate = isDead
    ? markup`<strong class="critical">at ${clock(liquidatedAtMs)} UTC</strong>`
    : markup`no`;
  const change = equityStart === 0 ? '' : `(${signedPercent(equityEnd / equityStart - 1)})`;
  return markup`<tr><td>${variantWords(variant)}</td><td class="fate">${fate}</td><td class="n">${money(equityStart)}</td><td class="n">${money(equityEnd)} ${change}</td><td class="n">${percent(closedFraction)}</td><td class="n">${String(orders)}</td><td class="n">${money(fees)} + ${money(slippage)}</td><td class="n">${reaction(account)}</td></tr>`;
}

function reaction({ breachToFillMs }: AccountRecord): string {
  const sorted = breachToFillMs.toSorted((a, b) => a - b);
  const [usual, longest] = [lowerMedian(sorted), sorted.at(-1)];
  if (usual === null || longest === undefined) return '';
  return sorted.length === 1 ? span(usual) : `${span(usual)} (max ${span(longest)})`;
}

/** How much depends on an unknown: the path of the price within its candles. */
export function pathRanges({ runs }: ReplayRecord): Html {
  const paths = [...new Set(runs.map(({ path }) => path))];
  if (paths.length < 2) return markup``;
  const variants = [...new Set(runs.map(({ variant }) => variant))];
  const rows = accountIds(runs).flatMap((id) =>
    variants.map((variant) => {
      const cells = paths.map((path) => {
        const run = runs.find((one) => one.path === path && one.variant === variant);
        return cell(run?.accounts.find((account) => account.id === id));
      });
      return markup`<tr><td>${id}</td><td>${variantWords(variant)}</td>${cells}</tr>`;
    }),
  );
  return markup`<section><h2>What depends on the path</h2>
<p>Candles do not say how the price went from open to close. Equity at the end, and whether it was liquidated, for each way that was tried; the pictures below show the first.</p>
<div class="wide"><table><thead><tr><th>Account</th><th>Variant</th>${paths.map((path) => markup`<th class="n">${PATH_WORDS[path] ?? path}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

const PATH_WORDS: Readonly<Record<string, string>> = {
  adverse: 'adverse extreme first',
  favourable: 'other extreme first',
  bridge: 'random bridge',
};

function cell(account: AccountRecord | undefined): Html {
  if (account === undefined) return markup`<td></td>`;
  const { liquidatedAtMs, equityEnd } = account;
  const fate = liquidatedAtMs === null ? markup`` : markup` <strong class="critical">liquidated</strong>`;
  return markup`<td class="n">${money(equityEnd)}${fate}</td>`;
}
