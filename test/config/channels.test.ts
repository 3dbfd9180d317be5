import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { CHANNELS as CHANNEL_KINDS } from '../../src/config/channels.ts';
import { compareConfigs } from '../../src/config/compare-configs.ts';
import { secretValues } from '../../src/config/secret.ts';
import { checked, linesOf, loaded, withRules } from './support.ts';

const RULE = (channels = '') =>
  `  - { id: r, on: position, when: { liquidationDistance: { below: 5%, clearAbove: 7% } }, do: [{ notify: {${channels}} }] }\n`;
const ENV = {
  API_KEY: 'key-1',
  API_SECRET: 'secret-1',
  URL_1: 'https://hooks.example/services/abc',
  TOKEN: '1:planted',
};
const KINDS = Object.keys(CHANNEL_KINDS).join(', ');
const CHANNELS = `channels:
  ops: { type: slack, url: { env: URL_1 }, proxy: http://127.0.0.1:3128 }
  phone: { type: telegram, token: { env: TOKEN }, chat: "-100", api: http://127.0.0.1:8081/ }
  own: { type: webhook, url: https://own.example/hook, secret: { env: TOKEN }, timeout: 3s, giveUpAfter: 30s }
  am: { type: alertmanager, urls: http://127.0.0.1:9093/, authorization: { env: TOKEN } }
  chat: { type: discord, url: { env: URL_1 } }
  room: { type: teams, url: { env: URL_1 } }
  pager: { type: pagerduty, routingKey: { env: TOKEN } }
  genie: { type: opsgenie, apiKey: { env: TOKEN }, api: https://api.atlassian.com/jsm/ops/integration/ }
  mail: { type: email, server: "smtp://mail.example:587", user: desk, password: { env: TOKEN }, from: a@b.example, to: c@d.example }
`;
const GIVEN = { env: ENV };

describe('channels', () => {
  const config = loaded(`${CHANNELS}${withRules(RULE(), ['r'])}`, GIVEN);

  test('are compiled with hidden secrets', () => {
    expect(config.channels).toMatchObject([
      { name: 'ops', type: 'slack', timeoutMs: 10_000, giveUpAfterMs: 120_000 },
      { name: 'phone', type: 'telegram', chat: '-100', apiUrl: 'http://127.0.0.1:8081' },
      { name: 'own', type: 'webhook', timeoutMs: 3000, giveUpAfterMs: 30_000 },
      { name: 'am', type: 'alertmanager', urls: ['http://127.0.0.1:9093'] },
      { name: 'chat', type: 'discord' },
      { name: 'room', type: 'teams' },
      { name: 'pager', type: 'pagerduty', apiUrl: 'https://events.pagerduty.com' },
      { name: 'genie', type: 'opsgenie', apiUrl: 'https://api.atlassian.com/jsm/ops/integration' },
      { name: 'mail', type: 'email', serverUrl: 'smtp://mail.example:587', to: ['c@d.example'] },
    ]);
    const [ops, phone] = config.channels;
    expect(ops?.type === 'slack' && ops.url?.reveal()).toBe(ENV.URL_1);
    expect(phone?.type === 'telegram' && phone.token?.reveal()).toBe(ENV.TOKEN);
    expect(`${inspect(config, { depth: 9 })}${JSON.stringify(config)}`).not.toMatch(/services\/abc|planted/);
  });

  test('give a list of all their secrets, to redact them', () => {
    expect(secretValues(config).toSorted((a, b) => a.localeCompare(b))).toEqual(
      [...Object.values(ENV), 'http://127.0.0.1:3128', 'https://own.example/hook'].toSorted((a, b) =>
        a.localeCompare(b),
      ),
    );
  });

  test('a notify without channels goes to all, the log last; a single channel can be named', () => {
    const told = (rule: string) =>
      loaded(`${CHANNELS}${withRules(rule, ['r'])}`, GIVEN).accounts[0]?.rules[0]?.actions[0];
    expect(told(RULE())).toMatchObject({
      channels: ['ops', 'phone', 'own', 'am', 'chat', 'room', 'pager', 'genie', 'mail', 'log'],
    });
    expect(told(RULE(' channels: phone '))).toMatchObject({ channels: ['phone'] });
  });

  test('a change of a channel does not make a rule start fresh', () => {
    const other = loaded(withRules(RULE(), ['r']), GIVEN);
    const change = compareConfigs(other, config);
    expect(change.sections).toEqual(['channels']);
    expect(change.changed.map(({ rules }) => [rules.changed, rules.relabelled])).toEqual([[[], ['r']]]);
  });

  test('report mistakes with their places', () => {
    const text = `channels:
  log: { type: slack, url: { env: URL_1 } }
  a: { type: slak, url: { env: URL_1 } }
  b: { type: slack, url: https://hooks.example/services/planted1planted }
  c: { type: telegram, token: { env: TOKEN }, chat: ops, tpic: 5 }
  d: { type: webhook, url: ftp://x, timeout: 5 }
  e: { type: alertmanager, urls: [] }
  f: {}
  g: { type: discord, url: { env: TOKEN } }
notify: { remindEvery: 0s, links: { Book: "https://wiki.example/{acount}" } }
web: { host: 0.0.0.0, port: 99999 }
log: { level: loud }
${withRules(RULE(' channels: [pone, log] '), ['r'])}`;
    expect(linesOf(text, GIVEN)).toEqual([
      expect.stringMatching(
        /^breakwater.yaml:2:3 channels.log: expected a channel name: .*not "log", got "log"$/,
      ),
      `breakwater.yaml:3:14 channels.a.type: expected one of ${KINDS}, got "slak"; did you mean slack?`,
      expect.stringMatching(
        /^breakwater.yaml:4:26 channels.b.url: expected \{ env: NAME \} .*not repeated here/,
      ),
      expect.stringMatching(/^breakwater.yaml:5:53 channels.c.chat: expected the number of a chat in quotes/),
      'breakwater.yaml:5:58 channels.c.tpic: expected a known key, got "tpic"; did you mean topic?',
      expect.stringMatching(/^breakwater.yaml:6:28 channels.d.url: expected an address/),
      expect.stringMatching(
        /^breakwater.yaml:6:46 channels.d.timeout: expected a duration .*did you mean 5s/,
      ),
      'breakwater.yaml:7:34 channels.e.urls: expected a list with at least 1 item, got an empty list',
      `breakwater.yaml:8:3 channels.f.type: expected one of ${KINDS}, got nothing`,
      'breakwater.yaml:9:28 channels.g.url: expected an address that starts with https:// or http:// behind it, got another text',
      expect.stringMatching(/^breakwater.yaml:10:24 notify.remindEvery: expected a duration/),
      'breakwater.yaml:11:29 web.port: expected a port from 0 to 65535, got 99999',
      'breakwater.yaml:12:15 log.level: expected one of trace, debug, info, warn, error, fatal, got "loud"',
      expect.stringMatching(
        /notify.channels: expected a channel \(log, a, b, c, d, e, f, g, log\)|expected a channel \(a, b, c, d, e, f, g, log\), got "pone"/,
      ),
    ]);
  });

  test('an unknown placeholder, and a public web server without a token, are errors', () => {
    const text = (more: string) => `${more}\n${withRules(RULE(), ['r']).replace('[redis]', '[redis, web]')}`;
    expect(linesOf(text('notify: { links: { Book: "https://wiki.example/{acount}" } }'))).toEqual([
      expect.stringContaining('notify.links.Book: expected placeholders among {account}, {rule}'),
    ]);
    expect(linesOf(text('web: { host: 0.0.0.0 }'))).toEqual([
      expect.stringContaining('web.host: expected web.token, since everybody who reaches 0.0.0.0'),
    ]);
    const short = { env: { ...ENV, TOKEN: 'short' } };
    expect(linesOf(text('web: { host: 0.0.0.0, token: { env: TOKEN } }'), short)).toEqual([
      expect.stringContaining('web.token: expected a token of at least 16 characters, got a shorter one'),
    ]);
    expect(loaded(text('web: { port: 0 }')).web).toEqual({
      host: '127.0.0.1',
      port: 0,
      users: {},
      trustedProxies: [],
      names: [],
    });
    expect(loaded(text('')).log).toEqual({ level: 'info', format: 'auto' });
  });

  test('can be checked without their secrets', () => {
    const { problems } = checked(`${CHANNELS}${withRules(RULE(), ['r'])}`, {
      env: { API_KEY: 'key-1', API_SECRET: 'secret-1' },
    });
    expect(problems.map(({ path, code }) => [path, code])).toEqual([
      ['channels.ops.url', 'secret-missing'],
      ['channels.phone.token', 'secret-missing'],
      ['channels.own.secret', 'secret-missing'],
      ['channels.am.authorization', 'secret-missing'],
      ['channels.chat.url', 'secret-missing'],
      ['channels.room.url', 'secret-missing'],
      ['channels.pager.routingKey', 'secret-missing'],
      ['channels.genie.apiKey', 'secret-missing'],
      ['channels.mail.password', 'secret-missing'],
    ]);
  });
});

describe('commands of a Telegram channel', () => {
  const RULE = `  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ notify: {} }]
`;
  const KEY = 'operators: { key: { env: API_SECRET } }\n';
  const env = { env: { API_KEY: 'k', API_SECRET: 's'.repeat(40) } };
  const withCommands = (text: string, operators = KEY) =>
    `${operators}channels: { phone: { type: telegram, token: { env: API_KEY }, chat: "-1", commands: ${text} } }\n${withRules(RULE, ['near'])}`;

  test('are taken from listed chats, which may only look by default', () => {
    const [channel] = loaded(
      withCommands('[{ chat: "-1" }, { chat: "7", name: ann, scopes: [read, control] }]'),
      env,
    ).channels;
    expect(channel).toMatchObject({
      commands: [
        { chat: '-1', scopes: ['read'] },
        { chat: '7', name: 'ann', scopes: ['read', 'control'] },
      ],
    });
  });

  test.each([
    ['true', 'channels.phone.commands', 'expected a list', KEY],
    ['[]', 'channels.phone.commands', 'expected', KEY],
    ['[{ chat: "@name" }]', 'channels.phone.commands[0].chat', 'the number of a chat in quotes', KEY],
    ['[{ chat: 7 }]', 'channels.phone.commands[0].chat', 'in quotes', KEY],
    [
      '[{ chat: "7", scopes: [operate] }]',
      'channels.phone.commands[0].scopes[0]',
      'one of read, control',
      KEY,
    ],
    ['[{ chat: "7", user: ann }]', 'channels.phone.commands[0]', 'user', KEY],
    ['[{ chat: "7" }]', 'channels.phone.commands', 'expected operators.key', ''],
  ])('%s is refused with its place', (text, path, words, operators) => {
    const [found = '', ...more] = linesOf(withCommands(text, operators), env);
    expect(more).toEqual([]);
    expect(found).toContain(` ${path}`);
    expect(found).toContain(words);
  });
});
