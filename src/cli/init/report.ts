import { percentInWords } from '../../app.ts';
import { type CliIo, paint, printJson, printLine, printNote } from '../io.ts';
import { wrapped } from '../table.ts';
import type { HeldPosition } from './account-figures.ts';
import { accountLines } from './account-lines.ts';
import type { ChosenChannel } from './choose-channel.ts';
import type { InitDecisions } from './decide.ts';
import type { InitFlags } from './flags.ts';
import { MARKET_FIGURES, type ProposedMarket } from './propose-markets.ts';
import { measuredWords } from './set-words.ts';
import type { Written } from './write-decided.ts';

/** Prints what was decided and written, and the next steps. */
export function report(io: CliIo, { json }: InitFlags, decisions: InitDecisions, written: Written): void {
  const warnings = warningsOf(decisions);
  if (json === true) return printJson(io, { ...jsonOf(decisions), ...jsonOfWritten(written), warnings });
  const { account, seen, markets, wasAsked, file } = decisions;
  // People who were asked have seen them already.
  if (!wasAsked) {
    const lines = seen === undefined ? [] : accountLines(io, account, seen, markets);
    for (const line of [...lines, ...setLines(io, decisions)]) printLine(io, line);
  }
  for (const warning of [...warnings, ...missingSecrets(written)]) {
    printNote(io, paint(io, 'stderr', 'yellow', warning));
  }
  printLine(io, `Wrote ${written.files.join(', ')}. The config observes, and sends nothing to the exchange.`);
  printLine(io, '');
  printLine(io, paint(io, 'stdout', 'bold', 'Next'));
  printLine(io, `  breakwater check ${file} --print`);
  printLine(io, `  breakwater doctor --config ${file}`);
  printLine(io, `  breakwater run --config ${file}`);
}

function setLines(io: CliIo, { ruleSet, leverage }: InitDecisions): readonly string[] {
  return [
    paint(io, 'stdout', 'bold', `Rule set for up to ${leverage}x: ${ruleSet.name}`),
    ...wrapped(io, `${ruleSet.summary} ${measuredWords(ruleSet)}`),
    '',
  ];
}

/** In the words of `check`; with `--json` they are among its problems. */
function missingSecrets({ check }: Written): readonly string[] {
  return check.problems.filter(({ code }) => code === 'secret-missing').map(({ text }) => text);
}

/** Whole sentences. */
function warningsOf({ seen, leverage, ruleSet, markets }: InitDecisions): readonly string[] {
  const warnings = [...(seen?.notes ?? [])];
  const now = seen?.leverage ?? null;
  if (now !== null && now > leverage) {
    warnings.push(
      `The account is at ${now.toFixed(1)}x now, above the ${leverage}x that the rules were chosen for.`,
    );
  }
  if (!ruleSet.fits) {
    warnings.push(
      `${ruleSet.name} is made for up to ${ruleSet.mostLeverage}x: at ${leverage}x it acts soon after a position is opened, and gives up much. Less leverage is the cure.`,
    );
  }
  const open = new Set((seen?.positions ?? []).map(({ market }) => market));
  const left = [...open].filter((name) => !markets.some(({ market }) => market === name));
  if (left.length > 0) {
    warnings.push(`No config can name the markets ${left.join(', ')}: positions there are watched only.`);
  }
  warnings.push(...markets.flatMap((market) => coarseWords(market, seen?.positions ?? [])));
  if (seen === undefined) {
    warnings.push('The exchange was not asked: add the markets, and let doctor try the keys.');
  }
  return warnings;
}

/** A step of at least this share of a position gets a warning. */
const COARSE = 0.1;

/** A reduction cannot be finer than a step: with a step of half a position, it closes half or all of it. */
function coarseWords(
  { market, amountStep }: ProposedMarket,
  positions: readonly HeldPosition[],
): readonly string[] {
  const sizes = positions
    .filter((position) => position.market === market)
    .map(({ amount }) => Number(amount));
  const share = Number(amountStep.value) / Math.min(...sizes);
  if (!(share >= COARSE)) return [];
  return [
    `${market}: with an amountStep of ${amountStep.value} the position is reduced in parts of ${percentInWords(Math.round(share * 1_000) / 1_000)}. If the market page has a finer one, write that.`,
  ];
}

function jsonOf(decisions: InitDecisions): object {
  const { file, baseUrls, nonce, account, redis, leverage, seen } = decisions;
  const { apiKey, apiSecret, operatorsKey, controlToken } = decisions;
  const { markets, isConfirmed, ruleSet, rules, cancel, channel } = decisions;
  return {
    event: 'init',
    file,
    mode: 'observe',
    exchange: { baseUrls, nonce },
    account: { id: account, apiKey: apiKey.written, apiSecret: apiSecret.written, rules },
    redis: redis ?? null,
    operators: { key: operatorsKey.written },
    web: { controlToken: controlToken.written },
    leverage,
    positions: seen?.positions ?? null,
    leverageNow: seen?.leverage ?? null,
    creditLines: seen?.creditLines ?? null,
    markets: Object.fromEntries(markets.map((market) => [market.market, marketJson(market)])),
    marketsConfirmed: isConfirmed,
    ruleSet,
    cancel: cancel ?? null,
    channel: channelJson(channel),
  };
}

function marketJson({ money, referencePrice, ...market }: ProposedMarket): object {
  const figures = MARKET_FIGURES.map((figure) => [figure, market[figure]] as const);
  return { ...Object.fromEntries(figures), money: money ?? null, referencePrice: referencePrice ?? null };
}

function channelJson(channel: ChosenChannel | undefined): object | null {
  if (channel === undefined) return null;
  const keys = channel.keys.map(
    ([key, value]) => [key, typeof value === 'object' ? value.written : value] as const,
  );
  return { type: channel.type, ...Object.fromEntries(keys) };
}

function jsonOfWritten({ files, check }: Written): object {
  const { ok, errors, warnings: warned, problems } = check;
  return { files, check: { ok, errors, warnings: warned, problems: problems.map(({ text }) => text) } };
}
