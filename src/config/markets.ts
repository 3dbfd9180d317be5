import { z } from 'zod';
import { decimalText, marketGlob, ratio, ticker } from './shape/scalars.ts';
import { section } from './shape/shape.ts';

const MARKET_DEFAULTS = { basisAllowance: '0.1%', reductionCost: '0.1%' } as const;

const marketSchema = section(
  {
    amountStep: decimalText().describe('Smallest change of an order amount, in the stock currency.'),
    priceStep: decimalText().describe('Smallest change of a price, in the money currency.'),
    minAmount: decimalText().describe('Smallest order amount, in the stock currency.'),
    maintenanceMargin: ratio({ max: 0.5, exclusive: 'min', bounds: 'above 0 and up to 50%' }).describe(
      'Maintenance margin rate: what share of the notional must be left before the exchange liquidates.',
    ),
    basisAllowance: ratio({ max: 0.2, bounds: 'up to 20%' }).describe(
      'Allowance for the gap between mark price and last price when a stop is placed.',
    ),
    reductionCost: ratio({ max: 0.5, exclusive: 'min', bounds: 'above 0 and up to 50%' }).describe(
      'What a reduction costs here: fee, half the spread and the slippage to expect. A reduction for the account as a whole begins where it brings most for its cost.',
    ),
    takerFee: ratio({ max: 0.1, bounds: 'up to 10%' })
      .exactOptional()
      .describe(
        'What the exchange takes of an order that fills at once. Only reports of what protection cost use it, where the exchange does not show the fee itself; without it the fee is unknown there.',
      ),
    money: ticker()
      .exactOptional()
      .describe(
        'Currency in which the market settles; without it, what follows the last underscore of its name. Figures of perpetuals (`_PERP`) are shown without a currency then.',
      ),
    referencePrice: decimalText()
      .exactOptional()
      .describe(
        'A rough price; only `breakwater check` uses it, to judge whether the price step is fine enough.',
      ),
  },
  MARKET_DEFAULTS,
);

export const marketsSchema = z.record(marketGlob(), marketSchema);
