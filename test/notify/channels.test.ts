import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestNotice } from '../../src/app/digest/digest-notice.ts';
import { digestAccount } from '../../src/core/digest/account-digest.ts';
import { digestOf } from '../../src/core/digest/digest.ts';
import type { Message } from '../../src/core/ports/delivery.ts';
import { createRedactor } from '../../src/core/redaction/redactor.ts';
import { escapeHtml } from '../../src/core/text/escape-html.ts';
import type { Channel, DeliveryAttempt } from '../../src/notify/channel.ts';
import type { ChannelOptions } from '../../src/notify/channels.ts';
import { createLogChannel } from '../../src/notify/log-channel.ts';
import { plainText, wordingOf } from '../../src/notify/message-layout.ts';
import { escapeSlack } from '../../src/notify/slack.ts';
import { telegramPayload } from '../../src/notify/telegram.ts';
import { buttonTargets } from '../../src/notify/telegram-buttons.ts';
import { notifyJobSchema, readPayload } from '../../src/queues/payloads.ts';
import { DAY, sighting } from '../core/digest/fixtures.ts';
import { CURES, closeOpened, LINKS, open, outgoing } from './opened.ts';
import { AT, message, type Receiver, startReceiver } from './receiver.ts';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await closeOpened();
  await receiver.close();
});

/** All channels over HTTP; e-mail has its own tests. */
type Kind = Exclude<ChannelOptions['type'], 'email'>;

const SECRET = 'hook-secret-value';
const SLACK_PATH = '/services/T000/B000/XXXXSECRETXXXX';
const TOKEN = '123456:AAE-secret_bot_token';
const TOPIC = 'desk-alerts-secret-topic';
// With dots, so that none of these looks like a secret.
const DISCORD_PATH = '/api/webhooks/2237.0470/SECRET_token.1';
const TEAMS_SIGNATURE = 'SECRET.signature';
const TEAMS_PATH = `/workflows/a1.SECRET/triggers/manual/paths/invoke?api-version=1&sig=${TEAMS_SIGNATURE}`;
const GENIE_KEY = 'secret.of.genie';
const ROUTING_KEY = 'secret.of.routing';
const open4: Readonly<Record<Kind, (timeoutMs?: number, links?: typeof LINKS) => Channel>> = {
  webhook: (ms, links) =>
    open({ type: 'webhook', url: `${receiver.url}/hook/${SECRET}`, secret: SECRET }, ms, links),
  slack: (ms, links) => open({ type: 'slack', url: `${receiver.url}${SLACK_PATH}` }, ms, links),
  telegram: (ms, links) =>
    open({ type: 'telegram', apiUrl: receiver.url, token: TOKEN, chat: '-1001' }, ms, links),
  ntfy: (ms, links) =>
    open({ type: 'ntfy', serverUrl: receiver.url, topic: TOPIC, token: SECRET }, ms, links),
  alertmanager: (ms, links) =>
    open(
      {
        type: 'alertmanager',
        urls: [receiver.url],
        authorization: `Bearer ${SECRET}`,
        expireAfterMs: 90_000,
      },
      ms,
      links,
    ),
  discord: (ms, links) => open({ type: 'discord', url: `${receiver.url}${DISCORD_PATH}` }, ms, links),
  teams: (ms, links) => open({ type: 'teams', url: `${receiver.url}${TEAMS_PATH}` }, ms, links),
  pagerduty: (ms, links) =>
    open({ type: 'pagerduty', apiUrl: receiver.url, routingKey: ROUTING_KEY }, ms, links),
  opsgenie: (ms, links) => open({ type: 'opsgenie', apiUrl: receiver.url, apiKey: GENIE_KEY }, ms, links),
};
const KINDS = Object.keys(open4) as Kind[];
const FINE: Readonly<Record<Kind, string>> = {
  webhook: '',
  slack: 'ok',
  telegram: '{"ok":true,"result":{"message_id":77}}',
  ntfy: '{"id":"sPs71M8A2T","event":"message"}',
  alertmanager: '',
  discord: '{"id":"1","type":0}',
  teams: '',
  pagerduty: '{"status":"success","message":"Event processed","dedup_key":"k"}',
  opsgenie: '{"result":"Request will be processed","took":0.3,"requestId":"43a29c5c"}',
};

describe('webhook', () => {
  test('sends every documented field, signed so that the documented recipe verifies it', async () => {
    const told = outgoing({
      message: message({ cures: CURES, subject: 'creditLine:USDT@1700000000', stage: 1 }),
      insteadOf: [{ channel: 'phone', words: 'HTTP 404' }],
    });
    expect(await open4.webhook().send(told)).toEqual({ kind: 'delivered' });
    const [got] = receiver.received;
    expect([got?.method, got?.path, got?.headers['content-type']]).toEqual([
      'POST',
      `/hook/${SECRET}`,
      'application/json; charset=utf-8',
    ]);
    expect(got?.json).toEqual({
      version: 1,
      id: got?.headers['breakwater-delivery'],
      key: told.message.key,
      kind: 'firing',
      channel: 'ops',
      title: 'CRITICAL firing: near-liquidation, desk-1, credit line in USDT',
      text: expect.stringContaining('repay 166.66666667 USDT, or add collateral worth 277.77777778 USDT'),
      words: 'liquidationDistance 4.1 % is below 5 %',
      account: 'desk-1',
      rule: 'near-liquidation',
      subject: 'creditLine:USDT@1700000000',
      subjectWords: 'credit line in USDT',
      market: 'BTC_PERP',
      episode: 7,
      stage: 1,
      severity: 'critical',
      mode: 'enforce',
      labels: { desk: 'arb' },
      sinceMs: AT - 65_000,
      since: '2026-01-31 12:29:40 UTC',
      atMs: AT,
      at: '2026-01-31 12:30:45 UTC',
      cures: CURES,
      figures: null,
      doing: null,
      ending: null,
      lines: [],
      commands: {
        status: 'breakwater status --account desk-1',
        pause: 'breakwater pause --account desk-1 --reason "looking into it"',
        acknowledge: 'breakwater acknowledge --rule near-liquidation --account desk-1',
      },
      links: [
        {
          title: 'Run & book',
          url: 'https://wiki.example/near-liquidation?a=desk-1&s=creditLine%3AUSDT%401700000000&m=BTC_PERP',
        },
      ],
      insteadOf: ['phone'],
    });
    expect(got?.headers['breakwater-event']).toBe('firing');
    expect(got?.headers['breakwater-delivery']).toMatch(/^[0-9a-f]{32}$/);
    const header = String(got?.headers['breakwater-signature']);
    const isGenuine = await recipe();
    const verifies = (head: string, body: string, key: string, nowMs = AT) =>
      isGenuine(head, body, key, nowMs);
    expect(verifies(header, got?.raw ?? '', SECRET)).toBe(true);
    expect(verifies(header, got?.raw ?? '', SECRET, AT + 301_000)).toBe(false);
    expect(verifies(header, `${got?.raw} `, SECRET)).toBe(false);
    expect(verifies(header.replace(/t=\d+/, 't=1'), got?.raw ?? '', SECRET)).toBe(false);
    expect(verifies(header, got?.raw ?? '', 'another')).toBe(false);
    expect(/t=(\d+)/.exec(header)?.[1]).toBe(String(Math.floor(AT / 1000)));
  });

  test('is sent unsigned without a key, and with any id', async () => {
    const channel = open({ type: 'webhook', url: receiver.url });
    const odd = outgoing({ message: message({ id: '["é\u2028\n"]' }) });
    expect(await channel.send(odd)).toEqual({ kind: 'delivered' });
    expect(receiver.received[0]?.headers['breakwater-signature']).toBeUndefined();
  });
});

type IsGenuine = (header: string, body: string, secret: string, nowMs: number) => boolean;

/** The recipe as in docs/notifications.md. */
async function recipe(): Promise<IsGenuine> {
  const document = readFileSync(new URL('../../docs/notifications.md', import.meta.url), 'utf8');
  const code = /```js\n([\s\S]*?)```/.exec(document)?.[1] ?? '';
  const loaded = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    isGenuine: IsGenuine;
  };
  return loaded.isGenuine;
}

function attachmentOf({ received }: Receiver): Record<string, unknown> | undefined {
  return (received[0]?.json['attachments'] as Record<string, unknown>[] | undefined)?.[0];
}

describe('Slack', () => {
  test('gets a text and one attachment in the format of incoming webhooks', async () => {
    receiver.answer({ body: 'ok' });
    const told = outgoing({ message: message({ words: 'a <b> & @here is "odd"', mode: 'observe' }) });
    expect(await open4.slack().send(told)).toEqual({ kind: 'delivered' });
    const [got] = receiver.received;
    expect([got?.path, got?.headers['content-type']]).toEqual([
      SLACK_PATH,
      'application/json; charset=utf-8',
    ]);
    expect(got?.json).toEqual({
      text: 'CRITICAL firing: near-liquidation, desk-1, BTC_PERP position 42',
      attachments: [
        {
          fallback: expect.stringContaining('CRITICAL firing'),
          color: '#d1242f',
          text: [
            'A &lt;b&gt; &amp; @\u200bhere is "odd".',
            'Observe mode: Breakwater records what it would do and sends no order.',
            '<https://wiki.example/near-liquidation?a=desk-1&amp;s=position%3A42&amp;m=BTC_PERP|Run &amp; book>',
          ].join('\n'),
          fields: [
            { title: 'account', value: 'desk-1', short: true },
            { title: 'rule', value: 'near-liquidation', short: true },
            { title: 'subject', value: 'BTC_PERP position 42', short: true },
            { title: 'severity', value: 'critical', short: true },
            { title: 'mode', value: 'observe', short: true },
            { title: 'since', value: '2026-01-31 12:29:40 UTC', short: true },
            { title: 'time', value: '2026-01-31 12:30:45 UTC', short: true },
            { title: 'labels', value: 'desk=arb', short: true },
          ],
          mrkdwn_in: [],
          footer: 'Breakwater',
          ts: Math.floor(AT / 1000),
        },
      ],
    });
  });

  test('shows a resolved episode in another colour and with its duration', async () => {
    await open4.slack().send(outgoing({ message: message({ kind: 'resolved', words: 'resolved' }) }));
    const attachment = attachmentOf(receiver);
    expect(attachment?.['color']).toBe('#2da44e');
    expect(attachment?.['fields']).toContainEqual({ title: 'lasted', value: '1 min 5 s', short: true });
  });

  test('no text can become Slack mark-up', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('<', '>', '&', '!', '@', 'a', ';', '|') }), (text) => {
        const escaped = escapeSlack(text);
        expect(escaped).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
        const back = escaped
          .replaceAll('\u200b', '')
          .replaceAll('&lt;', '<')
          .replaceAll('&gt;', '>')
          .replaceAll('&amp;', '&');
        expect(back).toBe(text);
      }),
    );
  });

  test.each([
    [{ status: 404, body: 'no_service' }, 'notFound', true],
    [{ status: 410, body: 'channel_is_archived' }, 'notFound', true],
    [{ status: 403, body: 'action_prohibited' }, 'rejected', true],
    [{ status: 403, body: 'invalid_token' }, 'unauthorized', true],
    [{ status: 400, body: 'invalid_payload' }, 'rejected', true],
    [{ status: 500, body: 'rollup_error' }, 'unavailable', false],
  ])('%j is %s', async (answer, reason, permanent) => {
    receiver.answer(answer);
    const words = `HTTP ${answer.status}: ${answer.body}`;
    expect(await open4.slack().send(outgoing())).toEqual({ kind: 'failed', reason, words, permanent });
  });
});

describe('Telegram', () => {
  const first = {
    'id-0': { kind: 'delivered', atMs: 1, saidAtMs: 1, final: false, reference: '55' },
  } as const;

  test('gets sendMessage with escaped HTML, in its chat and topic', async () => {
    receiver.answer({ body: FINE.telegram });
    const channel = open({ type: 'telegram', apiUrl: receiver.url, token: TOKEN, chat: '-1001', topic: 9 });
    const told = outgoing({ message: message({ words: 'a <b> & "c"' }), receipts: first });
    expect(await channel.send(told)).toEqual({ kind: 'delivered', reference: '77' });
    const [got] = receiver.received;
    expect([got?.method, got?.path, got?.headers['content-type']]).toEqual([
      'POST',
      `/bot${TOKEN}/sendMessage`,
      'application/json; charset=utf-8',
    ]);
    const { text, ...rest } = got?.json ?? {};
    expect(rest).toEqual({
      chat_id: -1001,
      message_thread_id: 9,
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
      disable_notification: false,
      reply_parameters: { message_id: 55, allow_sending_without_reply: true },
    });
    expect(String(text).split('\n').slice(0, 2)).toEqual([
      '<b>CRITICAL firing: near-liquidation, desk-1, BTC_PERP position 42</b>',
      'A &lt;b&gt; &amp; &quot;c&quot;.',
    ]);
    expect(text).toContain(
      '<a href="https://wiki.example/near-liquidation?a=desk-1&amp;s=position%3A42&amp;m=BTC_PERP">Run &amp; book</a>',
    );
  });

  test('a channel name stays a text; a resolved episode makes no sound', () => {
    const place = { chat: '@ops_room', topic: undefined, links: [] };
    const payload = telegramPayload(outgoing({ message: message({ kind: 'resolved' }) }), place);
    expect(payload).toMatchObject({ chat_id: '@ops_room', disable_notification: true });
    expect(payload).not.toHaveProperty('message_thread_id');
    expect(payload).not.toHaveProperty('reply_parameters');
  });

  test('words of any length: at most 4096 characters, every mark closed, nothing that is read as HTML', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 6000, unit: fc.constantFrom('<b>', '&amp;', '"', 'x'.repeat(50), '😀', ' ') }),
        fc.dictionary(fc.string({ maxLength: 20 }), fc.string({ maxLength: 300 }), { maxKeys: 20 }),
        fc.nat(60),
        (words, labels, count) => {
          const cures = Array.from({ length: count }, () => CURES[0] ?? expect.fail());
          const insteadOf = cures.map(() => ({ channel: 'phone', words: 'HTTP 404: chat not found' }));
          const told = outgoing({ message: message({ words, labels, cures }), insteadOf });
          const { text } = telegramPayload(told, {
            chat: '1',
            topic: undefined,
            links: LINKS,
          });
          const plain = String(text).replaceAll(/<\/?b>|<a href="[^"<>]*">|<\/a>/g, '');
          expect(plain).not.toMatch(/[<>"]|&(?!amp;|lt;|gt;|quot;)/);
          expect(plain.replaceAll(/&\w+;/g, '.').length).toBeLessThanOrEqual(4096);
          expect(String(text).match(/<b>/g)?.length).toBe(String(text).match(/<\/b>/g)?.length);
          expect(String(text).isWellFormed()).toBe(words.isWellFormed());
        },
      ),
      { numRuns: 60 },
    );
    expect(escapeHtml('<&>"')).toBe('&lt;&amp;&gt;&quot;');
  });

  const MOVED = {
    ok: false,
    error_code: 400,
    description: 'Bad Request: group chat was upgraded to a supergroup chat',
    parameters: { migrate_to_chat_id: -100777 },
  };

  test('follows a group that moved, once and from then on', async () => {
    receiver.answer({ status: 400, body: JSON.stringify(MOVED) }, { body: FINE.telegram });
    const channel = open4.telegram();
    expect(await channel.send(outgoing())).toEqual({ kind: 'delivered', reference: '77' });
    await channel.send(outgoing());
    expect(receiver.received.map(({ json }) => json['chat_id'])).toEqual([-1001, -100777, -100777]);
  });

  test('a group that moved has no buttons, as the bot obeys nobody in a chat that is not listed', async () => {
    receiver.answer({ status: 400, body: JSON.stringify(MOVED) }, { body: FINE.telegram });
    const commands = [{ chat: '-1001', scopes: ['control'] }];
    const place = { type: 'telegram', apiUrl: receiver.url, token: TOKEN, chat: '-1001', commands } as const;
    await open(place).send(outgoing());
    expect(receiver.received.map(({ json }) => Object.hasOwn(json, 'reply_markup'))).toEqual([true, false]);
  });

  test.each([
    [400, 'Bad Request: chat not found', 'notFound', true],
    [400, "Bad Request: can't parse entities", 'rejected', true],
    [401, 'Unauthorized', 'unauthorized', true],
    [403, 'Forbidden: bot was kicked from the group chat', 'unauthorized', true],
    [404, 'Not Found', 'unauthorized', true],
    [500, 'Internal Server Error', 'unavailable', false],
  ])('%i %s is %s', async (status, description, reason, permanent) => {
    receiver.answer({ status, body: JSON.stringify({ ok: false, error_code: status, description }) });
    expect(await open4.telegram().send(outgoing())).toMatchObject({ kind: 'failed', reason, permanent });
  });

  test('a 429 gives the time to wait; a page that is no Bot API answer is no success', async () => {
    const busy = {
      ok: false,
      error_code: 429,
      description: 'Too Many Requests: retry after 7',
      parameters: { retry_after: 7 },
    };
    receiver.answer({ status: 429, body: JSON.stringify(busy) });
    expect(await open4.telegram().send(outgoing())).toMatchObject({
      reason: 'rateLimited',
      permanent: false,
      retryAfterMs: 7000,
    });
    receiver.answer({ status: 200, body: '<html>log in</html>' });
    expect(await open4.telegram().send(outgoing())).toMatchObject({ reason: 'badReply', permanent: false });
  });
});

describe('Alertmanager', () => {
  const LABELS = {
    alertname: 'near-liquidation',
    account: 'desk-1',
    rule: 'near-liquidation',
    subject: 'position:42',
    market: 'BTC_PERP',
    severity: 'critical',
    mode: 'enforce',
    source: 'breakwater',
    desk: 'arb',
  };
  const posted = (index: number) =>
    (receiver.received[index]?.json as unknown as Record<string, unknown>[] | undefined)?.[0];

  test('gets an alert that holds until the reminder, and one that has ended, with the same labels', async () => {
    const channel = open4.alertmanager();
    await channel.send(outgoing({ message: message({ words: 'words' }) }));
    await channel.send(outgoing({ message: message({ kind: 'resolved', atMs: AT + 60_000 }) }));
    expect([receiver.received[0]?.path, receiver.received[0]?.headers.authorization]).toEqual([
      '/api/v2/alerts',
      `Bearer ${SECRET}`,
    ]);
    expect(posted(0)).toEqual({
      labels: LABELS,
      annotations: {
        summary: 'CRITICAL firing: near-liquidation, desk-1, BTC_PERP position 42',
        description: 'Words.',
      },
      startsAt: '2026-01-31T12:29:40.123Z',
      endsAt: '2026-01-31T12:32:15.123Z',
      generatorURL: 'https://wiki.example/near-liquidation?a=desk-1&s=position%3A42&m=BTC_PERP',
    });
    expect(posted(1)).toMatchObject({
      labels: LABELS,
      startsAt: '2026-01-31T12:29:40.123Z',
      endsAt: '2026-01-31T12:31:45.123Z',
    });
  });

  test('label names and values are valid for any labels of the config', async () => {
    const labels = { 'a-b': '1', '9x': '2', alertname: 'mine', empty: '', key: 'k' };
    await open4.alertmanager().send(outgoing({ message: message({ labels, subject: 'creditLine:BTC@1' }) }));
    expect(posted(0)?.['labels']).toMatchObject({
      a_b: '1',
      _9x: '2',
      alertname: 'near-liquidation',
      label_alertname: 'mine',
      label_key: 'k',
      asset: 'BTC',
    });
    expect(posted(0)?.['labels']).not.toHaveProperty('empty');
  });

  test('an end before the beginning, by a clock that was set back, is still a valid alert', async () => {
    await open4.alertmanager().send(outgoing({ message: message({ kind: 'resolved', atMs: AT - 120_000 }) }));
    expect(posted(0)?.['startsAt']).toBe(posted(0)?.['endsAt']);
  });

  test('one instance of a cluster is enough, none is not', async () => {
    const other = await startReceiver({ status: 503 });
    const urls = [other.url, receiver.url];
    const channel = open({ type: 'alertmanager', urls, expireAfterMs: 1 });
    expect(await channel.send(outgoing())).toEqual({ kind: 'delivered' });
    receiver.answer({ status: 400, body: '"start time must be before end time"' });
    expect(await channel.send(outgoing())).toMatchObject({ reason: 'unavailable', permanent: false });
    expect(other.received).toHaveLength(2);
    await other.close();
  });
});

describe('ntfy', () => {
  test('gets JSON at its root: topic, title, priority, a tag and the links', async () => {
    expect(await open4.ntfy().send(outgoing())).toEqual({ kind: 'delivered' });
    const [got] = receiver.received;
    expect([got?.method, got?.path, got?.headers['authorization']]).toEqual([
      'POST',
      '/',
      `Bearer ${SECRET}`,
    ]);
    const link = expect.stringContaining('https://wiki.example');
    expect(got?.json).toEqual({
      topic: TOPIC,
      title: 'CRITICAL firing: near-liquidation, desk-1, BTC_PERP position 42',
      message: expect.stringContaining('LiquidationDistance 4.1 % is below 5 %'),
      priority: 5,
      tags: ['rotating_light'],
      click: link,
      actions: expect.arrayContaining([{ action: 'view', label: expect.any(String), url: link }]),
    });
  });

  test('a resolved notice has low priority, and a long one stays a message', async () => {
    const words = 'é'.repeat(5000);
    await open4.ntfy().send(outgoing({ message: message({ kind: 'resolved', words }) }));
    const [got] = receiver.received;
    const { message: text, ...rest } = (got?.json ?? {}) as Record<string, string>;
    expect(rest).toMatchObject({ priority: 3, tags: ['white_check_mark'] });
    expect(Buffer.byteLength(text ?? '')).toBeLessThanOrEqual(4000);
    expect(text?.length).toBeGreaterThan(1000);
  });

  test.each([
    [401, 'unauthorized', true],
    [403, 'unauthorized', true],
    [413, 'rejected', true],
    [507, 'unavailable', false],
  ])('HTTP %i is %s', async (status, reason, permanent) => {
    receiver.answer({ status, body: '{"code":40101,"error":"no"}' });
    expect(await open4.ntfy().send(outgoing())).toMatchObject({ kind: 'failed', reason, permanent });
  });
});

/** The secrets of each channel; an answer may repeat any of them. */
const SECRETS: Readonly<Record<Kind, readonly string[]>> = {
  webhook: [SECRET],
  slack: [SLACK_PATH.slice(1), 'XXXXSECRETXXXX'],
  telegram: [TOKEN, 'AAE-secret_bot_token'],
  ntfy: [TOPIC, SECRET],
  alertmanager: [SECRET],
  discord: [DISCORD_PATH.slice(1), 'SECRET_token.1'],
  teams: [TEAMS_PATH.slice(1), TEAMS_SIGNATURE, 'a1.SECRET'],
  pagerduty: [ROUTING_KEY],
  opsgenie: [GENIE_KEY],
};

describe.each(KINDS)('%s, on failures', (kind) => {
  const send = async (timeoutMs?: number): Promise<DeliveryAttempt> =>
    await open4[kind](timeoutMs).send(outgoing());

  test.each([
    ['reset', 'connectionLost', false],
    [{ status: 502, body: 'bad gateway' }, 'unavailable', false],
    [{ status: 302, headers: { location: 'http://127.0.0.1:1/' } }, 'rejected', true],
  ] as const)('%j is %s', async (answer, reason, permanent) => {
    receiver.answer(answer);
    expect(await send()).toMatchObject({ kind: 'failed', reason, permanent });
    expect(receiver.received).toHaveLength(1);
  });

  test('a receiver that takes the message and never answers is a timeout', async () => {
    receiver.answer('silent');
    // On a busy machine a short time can be over before the message arrives.
    let attempts = 0;
    for (let timeoutMs = 100; receiver.received.length === 0; timeoutMs *= 2) {
      const reason = 'timeout';
      expect(await send(timeoutMs)).toMatchObject({ kind: 'failed', reason, permanent: false });
      attempts += 1;
    }
    expect(receiver.received.length).toBeLessThanOrEqual(attempts);
  });

  test('429 is obeyed in seconds and as a date', async () => {
    receiver.answer(
      { status: 429, headers: { 'retry-after': '3' } },
      { status: 429, headers: { 'retry-after': new Date(AT + 5000).toUTCString() } },
      { status: 429 },
    );
    const waits = [await send(), await send(), await send()].map((attempt) =>
      attempt.kind === 'failed' ? [attempt.reason, attempt.retryAfterMs] : [],
    );
    expect(waits).toEqual([
      ['rateLimited', 3000],
      ['rateLimited', 4877],
      ['rateLimited', 1000],
    ]);
  });

  test('a missing receiver is connectFailed', async () => {
    const gone = receiver.url;
    await receiver.close();
    receiver = await startReceiver();
    const dead: Channel = open(
      {
        webhook: { type: 'webhook', url: gone },
        slack: { type: 'slack', url: gone },
        telegram: { type: 'telegram', apiUrl: gone, token: TOKEN, chat: '1' },
        ntfy: { type: 'ntfy', serverUrl: gone, topic: TOPIC },
        alertmanager: { type: 'alertmanager', urls: [gone], expireAfterMs: 1 },
        discord: { type: 'discord', url: gone },
        teams: { type: 'teams', url: gone },
        pagerduty: { type: 'pagerduty', apiUrl: gone, routingKey: ROUTING_KEY },
        opsgenie: { type: 'opsgenie', apiUrl: gone, apiKey: GENIE_KEY },
      }[kind] as never,
    );
    expect(await dead.send(outgoing())).toMatchObject({ reason: 'connectFailed', permanent: false });
  });

  test('an endless reply is cut off, and an abort is passed on', async () => {
    receiver.answer({ status: 500, body: 'x '.repeat(500_000) });
    expect(await send()).toMatchObject({ reason: 'unavailable' });
    receiver.answer('silent');
    const controller = new AbortController();
    const sending = open4[kind]().send(outgoing(), controller.signal);
    setTimeout(() => controller.abort(new Error('stop')), 20);
    await expect(sending).rejects.toThrow('stop');
  });

  test('no secret is in its results, whatever the receiver repeats, nor in an inspection of the channel', async () => {
    const secrets = SECRETS[kind];
    const echo = `bad: ${secrets.join(' ')}`;
    const body = kind === 'telegram' ? JSON.stringify({ ok: false, description: echo }) : echo;
    for (const status of [400, 401, 403, 404, 429, 500]) {
      receiver.answer({ status, body });
      const shown = inspect(await send(), { depth: 9 });
      for (const secret of secrets) expect(shown).not.toContain(secret);
    }
    const channel = open4[kind]();
    for (const shown of [inspect(channel, { depth: 9, showHidden: true }), JSON.stringify(channel)]) {
      for (const secret of secrets) expect(shown).not.toContain(secret);
    }
  });
});

test('config and docs name the pagers, and the channels that people read', () => {
  const email = {
    type: 'email',
    serverUrl: 'smtp://127.0.0.1:9',
    from: 'a@desk.example',
    to: ['b@desk.example'],
  } as const;
  const others = [open(email), createLogChannel(() => undefined)];
  const channels = KINDS.map((kind) => open4[kind]()).concat(others);
  const kindsFor = (wanted: Channel['audience']): readonly string[] =>
    channels.flatMap(({ type, audience }) => (audience === wanted ? [type] : [])).toSorted();
  const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  for (const file of ['config/breakwater.example.yaml', 'config/schema.json']) {
    const [, pagers = ''] = /all but those that get people up \(([^)]*)\)/.exec(read(file)) ?? [];
    expect(pagers.split(', ').toSorted()).toEqual(kindsFor('pager'));
  }
  const grouped = /^and people \(([^)]*)\) get one for all accounts/m;
  const [, people = ''] = grouped.exec(read('docs/notifications.md')) ?? [];
  expect(people.toLowerCase().replace('e-mail', 'email').split(', ').toSorted()).toEqual(kindsFor('people'));
});

/** A webhook address may have any form, so it is redacted only as a known secret. */
const WITH_A_FORM = KINDS.filter((kind) => kind !== 'webhook');

test.each(WITH_A_FORM)('%s: an address with a secret is redacted by its form', async (kind) => {
  receiver.answer({ status: 200, body: FINE[kind] });
  await open4[kind]().send(outgoing());
  const { path } = receiver.received[0] ?? expect.fail();
  const isSecret = SECRETS[kind].some((secret) => path.includes(secret));
  const shown = createRedactor().text(`cannot reach https://receiver.example${path} now`);
  expect([path, shown.includes(path)]).toEqual([path, !isSecret]);
});

describe('the wording', () => {
  test('of a credit line states the cure and that the daemon cannot repay, but not once it is resolved', () => {
    const creditLine = message({
      subject: 'creditLine:USDT@1',
      cures: CURES,
      words: 'currentLtv 72 % is above 70 %',
    });
    const text = plainText(wordingOf(outgoing({ message: creditLine }), []));
    expect(text.split('\n').slice(0, 5)).toEqual([
      'CRITICAL firing: near-liquidation, desk-1, credit line in USDT',
      'CurrentLtv 72 % is above 70 %.',
      'The loan-to-value is 72 %.',
      'To bring it to 60 %: repay 166.66666667 USDT, or add collateral worth 277.77777778 USDT.',
      'The daemon cannot repay: somebody has to.',
    ]);
    const over = plainText(wordingOf(outgoing({ message: { ...creditLine, kind: 'resolved' } }), []));
    expect(over).not.toContain('repay');
  });

  test('names receivers that could not be reached, and what was never sent here', () => {
    const told = outgoing({
      message: message({ kind: 'resolved' }),
      beginningUntold: true,
      insteadOf: [{ channel: 'phone', words: 'HTTP 403: blocked' }],
    });
    const text = plainText(wordingOf(told, []));
    expect(text).toContain('It began at 2026-01-31 12:29:40 UTC; that could not be told here.');
    expect(text).toContain('Told here because the channel phone could not be reached (HTTP 403: blocked).');
  });
});

/** The text as the receiver shows it. */
interface Reading {
  /** Whether tags in it are marks. */
  readonly readsTags: boolean;
  /** How an `&` has to be sent to be shown. */
  readonly ampersand: '&' | '&amp;';
  /** The digest as people read it. */
  readonly digest: (json: unknown) => string;
}

const READING: Readonly<Record<Kind, Reading>> = {
  webhook: { readsTags: false, ampersand: '&', digest: (json) => SHOWN.webhook(json).join('\n') },
  slack: { readsTags: true, ampersand: '&amp;', digest: (json) => SHOWN.slack(json).join('\n') },
  telegram: { readsTags: true, ampersand: '&amp;', digest: (json) => SHOWN.telegram(json).join('\n') },
  ntfy: { readsTags: false, ampersand: '&', digest: (json) => SHOWN.ntfy(json).join('\n') },
  alertmanager: { readsTags: false, ampersand: '&', digest: (json) => SHOWN.alertmanager(json).join('\n') },
  discord: {
    readsTags: true,
    ampersand: '&',
    // Its clients remove the backslashes.
    digest: (json) => SHOWN.discord(json).join('\n').replaceAll('\\', ''),
  },
  teams: { readsTags: true, ampersand: '&', digest: (json) => teamsTexts(json).join('\n') },
  pagerduty: { readsTags: false, ampersand: '&', digest: (json) => SHOWN.pagerduty(json).join('\n') },
  opsgenie: { readsTags: true, ampersand: '&', digest: (json) => SHOWN.opsgenie(json).join('\n') },
};

describe('text from outside', () => {
  const HOSTILE =
    'BTC[pay](https://evil.example/p) ![x](//evil.example/i) <https://evil.example|pay> evil.example t.me/evil @everyone <!channel> <a href="https://evil.example">x</a> [r]: evil.example\n# Resolved\u2028\u202edlrow';

  test.each(KINDS)('%s: makes no link, mention or line of its own', async (kind) => {
    receiver.answer({ status: 200, body: FINE[kind] });
    const told = outgoing({
      message: message({ market: HOSTILE, words: `the exchange says ${HOSTILE}; paused by ${HOSTILE}` }),
      insteadOf: [{ channel: 'phone', words: HOSTILE }],
    });
    expect(await open4[kind]().send(told)).toMatchObject({ kind: 'delivered' });
    const shown = SHOWN[kind](receiver.received[0]?.json);
    expect(shown.length).toBeGreaterThan(0);
    for (const text of shown) {
      expect(text).toContain('BTC');
      // Everything that receivers turn into links and mentions; our own links are removed before.
      expect(text).not.toMatch(/:\/\/evil|\.example|\.me\b|\]\(|\]:|@everyone|\u2028|\u202e|^# /m);
      if (READING[kind].readsTags) expect(text).not.toMatch(/(?<!\\)<[!ah]/);
    }
  });
});

describe('links of the config', () => {
  const LONG = [{ title: 'Status page', url: `https://bw.example/${'x'.repeat(450)}{page}` }];

  test.each(KINDS)('%s: gets the link whole', async (kind) => {
    receiver.answer({ status: 200, body: FINE[kind] });
    await open4[kind](undefined, LONG).send(outgoing());
    expect(JSON.stringify(receiver.received[0]?.json)).toContain(
      `${'x'.repeat(450)}/accounts/desk-1/positions/42`,
    );
  });

  test.each(KINDS)('%s: the link of a notice about many accounts is not cut', async (kind) => {
    receiver.answer({ status: 200, body: FINE[kind] });
    const along = Array.from({ length: 60 }, (_, index) =>
      message({ accountId: `desk-${index}`, words: 'nothing could be read, '.repeat(8) }),
    );
    await open4[kind](undefined, LONG).send(outgoing({ along }));
    expect(JSON.stringify(receiver.received[0]?.json)).toMatch(/x{450}\/(?!accounts)/);
  });

  test('a message says the command that acknowledges it', () => {
    const doing = { state: 'calm', cause: 'nothing', words: 'calm', orders: [], next: 'nothing' };
    expect(wordingOf(outgoing({ message: message({ doing }) }), LINKS).lines).toContain(
      'To acknowledge: breakwater acknowledge --rule near-liquidation --account desk-1',
    );
  });
});

describe('buttons', () => {
  const targets = (changes: Partial<Message>, along: readonly Message[] = []) =>
    buttonTargets(message(changes), along).map(({ target }) => target);

  test('name the episode and stage of the notice; a repeated notice has the same', () => {
    const { accountId, ruleId, subject } = message();
    const [target] = targets({});
    expect(target).toEqual({ kind: 'acknowledge', accountId, ruleId, subject, episode: 7, stage: 0 });
    const own = { kind: 'reminder', ruleId: 'built-in/blind', subject: 'account', episode: 0 } as const;
    expect(targets(own)[0]).toMatchObject({ episode: AT - 65_000 });
    expect(targets({}, [message({ accountId: 'desk-2', atMs: AT + 5 })])).toMatchObject([
      { kind: 'acknowledgeAll', ruleId: 'near-liquidation', saidAtMs: AT + 5 },
    ]);
  });

  test('are under open notices and questions only, and under none without a seal', () => {
    const reference = '4c604367-1';
    const approval = { reference, untilMs: AT, withoutAnswer: 'hold', orders: [] } as const;
    expect(targets({ kind: 'approval', approval })).toMatchObject([
      { kind: 'answer', accountId: 'desk-1', decision: 'approve', questionId: '4c604367', revision: 1 },
      { kind: 'answer', accountId: 'desk-1', decision: 'veto', questionId: '4c604367', revision: 1 },
    ]);
    expect(targets({ kind: 'approval' })).toEqual([]);
    for (const kind of ['resolved', 'alarm', 'test', 'digest'] as const)
      expect(targets({ kind })).toEqual([]);
    expect(targets({ accountId: '' })).toEqual([]);
    expect(targets({ isUnproven: true })).toEqual([]);
    expect(targets({ kind: 'approval', approval, isUnproven: true })).toEqual([]);
    expect(targets({}, [message({ accountId: 'desk-2', isUnproven: true })])).toEqual([]);
  });
});

describe('a daily digest', () => {
  const quiet = digestAccount({ accountId: '', records: [], sightings: [] }, DAY);
  const accounts = Array.from({ length: 1_000 }, (_, index) =>
    Object.assign({}, quiet, {
      accountId: `desk-${index}`,
      cameNear: true,
      nearest: sighting({ name: 'R&D_PERP', distance: (index + 1) / 100_000 }),
    }),
  );
  const heads = accounts.map(({ accountId: chain }, seq) => ({
    chain,
    head: { seq, hash: 'a1'.repeat(32) },
  }));
  const about = { versions: { breakwater: '1.2.3', node: 'v24.0.0' }, notes: [], heads };
  const due = { name: '2026-01-31T08:00', atMs: DAY.toMs };
  const notice = digestNotice(digestOf(accounts, DAY, about), due, { channels: [] });

  test.each(KINDS)(
    '%s: a digest of a thousand accounts arrives whole, and counts what it leaves out',
    async (kind) => {
      receiver.answer({ status: 200, body: FINE[kind] });
      expect(await open4[kind]().send(outgoing({ message: notice }))).toMatchObject({ kind: 'delivered' });
      const { json, raw } = receiver.received[0] ?? expect.fail();
      const shown = READING[kind].digest(json);
      expect(shown).toContain(
        'Daily digest, 2026-01-30 08:00 to 2026-01-31 08:00 UTC: 1000 of 1000 accounts came near',
      );
      expect(shown).toContain(`- desk-0: R${READING[kind].ampersand}D_PERP was 0.001 % from liquidation`);
      expect(shown).toMatch(/- and 9\d\d more\n/);
      const [, chain] = /^- desk-(\d+) \1:(?:a1){32}$/m.exec(shown) ?? [];
      expect(chain).toBe(String(Math.floor(DAY.toMs / 86_400_000) % 1_000));
      expect(shown).toContain('Breakwater 1.2.3, Node v24.0.0.');
      expect(raw).not.toContain('…');
      expect(shown).not.toMatch(/observe mode:|firing|subject/i);
    },
  );

  test('is its own alert for an Alertmanager, and of no rule', async () => {
    await open4.alertmanager().send(outgoing({ message: notice }));
    const [{ labels } = {}] = (receiver.received[0]?.json ?? []) as unknown as readonly Json[];
    expect(labels).toEqual({
      alertname: 'BreakwaterDigest',
      key: 'digest/2026-01-31T08:00',
      subject: 'account',
      severity: 'info',
      source: 'breakwater',
    });
  });

  test('passes through the queue unchanged', () => {
    const read = readPayload(notifyJobSchema, JSON.parse(JSON.stringify({ version: 1, notice })));
    expect(read).toEqual({ ok: true, payload: { version: 1, notice } });
  });
});

/** The text of each block. */
function teamsTexts(json: unknown): readonly string[] {
  const { attachments } = json as { attachments: readonly { content: { body: readonly Json[] } }[] };
  return (attachments[0]?.content.body ?? []).map(({ inlines }) =>
    (inlines as readonly { text: string }[]).map(({ text }) => text).join(''),
  );
}

type Json = Readonly<Record<string, unknown>>;
/** The texts that people see. */
const SHOWN: Readonly<Record<Kind, (json: unknown) => readonly string[]>> = {
  webhook: (json) => {
    const { title, text, subjectWords } = json as Record<string, string>;
    return [title ?? '', withoutLinks(text ?? ''), subjectWords ?? ''];
  },
  slack: (json) => {
    const { text, attachments } = json as { text: string; attachments: readonly Json[] };
    const [{ fallback, text: body, fields } = {}] = attachments as readonly Record<string, string>[];
    const values = (fields as unknown as readonly { title: string; value: string }[])
      .filter(({ title }) => title === 'subject')
      .map(({ value }) => value);
    return [text, fallback ?? '', withoutLinks(body ?? ''), ...values];
  },
  telegram: (json) => [withoutLinks((json as { text: string }).text)],
  ntfy: (json) => {
    const { title, message: text } = json as Record<string, string>;
    return [title ?? '', text ?? ''];
  },
  alertmanager: (json) => {
    const [{ annotations } = { annotations: {} }] = json as readonly {
      annotations: Record<string, string>;
    }[];
    return [annotations['summary'] ?? '', annotations['description'] ?? ''];
  },
  discord: (json) => {
    const { content, embeds } = json as { content: string; embeds: readonly unknown[] };
    const [{ description, fields } = { description: '', fields: [] }] = embeds as readonly {
      description: string;
      fields: readonly { name: string; value: string }[];
    }[];
    const values = fields.filter(({ name }) => name === 'subject').map(({ value }) => value);
    return [content, description.replace(/\[Run & book\]\(.*\)$/, ''), ...values];
  },
  teams: (json) => teamsTexts(json).filter((text) => text.includes('BTC')),
  pagerduty: (json) => {
    const { payload } = json as { payload: Record<string, string> };
    const { text = '', subject = '' } = payload['custom_details'] as unknown as Record<string, string>;
    return [payload['summary'] ?? '', payload['component'] ?? '', text, subject];
  },
  opsgenie: (json) => {
    const { message: title = '', description = '', entity = '', details } = json as Record<string, string>;
    const { subject = '' } = details as unknown as Record<string, string>;
    return [title, withoutLinks(description), entity, subject];
  },
};

/** Without the links that the config asks for. */
function withoutLinks(text: string): string {
  return text.replaceAll(/<?(a href=")?https:\/\/wiki\.example[^\s]*/g, '');
}

test('unknown figures are called unknown, never 0', () => {
  const figures = {
    kind: 'position',
    market: 'BTC_PERP',
    direction: null,
    sizeBase: null,
    notional: null,
    markPrice: null,
    liquidationPrice: null,
    liquidationDistance: null,
    minutesToLiquidation: null,
  } as const;
  const { title, lines } = wordingOf(outgoing({ message: message({ figures }) }), []);
  expect(title).toBe(
    'CRITICAL firing: desk-1 BTC_PERP side unknown, distance to liquidation unknown (near-liquidation)',
  );
  expect(lines).toContain(
    'Side unknown, size unknown BTC_PERP, worth unknown; mark unknown, liquidation price unknown, distance unknown.',
  );
  expect(lines).toContain('Time to liquidation: unknown.');
  expect(lines.join(' ').replaceAll(/desk-1|4\.1 %|5 %/g, '')).not.toMatch(/\d/);
});

test('the time to liquidation is worded by the swings of prices, not by their present speed', () => {
  const figures = (minutesToLiquidation: number) => ({
    kind: 'position' as const,
    market: 'BTC_PERP',
    direction: 'long' as const,
    sizeBase: null,
    notional: null,
    markPrice: null,
    liquidationPrice: null,
    liquidationDistance: null,
    minutesToLiquidation,
  });
  const said = (minutes: number): string =>
    wordingOf(outgoing({ message: message({ figures: figures(minutes) }) }), []).lines.join(' ');
  expect(said(5.4)).toContain(
    'Time to liquidation: as likely as not within about 5 min, if prices go on swinging as of late, up or down.',
  );
  expect(said(1e9)).toContain('more than 48 h, if prices go on swinging as of late, up or down.');
  expect(said(5.4) + said(1e9)).not.toContain('speed');
});

test('a command can be typed as shown, with any account id', () => {
  const doing = { state: 'calm', cause: 'nothing', words: 'calm', orders: [], next: 'nothing' };
  const { lines } = wordingOf(outgoing({ message: message({ accountId: "desk.one's; rm", doing }) }), []);
  expect(lines).toContain("To see it: breakwater status --account 'desk.one'\\''s; rm'");
});
