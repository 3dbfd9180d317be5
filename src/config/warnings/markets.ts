import { findField } from '../../core/fields/field-catalogue.ts';
import { type Decimal, decimal, divide, formatDecimal, toDecimal } from '../../core/quantities/decimal.ts';
import { NO_CURRENCY, quoteOf } from '../../core/quantities/units.ts';
import { compileGlobs, isGlob } from '../../core/rules/filter.ts';
import type { RuleSpec } from '../../core/rules/rule.ts';
import { actionsOf, comparisonsOf } from '../../core/rules/rule-parts.ts';
import type { UncheckedAccount, UncheckedConfig } from '../compile-config.ts';
import type { Problem } from '../problem.ts';
import { warningAt } from '../shape/read.ts';
import { percentInWords } from '../shape/units.ts';

export function marketWarnings(config: UncheckedConfig): readonly Problem[] {
  return [...withoutEntry(config), ...withoutMoney(config), ...coarseSteps(config)];
}

/** Returns the markets, as names and patterns, whose positions a rule may reduce or protect. */
function actingMarkets(rule: RuleSpec): readonly string[] {
  const markets = actionsOf(rule).flatMap((action): readonly string[] => {
    if (action.kind !== 'reduce' && action.kind !== 'protect') return [];
    return rule.on === 'position' ? (rule.where.market ?? ['*']) : (action.positions ?? ['*']);
  });
  return [...new Set(markets)];
}

/**
 * Warns, once for all accounts, of markets without an entry: without steps and margin rate no order can be shaped, so
 * their positions are only watched.
 */
function withoutEntry({ document, markets, accounts }: UncheckedConfig): readonly Problem[] {
  const entries = Object.keys(markets);
  const found = new Map<string, { readonly accounts: Set<UncheckedAccount>; readonly rules: Set<string> }>();
  for (const account of accounts) {
    for (const rule of account.rules) {
      for (const market of actingMarkets(rule)) {
        if (entries.some((entry) => globCovers(entry, market))) continue;
        const lacking = found.get(market) ?? { accounts: new Set(), rules: new Set() };
        found.set(market, { accounts: lacking.accounts.add(account), rules: lacking.rules.add(rule.id) });
      }
    }
  }
  return [...found].map(([market, lacking]) => {
    const partly = entries.filter((entry) => isGlob(market) && (globMatches(market, entry) || isGlob(entry)));
    const [got, where] = partly.length === 0 ? ['none', 'there'] : [`only ${partly.join(', ')}`, 'elsewhere'];
    const wanted = market === '*' ? 'every market' : JSON.stringify(market);
    const [first] = lacking.accounts;
    const rules = fewOr([...lacking.rules], 'rules');
    const ids = [...lacking.accounts].map(({ id }) => id);
    const concerned = ids.length === 1 ? '' : ` of ${fewOr(ids, 'accounts')}`;
    return warningAt(
      document,
      first?.path ?? ['markets'],
      'market-without-entry',
      `expected a \`markets\` entry for ${wanted}, got ${got}: positions ${where} are watched, never reduced (${rules}${concerned})`,
    );
  });
}

function fewOr(names: readonly string[], what: string): string {
  return names.length <= 2 ? names.join(', ') : `${names.length} ${what}`;
}

/** The price assumed without a reference price: a step is coarse only if it is coarse at this price. */
const TELLING_PRICE = decimal('1000');

/** Warns of price steps above the slippage: they move the limit price by more than intended, or not at all. */
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
      warningAt(config.document, ['markets', market, 'priceStep'], 'step-coarser-than-slippage', message),
    ];
  });
}

/** Warns of perpetuals without `money`: their name ends in no currency, so sums in a currency omit their positions. */
function withoutMoney({ document, markets, accounts }: UncheckedConfig): readonly Problem[] {
  const askedBy = new Map<string, Set<string>>();
  for (const rule of accounts.flatMap(({ rules }) => rules)) {
    for (const asset of moneyAskedBy(rule)) {
      askedBy.set(asset, (askedBy.get(asset) ?? new Set()).add(rule.id));
    }
  }
  return Object.entries(markets).flatMap(([market, { money }]) => {
    const after = quoteOf(market);
    if (money !== undefined || after !== NO_CURRENCY) return [];
    const asked = [...askedBy].filter(([asset]) => asset !== after);
    if (asked.length === 0) return [];
    const assets = asked.map(([asset]) => asset).join(' or ');
    const rules = new Set(asked.flatMap(([, ids]) => Array.from(ids)));
    return [
      warningAt(
        document,
        ['markets', market],
        'money-unknown',
        `expected money, the currency that this market settles in, got none: its positions count as ${after}, and ${[...rules].join(', ')} asks for ${assets}`,
      ),
    ];
  });
}

/** Returns the currencies in which a rule sums up positions. */
function moneyAskedBy(rule: RuleSpec): readonly string[] {
  const compared = [...comparisonsOf(rule.when)].flatMap(({ field, parameter }) => {
    const spec = findField(rule.on, field);
    const isOfPositions = rule.on === 'account' && spec?.source === 'positions';
    return isOfPositions && parameter?.asset !== undefined ? [parameter.asset] : [];
  });
  const reduced = actionsOf(rule).flatMap((action) =>
    action.kind === 'reduce' && action.target.kind === 'untilMarginUsage' ? [action.target.asset] : [],
  );
  return [...compared, ...reduced];
}

/** Returns the smallest slippage of any rule that may send an order in a market; undefined if there is none. */
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

function globMatches(glob: string, text: string): boolean {
  return compileGlobs([glob])(text);
}

/** Reports whether `outer` certainly matches everything that `inner` matches. */
function globCovers(outer: string, inner: string): boolean {
  if (outer === inner) return true;
  // Matches a pattern `inner` as text. Only a `*` of `outer` may cover a wildcard, so `?` becomes "!", which no
  // pattern contains.
  return globMatches(isGlob(inner) ? outer.replaceAll('?', '!') : outer, inner);
}
