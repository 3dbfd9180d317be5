import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Channel, DeliveryAttempt } from '../../src/notify/channel.ts';
import { closeOpened, open, outgoing } from './opened.ts';
import { type Answer, message, type Received, type Receiver, startReceiver } from './receiver.ts';

const KEY = 'eb243592-faa2-4ba2-a551q-1afdf565c889';

interface Alert {
  readonly alias: string;
  readonly message: string;
  status: 'open' | 'closed';
  count: number;
  note?: string;
}

interface Created {
  readonly alias: string;
  readonly message: string;
  readonly description: string;
  readonly priority: string;
  readonly entity: string;
  readonly source: string;
  readonly tags: readonly string[];
  readonly details: Readonly<Record<string, string>>;
}

/**
 * The Alert API as docs.opsgenie.com documents it: a key in the header, bounds, one open alert per alias, and a 202 for
 * every request, even one without effect.
 */
class AlertApi {
  readonly alerts: Alert[] = [];

  answer({ path, headers, json }: Received): Answer {
    if (headers.authorization !== `GenieKey ${KEY}`) return reply(401, { message: 'Could not authenticate' });
    const url = new URL(path, 'https://api.opsgenie.com');
    const [, alias] = /^\/v2\/alerts\/([^/]+)\/close$/.exec(url.pathname) ?? [];
    if (alias !== undefined) {
      if (url.searchParams.get('identifierType') !== 'alias') {
        return reply(422, { message: 'Request body is not processable. Please check the errors.' });
      }
      this.#close(alias, json as { note: string });
    } else if (url.pathname === '/v2/alerts') {
      const errors = mistakesIn(json as unknown as Created);
      if (Object.keys(errors).length > 0) {
        return reply(422, { message: 'Request body is not processable. Please check the errors.', errors });
      }
      this.#create(json as unknown as Created);
    } else {
      return reply(404, { message: 'There is no such resource' });
    }
    return reply(202, { result: 'Request will be processed', took: 0.302 });
  }

  #create(created: Created): void {
    const known = this.#open(created.alias);
    if (known !== undefined) known.count++;
    else this.alerts.push({ alias: created.alias, message: created.message, status: 'open', count: 1 });
  }

  #close(alias: string, { note }: { readonly note: string }): void {
    const known = this.#open(alias);
    if (known === undefined || note.length > 25_000) return;
    known.status = 'closed';
    known.note = note;
  }

  #open(alias: string): Alert | undefined {
    return this.alerts.find((one) => one.alias === alias && one.status === 'open');
  }
}

function reply(status: number, body: Readonly<Record<string, unknown>>): Answer {
  const whole = { ...body, requestId: '43a29c5c-3dbf-4fa4-9c26-f4f71023e120' };
  return { status, body: JSON.stringify(whole), headers: { 'content-type': 'application/json' } };
}

function mistakesIn(created: Created): Readonly<Record<string, string>> {
  const { alias, message: text, description, priority, entity, source, tags, details } = created;
  const wrong: Readonly<Record<string, boolean>> = {
    message: text === '' || text.length > 130,
    alias: alias.length > 512,
    description: description.length > 15_000,
    priority: !/^P[1-5]$/.test(priority),
    entity: entity.length > 512,
    source: source.length > 100,
    tags: tags.length > 20 || tags.some((tag) => tag.length > 50),
    details: Object.entries(details).flat().join('').length > 8000,
  };
  const fields = Object.entries(wrong).flatMap(([field, isWrong]) => (isWrong ? [field] : []));
  return Object.fromEntries(fields.map((field): [string, string] => [field, `${field} is not valid.`]));
}

let receiver: Receiver;
let api: AlertApi;
beforeEach(async () => {
  receiver = await startReceiver();
  api = new AlertApi();
  receiver.behave((request) => api.answer(request));
});
afterEach(async () => {
  await closeOpened();
  await receiver.close();
});

function opsgenie(apiKey = KEY, path = ''): Channel {
  return open({ type: 'opsgenie', apiUrl: `${receiver.url}${path}`, apiKey });
}

async function send(changes: Parameters<typeof message>[0], channel = opsgenie()): Promise<DeliveryAttempt> {
  return await channel.send(outgoing({ message: message(changes) }));
}

const DELIVERED = { kind: 'delivered' };
const LINK = 'Run & book: https://wiki.example/near-liquidation?a=desk-1&s=position%3A42&m=BTC_PERP';

describe('Opsgenie', () => {
  test('gets an alert with all details, and a note at its end', async () => {
    expect(await send({ words: 'a <b> & 1 < 2 </b>', mode: 'observe' })).toEqual(DELIVERED);
    expect(await send({ kind: 'resolved', words: 'resolved' })).toEqual(DELIVERED);
    const [created, closed] = receiver.received;
    expect([created?.path, created?.headers['authorization'], created?.headers['content-type']]).toEqual([
      '/v2/alerts',
      `GenieKey ${KEY}`,
      'application/json; charset=utf-8',
    ]);
    expect(created?.json).toEqual({
      alias: expect.stringMatching(/^[0-9a-f]{32}$/),
      message: 'CRITICAL firing: near-liquidation, desk-1, BTC_PERP position 42',
      description: [
        'CRITICAL firing: near-liquidation, desk-1, BTC_PERP position 42',
        'A <\u200bb> & 1 < 2 <\u200b/b>.',
        'Observe mode: Breakwater records what it would do and sends no order.',
        LINK,
      ].join('\n'),
      priority: 'P1',
      entity: 'BTC_PERP position 42',
      tags: ['breakwater', 'critical', 'observe'],
      details: {
        account: 'desk-1',
        rule: 'near-liquidation',
        subject: 'BTC_PERP position 42',
        severity: 'critical',
        mode: 'observe',
        since: '2026-01-31 12:29:40 UTC',
        time: '2026-01-31 12:30:45 UTC',
        labels: 'desk=arb',
      },
      source: 'Breakwater',
    });
    expect(closed?.path).toBe(`/v2/alerts/${String(created?.json['alias'])}/close?identifierType=alias`);
    expect(closed?.json).toEqual({
      user: 'Breakwater',
      source: 'Breakwater',
      note: [
        'Resolved: near-liquidation, desk-1, BTC_PERP position 42',
        'The rule does not fire any more.',
        LINK,
      ].join('\n'),
    });
  });

  test('an episode is one alert from firing to resolved; another episode is another alert', async () => {
    for (const kind of ['firing', 'reminder', 'resolved'] as const) {
      expect(await send({ kind })).toEqual(DELIVERED);
    }
    await send({ key: 'another episode', severity: 'warning' });
    expect(api.alerts.map(({ status, count }) => [status, count])).toEqual([
      ['closed', 2],
      ['open', 1],
    ]);
    expect(receiver.received.at(-1)?.json).toMatchObject({ priority: 'P3' });
  });

  test('a reminder reopens an alert that a person closed too early', async () => {
    await send({});
    for (const alert of api.alerts) alert.status = 'closed';
    await send({ kind: 'reminder' });
    expect(api.alerts.map(({ status }) => status)).toEqual(['closed', 'open']);
  });

  test('Jira Service Management has the same API behind a path', async () => {
    receiver.answer(reply(202, { result: 'Request will be processed' }));
    const jira = opsgenie(KEY, '/jsm/ops/integration');
    expect(await send({ kind: 'test', severity: 'info' }, jira)).toEqual(DELIVERED);
    expect(receiver.received[0]).toMatchObject({
      path: '/jsm/ops/integration/v2/alerts',
      json: { priority: 'P5', message: 'Breakwater test message' },
    });
  });

  test('texts of any length stay within the bounds, and links stay', async () => {
    const unit = fc.constantFrom('x'.repeat(40), '😀', '<b>', '"', ' ');
    const long = fc.string({ minLength: 1, maxLength: 1500, size: 'max', unit });
    const labels = fc.dictionary(fc.string({ minLength: 1, maxLength: 9 }), long, {
      maxKeys: 20,
      size: 'max',
    });
    await fc.assert(
      fc.asyncProperty(long, long, labels, async (words, text, given) => {
        const changes = { words, key: text, subject: `account${text}`, labels: given } as const;
        expect(await send(changes)).toEqual(DELIVERED);
        const { raw = '', json } = receiver.received.at(-1) ?? {};
        expect(raw.isWellFormed()).toBe(true);
        expect(String(json?.['description'])).toMatch(/\nRun & book: https:\/\/wiki\.example\//);
        expect(await send({ ...changes, kind: 'resolved' })).toEqual(DELIVERED);
        expect(api.alerts.at(-1)?.status).toBe('closed');
      }),
      { numRuns: 30 },
    );
  });

  test('a refusal is reported with its reasons, and without the key', async () => {
    expect(await send({}, opsgenie('wrong-key'))).toEqual({
      kind: 'failed',
      reason: 'unauthorized',
      words: 'HTTP 401: Could not authenticate',
      permanent: true,
    });
    receiver.answer(reply(422, { message: 'Not processable.', errors: { message: 'Message is too long.' } }));
    expect(await send({})).toMatchObject({
      reason: 'rejected',
      words: 'HTTP 422: Not processable. Message is too long.',
      permanent: true,
    });
    receiver.answer(reply(400, { message: 'Invalid JSON', errors: 'none' }));
    expect(await send({})).toMatchObject({ reason: 'rejected', words: 'HTTP 400: Invalid JSON' });
  });

  test.each([
    [reply(402, { message: 'Account has been blocked' }), 'rejected', true],
    [reply(403, { message: 'API key is not allowed to create alerts', code: 40_301 }), 'unauthorized', true],
    [{ status: 404, body: '<html>' }, 'notFound', true],
    [{ status: 429, headers: { 'retry-after': '30' } }, 'rateLimited', false],
    [{ status: 503, body: '' }, 'unavailable', false],
    [{ status: 200, body: '<html>log in</html>' }, 'badReply', false],
    [{ status: 202, body: '{"result":"ok"}' }, 'badReply', false],
  ])('%j is %s', async (answer, reason, permanent) => {
    receiver.answer(answer);
    expect(await send({})).toMatchObject({ kind: 'failed', reason, permanent });
  });
});
