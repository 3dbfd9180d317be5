import { isDecimalString } from '../../core/quantities/decimal.ts';
import type { InitDecisions } from './decisions.ts';
import type { AnswerReading, Prompter } from './prompter.ts';
import { MARKET_FIGURES, type MarketFigure, type Proposal, type ProposedMarket } from './propose-markets.ts';

/** Has a person confirm or correct what was proposed; where nobody can be asked, it stays a proposal. */
export async function confirmMarkets(
  proposed: readonly ProposedMarket[],
  prompter: Prompter | undefined,
): Promise<Pick<InitDecisions, 'markets' | 'isConfirmed'>> {
  if (prompter === undefined || proposed.length === 0) return { markets: proposed, isConfirmed: false };
  const answer = await prompter.ask({
    text: 'Are these the figures of the market page of the exchange? yes, correct or later',
    fallback: 'later',
    read: readAnswer,
  });
  if (answer !== 'correct') return { markets: proposed, isConfirmed: answer === 'yes' };
  const markets: ProposedMarket[] = [];
  for (const market of proposed) markets.push(await corrected(market, prompter));
  return { markets, isConfirmed: true };
}

const ANSWERS = ['yes', 'correct', 'later'] as const;

function readAnswer(text: string): AnswerReading<(typeof ANSWERS)[number]> {
  const value = ANSWERS.find((answer) => answer.startsWith(text.toLowerCase()));
  return value === undefined ? { ok: false, expected: 'yes, correct or later' } : { ok: true, value };
}

async function corrected(market: ProposedMarket, prompter: Prompter): Promise<ProposedMarket> {
  const figures: Partial<Record<MarketFigure, Proposal>> = {};
  for (const figure of MARKET_FIGURES) {
    // The smallest amount is the step in most markets, and so is what was corrected a moment ago.
    const proposal = figure === 'minAmount' ? (figures.amountStep ?? market[figure]) : market[figure];
    const value = await prompter.ask({
      text: `${market.market} ${figure}`,
      fallback: proposal.value,
      read: figure === 'maintenanceMargin' ? readRate : readPositive,
    });
    figures[figure] = value === market[figure].value ? market[figure] : { value, from: 'you' };
  }
  return { ...market, ...figures };
}

function readPositive(text: string): AnswerReading<string> {
  return isDecimalString(text) && Number(text) > 0
    ? { ok: true, value: text }
    : { ok: false, expected: 'a positive decimal number such as 0.001' };
}

function readRate(text: string): AnswerReading<string> {
  const [, percent = ''] = /^(\d{1,2}(?:\.\d{1,6})?)\s*%$/.exec(text) ?? [];
  return Number(percent) > 0 && Number(percent) <= 50
    ? { ok: true, value: `${percent}%` }
    : { ok: false, expected: 'a rate such as 3%' };
}
