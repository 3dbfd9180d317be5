import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Channel, DeliveryAttempt } from '../../src/notify/channel.ts';
import { escapeDiscord } from '../../src/notify/discord.ts';
import { closeOpened, open, outgoing } from './opened.ts';
import { type Answer, message, type Received, type Receiver, startReceiver } from './receiver.ts';

const ID = '223704706495545344';
const TOKEN = '3d89bb7572e0fb30d8128367b3b1b44fecd1726de135cbe28a41f8b2f777c372ba29';

interface Embed {
  readonly description: string;
  readonly color: number;
  readonly fields: readonly { readonly name: string; readonly value: string; readonly inline: boolean }[];
  readonly footer: { readonly text: string };
  readonly timestamp: string;
}

interface Posted {
  readonly content: string;
  readonly embeds: readonly Embed[];
}

/** `POST /webhooks/{id}/{token}` as discord.com/developers/docs documents it, with a limit of this many messages. */
function webhooks(limit = Infinity): (request: Received) => Answer {
  let taken = 0;
  return ({ path, json }) => {
    const url = new URL(path, 'https://discord.example');
    const [, id, token] = /^\/api\/webhooks\/([^/]*)\/([^/]*)$/.exec(url.pathname) ?? [];
    if (id !== ID) return reply(404, { message: 'Unknown Webhook', code: 10_015 });
    if (token !== TOKEN) return reply(401, { message: 'Invalid Webhook Token', code: 50_027 });
    if (!isWithinBounds(json as unknown as Posted)) {
      return reply(400, { message: 'Invalid Form Body', code: 50_035, errors: {} });
    }
    if (++taken > limit) {
      const body = { message: 'You are being rate limited.', retry_after: 1.337, global: false };
      return reply(429, body, { 'retry-after': '2', 'x-ratelimit-scope': 'user' });
    }
    return url.searchParams.get('wait') === 'true' ? reply(200, { id: '1', type: 0 }) : { status: 204 };
  };
}

function reply(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } };
}

function isWithinBounds({ content, embeds }: Posted): boolean {
  const texts = embeds.flatMap(({ description, fields, footer }) => [
    description,
    footer.text,
    ...fields.flatMap(({ name, value }) => [name, value]),
  ]);
  return (
    content.length <= 2000 &&
    embeds.length <= 10 &&
    texts.join('').length <= 6000 &&
    embeds.every(
      ({ description, color, fields, timestamp }) =>
        description.length <= 4096 &&
        Number.isInteger(color) &&
        !Number.isNaN(Date.parse(timestamp)) &&
        fields.length <= 25 &&
        fields.every(
          ({ name, value }) => name !== '' && name.length <= 256 && value !== '' && value.length <= 1024,
        ),
    )
  );
}

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
  receiver.behave(webhooks());
});
afterEach(async () => {
  await closeOpened();
  await receiver.close();
});

function discord(path = `/api/webhooks/${ID}/${TOKEN}`): Channel {
  return open({ type: 'discord', url: `${receiver.url}${path}` });
}

async function send(changes: Parameters<typeof message>[0], channel = discord()): Promise<DeliveryAttempt> {
  return await channel.send(outgoing({ message: message(changes) }));
}

const DELIVERED = { kind: 'delivered' };

describe('Discord', () => {
  test('gets a text and one embed, mentions nobody, and confirms', async () => {
    expect(await send({ words: 'a *b* & <@1> [c](https://x.example) @everyone' })).toEqual(DELIVERED);
    const [got] = receiver.received;
    expect([got?.path, got?.headers['content-type']]).toEqual([
      `/api/webhooks/${ID}/${TOKEN}?wait=true`,
      'application/json; charset=utf-8',
    ]);
    expect(got?.json).toEqual({
      content: 'CRITICAL firing: near-liquidation, desk-1, BTC\\_PERP position 42',
      embeds: [
        {
          description: [
            'A \\*b\\* & \\<@\u200b1> \\[c\\]\u200b(https:\u200b//x.\u200bexample) @\u200beveryone.',
            '[Run & book](<https://wiki.example/near-liquidation?a=desk-1&s=position%3A42&m=BTC_PERP>)',
          ].join('\n'),
          color: 0xd1_24_2f,
          fields: [
            { name: 'account', value: 'desk-1', inline: true },
            { name: 'rule', value: 'near-liquidation', inline: true },
            { name: 'subject', value: 'BTC\\_PERP position 42', inline: true },
            { name: 'severity', value: 'critical', inline: true },
            { name: 'mode', value: 'enforce', inline: true },
            { name: 'since', value: '2026-01-31 12:29:40 UTC', inline: true },
            { name: 'time', value: '2026-01-31 12:30:45 UTC', inline: true },
            { name: 'labels', value: 'desk=arb', inline: true },
          ],
          footer: { text: 'Breakwater' },
          timestamp: '2026-01-31T12:30:45.123Z',
        },
      ],
      allowed_mentions: { parse: [] },
    });
  });

  test('uses the thread in its address; a resolved notice is green and makes no sound', async () => {
    const thread = discord(`/api/webhooks/${ID}/${TOKEN}?thread_id=77`);
    expect(await send({ kind: 'resolved' }, thread)).toEqual(DELIVERED);
    const [got] = receiver.received;
    expect(got?.path).toBe(`/api/webhooks/${ID}/${TOKEN}?thread_id=77&wait=true`);
    expect(got?.json).toMatchObject({ flags: 4096, embeds: [{ color: 0x2d_a4_4e }] });
  });

  test('no text can become Markdown, and all of it is shown', () => {
    const unit = fc.constantFrom('1.', ...'\\ ` * _ ~ | < > [ ] ( ) # - + 1 . @ a :'.split(' '), ' ');
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        const escaped = escapeDiscord(text);
        // Discord shows a mark behind a backslash as the mark alone.
        expect(escaped.replaceAll(/\\([^0-9A-Za-z\s])/g, '$1')).toBe(text);
        const open = escaped.replaceAll(/\\[^0-9A-Za-z\s]/g, '');
        expect(open).not.toMatch(/[\\`*_~|<[\]]/);
        expect(escaped).not.toMatch(/^\s*([#>+-]|\d+\.)/);
      }),
    );
  });

  test('texts of any length stay within the bounds', async () => {
    const unit = fc.constantFrom('x'.repeat(50), '😀', '*', '\\', '[', ' ');
    const long = fc.string({ minLength: 1, maxLength: 4000, size: 'max', unit });
    await fc.assert(
      fc.asyncProperty(long, long, fc.nat(60), async (words, text, count) => {
        const insteadOf = Array.from({ length: count }, () => ({ channel: 'phone', words: text }));
        const labels = { a: text };
        const told = message({ words, subject: `account${text}`, market: text, labels });
        expect(await discord().send(outgoing({ message: told, insteadOf }))).toEqual(DELIVERED);
        expect(receiver.received.at(-1)?.raw.isWellFormed()).toBe(true);
      }),
      { numRuns: 30 },
    );
    expect(await send({ words: '*'.repeat(5000) })).toEqual(DELIVERED);
    const { embeds } = (receiver.received.at(-1)?.json ?? {}) as { readonly embeds?: readonly Embed[] };
    expect(embeds?.[0]?.description).toMatch(/^(\\\*){300,}…\n.*Run & book/);
  });

  test('a refusal by limit gives the wait in fractions of a second', async () => {
    receiver.behave(webhooks(1));
    expect(await send({})).toEqual(DELIVERED);
    expect(await send({})).toEqual({
      kind: 'failed',
      reason: 'rateLimited',
      words: 'HTTP 429: You are being rate limited.',
      permanent: false,
      retryAfterMs: 1337,
    });
    receiver.answer({ status: 429, headers: { 'retry-after': '30' }, body: '<html>error 1015</html>' });
    expect(await send({})).toMatchObject({ reason: 'rateLimited', retryAfterMs: 30_000 });
    receiver.answer(reply(429, { retry_after: 86_400 }));
    expect(await send({})).toMatchObject({ reason: 'rateLimited', retryAfterMs: 300_000 });
  });

  test('an address that is gone or wrong is reported', async () => {
    expect(await send({}, discord('/api/webhooks/1/x'))).toEqual({
      kind: 'failed',
      reason: 'notFound',
      words: 'HTTP 404: Unknown Webhook (10015)',
      permanent: true,
    });
    const wrong = await send({}, discord(`/api/webhooks/${ID}/x`));
    expect(wrong).toMatchObject({ reason: 'unauthorized', words: 'HTTP 401: Invalid Webhook Token (50027)' });
  });

  test.each([
    [reply(400, { message: 'Invalid Form Body', code: 50_035 }), 'rejected', true],
    [reply(403, { message: 'Missing Access', code: 50_001 }), 'unauthorized', true],
    [{ status: 503, body: '<html>' }, 'unavailable', false],
    [{ status: 200, body: '<html>log in</html>' }, 'badReply', false],
    [{ status: 202, body: '{"id":"1"}' }, 'badReply', false],
  ])('%j is %s', async (answer, reason, permanent) => {
    receiver.answer(answer);
    expect(await send({})).toMatchObject({ kind: 'failed', reason, permanent });
  });
});
