import { filled } from '../table.ts';
import type { ChosenChannel } from './choose-channel.ts';
import type { InitDecisions } from './decide.ts';
import { MARKET_FIGURES, type ProposedMarket } from './propose-markets.ts';
import type { SecretSource, WrittenReference } from './secret-sources.ts';
import { measuredWords } from './set-words.ts';

/** Renders a config file in observe mode, with a comment on each part. The same decisions give the same text. */
export function renderConfig(decisions: InitDecisions): string {
  const sections = [
    HEAD,
    MODE,
    exchangeSection(decisions),
    ...redisSection(decisions),
    operatorsSection(decisions),
    webSection(decisions),
    marketsSection(decisions),
    channelsSection(decisions.channel),
    actingSection(decisions.cancel),
    accountsSection(decisions),
  ];
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

const WIDTH = 100;

/** A comment of as many lines as needed. */
function note(text: string, indent = ''): readonly string[] {
  const start = `${indent}# `;
  // A percent sign stays with its number.
  return filled(text.split(/ (?!%)/), WIDTH - start.length).map((line) => `${start}${line}`);
}

const HEAD = [
  ...note('Made by `breakwater init`. docs/config.md explains every key.'),
  ...note('`breakwater check FILE --print` says what is wrong or dangerous here, and each rule in words.'),
];

const MODE = [
  ...note(
    'observe: judge, and record the exact orders it would send; nothing is sent. enforce: send them. Let it observe for ' +
      'some days first: docs/operations.md has what to look at.',
  ),
  'mode: observe',
];

function exchangeSection({ baseUrls, nonce }: InitDecisions): readonly string[] {
  return [
    'exchange:',
    ...note('Without /api/v4; of several the first healthy one is used.', '  '),
    `  baseUrls: [${baseUrls.map((url) => JSON.stringify(url)).join(', ')}]`,
    ...note(
      'What the exchange demands of the nonces of this key. unique: never the same twice. increasing: larger than all ' +
        'before. window: near its own time.',
      '  ',
    ),
    `  nonce: ${nonce}`,
  ];
}

function redisSection({ redis }: InitDecisions): readonly (readonly string[])[] {
  if (redis === undefined) return [];
  const section = [
    ...note(
      'Holds what the daemons know, their queues and the audit trail. To enforce it needs a password; an address with one ' +
        'is a secret: { env: NAME } or { file: PATH }.',
    ),
    'redis:',
    `  url: ${typeof redis === 'string' ? JSON.stringify(redis) : reference(redis)}`,
  ];
  return [section];
}

function webSection({ controlToken }: InitDecisions): readonly string[] {
  return [
    ...note('The page is at http://127.0.0.1:9642; its buttons ask for this token.'),
    'web:',
    `  controlToken: ${reference(controlToken.written)}`,
  ];
}

function operatorsSection({ operatorsKey }: InitDecisions): readonly string[] {
  return [
    ...note(
      'Seals what people say to the daemon (`pause`, `approve`, `flatten`) and its audit trail: what lacks the seal is not ' +
        'obeyed. Every daemon and everybody who gives orders needs this file; keep a copy of it.',
    ),
    'operators:',
    `  key: ${reference(operatorsKey.written)}`,
  ];
}

const ABOUT_MARKETS =
  'What orders need to know of a market. The API of the exchange does not tell it, its market page does. A market ' +
  'without an entry is watched, and its positions are never reduced.';
const PROPOSED =
  "PROPOSED from the account's own figures, and not confirmed: compare them with the market page before you enforce. A step " +
  'that is too coarse reduces in large parts; with one that is too fine orders are refused.';

function marketsSection({ markets, isConfirmed, seen }: InitDecisions): readonly string[] {
  if (markets.length === 0) {
    const none = seen === undefined ? '' : ' No position was open when this file was made.';
    return [
      ...note(`${ABOUT_MARKETS}${none}`),
      'markets: {}',
      '#markets:',
      '#  BTC_PERP: { amountStep: 0.001, priceStep: 0.1, minAmount: 0.001, maintenanceMargin: 3%, money: USDT }',
    ];
  }
  return [
    ...note(ABOUT_MARKETS),
    ...note(isConfirmed ? 'Looked at and confirmed when this file was made.' : PROPOSED),
    'markets:',
    ...markets.flatMap(marketLines),
  ];
}

function marketLines({ market, money, referencePrice, ...figures }: ProposedMarket): readonly string[] {
  return [
    `  ${scalar(market)}:`,
    ...MARKET_FIGURES.map((figure) => {
      const { value, from } = figures[figure];
      return `    ${figure}: ${value} # from ${from}`;
    }),
    ...(money === undefined ? [] : [`    money: ${money} # what it settles in`]),
    ...(referencePrice === undefined
      ? []
      : [`    referencePrice: ${referencePrice} # when this file was made; only \`check\` uses it`]),
  ];
}

function channelsSection(channel: ChosenChannel | undefined): readonly string[] {
  const about = "Ways to reach people (docs/notifications.md), besides the daemon's own log.";
  if (channel === undefined) {
    return [
      ...note(`${about} None yet, and a log wakes nobody.`),
      'channels: {}',
      '#channels:',
      '#  desk: { type: slack, url: { file: slack-url } }',
    ];
  }
  return [
    ...note(`${about} \`breakwater notify test\` tries them.`),
    'channels:',
    '  desk:',
    `    type: ${channel.type}`,
    ...channel.keys.map(([key, value]) => `    ${key}: ${valueOf(value)}`),
  ];
}

function actingSection(cancel: InitDecisions['cancel']): readonly string[] {
  const about = note(
    'When an order of its own must go, the exchange can only cancel all orders of that type in that market. always: that ' +
      'is done, and takes your own orders too. never: the order stays.',
  );
  if (cancel !== undefined) return [...about, 'acting:', `  cancel: ${cancel}`];
  return [
    ...about,
    ...note('Not chosen yet: the default is always, and `check` warns of it.'),
    '#acting:',
    '#  cancel: always',
  ];
}

function accountsSection(decisions: InitDecisions): readonly string[] {
  const { account, apiKey, apiSecret, ruleSet, leverage, rules } = decisions;
  const { name, summary, mostLeverage, fits } = ruleSet;
  const fit = fits
    ? `For up to ${leverage}x: ${name} is made for up to ${mostLeverage}x.`
    : `No set is made for ${leverage}x: ${name} is made for up to ${mostLeverage}x. Above that it acts soon after a position is opened and gives up much; less leverage is the cure.`;
  return [
    'accounts:',
    ...note('Its name in messages, metrics and the audit trail; do not change it later.', '  '),
    `  - id: ${scalar(account)}`,
    ...note('Where key and secret are: they never stand in this file.', '    '),
    `    apiKey: ${reference(apiKey.written)}`,
    `    apiSecret: ${reference(apiSecret.written)}`,
    ...note(`${fit} ${summary}`, '    '),
    ...note(measuredWords(ruleSet), '    '),
    '    rules:',
    ...rules.map((rule) => `      - ${rule}${ABOUT_RULES[rule] ?? ''}`),
  ];
}

const ABOUT_RULES: Readonly<Record<string, string>> = {
  'circuit-breaker/blind': ' # tells when the account cannot be read: no other rule fires then',
  'credit-line': ' # tells in time what to repay or to add',
};

function valueOf(value: string | number | SecretSource): string {
  return typeof value !== 'object' ? JSON.stringify(value) : reference(value.written);
}

function reference(written: WrittenReference): string {
  return 'file' in written ? `{ file: ${scalar(written.file)} }` : `{ env: ${scalar(written.env)} }`;
}

const WORDS = new Set(['true', 'false', 'yes', 'no', 'on', 'off', 'null', 'y', 'n']);

/** Quoted if YAML could read something other than this text. */
function scalar(text: string): string {
  const isPlain = /^[A-Za-z/][\w./-]*$/.test(text) && !WORDS.has(text.toLowerCase());
  return isPlain ? text : JSON.stringify(text);
}
