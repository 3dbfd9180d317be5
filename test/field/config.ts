import { coinsOf, perpetual, TEN, termsOf } from './coins.ts';
import type { Levels } from './factors.ts';
import type { Holdings } from './holdings.ts';

/**
 * The config of a careful owner that fits the readings of a case. Whether the owner knows the margin model is a
 * separate factor. No owner has orders; one of sixty markets says so, as only that gives such an account standing stops.
 */
export function configOf(
  levels: Levels,
  { coinsWorth }: Pick<Holdings, 'coinsWorth'>,
  maintenance: number,
  namesMarginModel: boolean,
): string {
  const isWide = levels.account === 'sixty markets';
  const coins = isWide ? coinsOf(levels) : coinsOf(levels).slice(0, TEN);
  const markets = coins.map((coin) => {
    const { amountStep, priceStep, minAmount } = termsOf(coin, maintenance);
    return `  ${perpetual(coin.name)}: { amountStep: "${amountStep}", priceStep: "${priceStep}", minAmount: "${minAmount}", maintenanceMargin: ${100 * maintenance}% }`;
  });
  const hasLoan = levels.account === 'mixed with loan';
  const rules = hasLoan ? `${levels.rules}, credit-line` : levels.rules;
  const worth = Object.entries(coinsWorth).map(([coin, value]) => `${coin}: ${value}`);
  const holdings = worth.length === 0 ? '' : `, holdings: { ${worth.join(', ')} }`;
  return `mode: enforce
exchange:
  baseUrls: ["https://one.example", "https://two.example"]
  dialect: ${levels.replies === 'as specified' ? 'spec' : 'camel'}
  bothSign: ${levels.shortAmount}
  cancelCoversStops: ${levels.cancelCoversStops}
  readLag: ${levels.readLag === '0 s' ? '0s' : '500ms'}
  marginModel: ${namesMarginModel ? levels.margin : 'auto'}
markets:
${markets.join('\n')}
accounts:
  - { id: desk, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [${rules}], watch: { positions: true, creditLine: ${hasLoan} }${holdings}${isWide ? ', acting: { ownOrders: none }' : ''} }
`;
}
