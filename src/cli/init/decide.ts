import { type PositionSetName, shippedSet } from '../../app.ts';
import { isDecimalString } from '../../core/quantities/decimal.ts';
import { CliError } from '../errors.ts';
import { type CliIo, paint, printNote } from '../io.ts';
import { wrapped } from '../table.ts';
import { type ShownAccount, shownAccount } from './account-figures.ts';
import { accountLines } from './account-lines.ts';
import { type ChosenAccess, chooseAccess, retypedKeys } from './choose-access.ts';
import { chooseChannel } from './choose-channel.ts';
import { type InitFlags, LEVERAGE_IN_WORDS, RULE_SETS, readLeverage } from './flags.ts';
import type { Prompter } from './prompter.ts';
import {
  MARKET_FIGURES,
  type MarketFigure,
  type Proposal,
  type ProposedMarket,
  proposeMarkets,
} from './propose-markets.ts';
import { type AccountAnswers, readAccount } from './read-account.ts';
import { madeUpSecret } from './secret-sources.ts';
import { measuredWords } from './set-words.ts';

/** All contents of the config. */
export type InitDecisions = Awaited<ReturnType<typeof decide>>;

/** Asks for what the flags do not say, and reads the account from the exchange. @throws CliError, UsageError */
export async function decide(io: CliIo, flags: InitFlags, prompter: Prompter | undefined) {
  const chosen = await chooseAccess(io, flags, prompter);
  const { access, read } =
    flags.offline === true ? { access: chosen, read: undefined } : await readTyped(io, chosen, prompter);
  const seen = read === undefined ? undefined : shownAccount(read);
  const proposed = read === undefined ? [] : proposeMarkets(read.positions, read.orders);
  if (prompter !== undefined && seen !== undefined) {
    for (const line of accountLines(io, access.account, seen, proposed)) printNote(io, line);
  }
  const { markets, isConfirmed } = await confirmMarkets(proposed, prompter);
  const leverage = flags.leverage ?? (await askLeverage(seen, prompter));
  const ruleSet = await chooseSet(io, leverage, flags, prompter);
  const cancel = flags.cancel ?? (await askCancel(prompter));
  const channel = await chooseChannel(
    flags.channel,
    { io, configFile: flags.out, isNeeded: false },
    prompter,
  );
  return {
    /** As given. */
    file: flags.out,
    ...access,
    /** Seals what people send to daemons. */
    operatorsKey: await madeUpSecret(flags.out, 'operators.key'),
    /** For the daemon's web server. */
    controlToken: await madeUpSecret(flags.out, 'web-control.secret'),
    leverage,
    seen,
    markets,
    /** Whether a person looked at the figures of the markets. */
    isConfirmed,
    /** Whether there was a terminal to ask on. */
    wasAsked: prompter !== undefined,
    ruleSet,
    /** As in an account's `rules`. */
    rules: [ruleSet.name, BLIND, ...((seen?.creditLines.length ?? 0) > 0 ? ['credit-line'] : [])],
    cancel,
    channel,
  };
}

/** Judges the age of the data alone, so the key needs no further permission. */
const BLIND = 'circuit-breaker/blind';

/** Asks again for a typed key that is refused, so that no other answer is lost. */
async function readTyped(
  io: CliIo,
  access: ChosenAccess,
  prompter: Prompter | undefined,
): Promise<{ readonly access: ChosenAccess; readonly read: AccountAnswers }> {
  const { baseUrls, nonce: nonceMode, apiKey, apiSecret } = access;
  const credentials = { apiKey: apiKey.value, apiSecret: apiSecret.value };
  try {
    return { access, read: await readAccount(io, { baseUrls, nonceMode, credentials }) };
  } catch (error) {
    const isTyped = apiKey.newFile !== undefined || apiSecret.newFile !== undefined;
    const isKeyRefused = error instanceof CliError && error.code === 'unauthenticated';
    if (prompter === undefined || !isTyped || !isKeyRefused) throw error;
    printNote(io, paint(io, 'stderr', 'yellow', 'The exchange does not take this key and secret.'));
    return await readTyped(io, { ...access, ...(await retypedKeys(io, access, prompter)) }, prompter);
  }
}

async function askLeverage(seen: ShownAccount | undefined, prompter: Prompter | undefined): Promise<number> {
  if (prompter === undefined) throw new TypeError('the leverage was required before');
  const now = seen?.leverage ?? null;
  const present = now === null ? '' : ` (it is at ${now.toFixed(1)}x now)`;
  return await prompter.ask({
    text: `The most leverage that the account is to run at${present}`,
    ...(now === null ? {} : { fallback: String(Math.max(1, Math.ceil(now))) }),
    expected: LEVERAGE_IN_WORDS,
    read: readLeverage,
  });
}

async function chooseSet(
  io: CliIo,
  leverage: number,
  { ruleSet: named }: InitFlags,
  prompter: Prompter | undefined,
) {
  const fitting = await shippedSet(leverage);
  const name = named ?? (prompter === undefined ? fitting.name : await askSet(io, fitting.name, prompter));
  const chosen = await shippedSet(name);
  /** `fits`: false if the leverage is above the one that the set is made for. */
  return { ...chosen, fits: leverage <= chosen.mostLeverage };
}

async function askSet(io: CliIo, fitting: PositionSetName, prompter: Prompter): Promise<PositionSetName> {
  for (const name of RULE_SETS) {
    const set = await shippedSet(name);
    printNote(io, '');
    for (const line of wrapped(io, `${name}: ${set.summary} ${measuredWords(set)}`)) printNote(io, line);
  }
  printNote(io, '');
  return await prompter.ask({
    text: 'Rule set',
    fallback: fitting,
    expected: `one of ${RULE_SETS.join(', ')}`,
    read: (text) => RULE_SETS.find((name) => name === text),
  });
}

async function askCancel(prompter: Prompter | undefined): Promise<InitFlags['cancel']> {
  if (prompter === undefined) return undefined;
  const may = await prompter.confirm(
    'When an order of its own must go, may it cancel all orders of that type in that market, yours too?',
  );
  return may ? 'always' : 'never';
}

/** Asks a person to confirm or correct the proposals; if nobody can be asked, they stay unconfirmed. */
async function confirmMarkets(proposed: readonly ProposedMarket[], prompter: Prompter | undefined) {
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
