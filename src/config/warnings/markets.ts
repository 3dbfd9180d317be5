import { type Decimal, decimal, divide, formatDecimal, toDecimal } from '../../core/quantities/decimal.ts';
import type { RuleSpec } from '../../core/rules/rule.ts';
import type { UncheckedAccount, UncheckedConfig } from '../compile-config.ts';
import { globCovers, globMatches, isGlob } from '../glob.ts';
import type { Problem } from '../problem.ts';
import { problemAt } from '../shape/read.ts';
import { percentInWords } from '../shape/units.ts';
import { actionsOf } from '../sources.ts';

export function marketWarnings(config: UncheckedConfig): readonly Problem[] {
  return [...config.accounts.flatMap((account) => withoutEntry(account, config)), ...coarseSteps(config)];
}

/** Markets whose positions a rule may have to reduce: names and patterns. */
export function actingMarkets(rule: RuleSpec): readonly string[] {
  const markets = actionsOf(rule).flatMap((action): readonly string[] => {
    if (action.kind !== 'reduce' && action.kind !== 'protect') return [];
    return rule.on === 'position' ? (rule.where.market ?? ['*']) : (action.positions ?? ['*']);
  });
  return [...new Set(markets)];
}

/** Without steps and margin rate no order can be shaped: such positions are only watched. */
function withoutEntry(account: UncheckedAccount, { document, markets }: UncheckedConfig): readonly Problem[] {
  const entries = Object.keys(markets);
  const rulesOf = new Map<string, string[]>();
  for (const rule of account.rules) {
    for (const market of actingMarkets(rule)) {
      if (entries.some((entry) => globCovers(entry, market))) continue;
      rulesOf.set(market, [...(rulesOf.get(market) ?? []), rule.id]);
    }
  }
  return [...rulesOf].map(([market, ids]) => {
    const partly = entries.filter((entry) => isGlob(market) && (globMatches(market, entry) || isGlob(entry)));
    const only = partly.length === 0 ? 'got none' : `got ${partly.join(', ')} only`;
    const missing = isGlob(market) ? `markets that match ${market}` : market;
    return problemAt(document, account.path, {
      severity: 'warning',
      code: 'market-without-entry',
      message: `expected an entry in markets for ${missing}, ${only}: without one, positions there are watched but never reduced (${ids.join(', ')})`,
    });
  });
}

/** Without a reference price, a step is only called coarse when it would be for prices as high as this. */
const TELLING_PRICE = decimal('1000');

/** A price step above the slippage moves the limit price by more than was meant, or by nothing at all. */
function coarseSteps(config: UncheckedConfig): readonly Problem[] {
  return Object.entries(config.markets).flatMap(([market, { priceStep }]) => {
    const slippage = leastSlippage(market, config);
    if (slippage === undefined) return [];
    const coarseBelow = divide(toDecimal(priceStep), decimal(String(slippage)), 12, 'up');
    const reference = config.referencePrices.get(market);
    const price: Decimal = reference === undefined ? TELLING_PRICE : toDecimal(reference);
    if (price.gte(coarseBelow)) return [];
    const bound = formatDecimal(coarseBelow.round(4));
    const message =
      reference === undefined
        ? `expected a price step finer than the slippage of ${percentInWords(slippage)}, got ${priceStep}, which is coarser at any price below ${bound}; if the market trades above, say so with referencePrice`
        : `expected a price step finer than the slippage of ${percentInWords(slippage)} at a price of ${reference}, got ${priceStep}, which is coarser at any price below ${bound}`;
    return [
      problemAt(config.document, ['markets', market, 'priceStep'], {
        severity: 'warning',
        code: 'step-coarser-than-slippage',
        message,
      }),
    ];
  });
}

/** The smallest slippage with which some rule may send an order in a market; `undefined` when none does. */
function leastSlippage(market: string, { accounts }: UncheckedConfig): number | undefined {
  const slippages = accounts.flatMap(({ rules }) =>
    rules
      .filter((rule) =>
        actingMarkets(rule).some((acting) => globCovers(acting, market) || globCovers(market, acting)),
      )
      .flatMap((rule) => actionsOf(rule))
      .flatMap((action) => {
        if (action.kind === 'reduce') return action.slippageSteps;
        return action.kind === 'protect' ? [action.slippage] : [];
      }),
  );
  return slippages.length === 0 ? undefined : Math.min(...slippages);
}
