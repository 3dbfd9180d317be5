import { isDecimalString } from '../../core/quantities/decimal.ts';
import type { Prompter } from './prompter.ts';
import { MARKET_FIGURES, type MarketFigure, type Proposal, type ProposedMarket } from './propose-markets.ts';

/** Asks a person to confirm or correct the proposals; if nobody can be asked, they stay unconfirmed. */
export async function confirmMarkets(
  proposed: readonly ProposedMarket[],
  prompter: Prompter | undefined,
): Promise<{ readonly markets: readonly ProposedMarket[]; readonly isConfirmed: boolean }> {
  if (prompter === undefined || proposed.length === 0) return { markets: proposed, isConfirmed: false };
  const answer = await prompter.ask({
    text: 'Are these the figures of the market page of the exchange? yes, correct or later',
    fallback: 'later',
    expected: 'yes, correct or later',
    read: (text) => ANSWERS.find((one) => one.startsWith(text.toLowerCase())),
  });
  if (answer !== 'correct') return { markets: proposed, isConfirmed: answer === 'yes' };
  const markets: ProposedMarket[] = [];
  for (const market of proposed) markets.push(await corrected(market, prompter));
  return { markets, isConfirmed: true };
}

const ANSWERS = ['yes', 'correct', 'later'] as const;

async function corrected(market: ProposedMarket, prompter: Prompter): Promise<ProposedMarket> {
  const figures: Partial<Record<MarketFigure, Proposal>> = {};
  for (const figure of MARKET_FIGURES) {
    // In most markets the smallest amount is the step, so a step that was just corrected is proposed.
    const proposal = figure === 'minAmount' ? (figures.amountStep ?? market[figure]) : market[figure];
    const value = await prompter.ask({
      text: `${market.market} ${figure}`,
      fallback: proposal.value,
      ...(figure === 'maintenanceMargin' ? RATE : POSITIVE),
    });
    figures[figure] = value === market[figure].value ? market[figure] : { value, from: 'you' };
  }
  return { ...market, ...figures };
}

const POSITIVE = {
  expected: 'a positive decimal number such as 0.001',
  read: (text: string) => (isDecimalString(text) && Number(text) > 0 ? text : undefined),
};

const RATE = {
  expected: 'a rate such as 3%',
  read(text: string): string | undefined {
    const [, percent = ''] = /^(\d{1,2}(?:\.\d{1,6})?)\s*%$/.exec(text) ?? [];
    return Number(percent) > 0 && Number(percent) <= 50 ? `${percent}%` : undefined;
  },
};
