import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Channel, DeliveryAttempt } from '../../src/notify/channel.ts';
import { closeOpened, open, outgoing } from './opened.ts';
import { type Answer, message, type Received, type Receiver, startReceiver } from './receiver.ts';

const KEY = 'e93facc04764012d7bfb002500d5d1a6';

interface Alert {
  status: 'triggered' | 'acknowledged' | 'resolved';
  readonly log: string[];
}

/**
 * The Events API v2 as developer.pagerduty.com documents it: a key of 32 characters, bounds, one open alert per
 * `dedup_key`. Resolved alerts stay resolved, and events about unknown alerts are dropped.
 */
class EventsApi {
  readonly alerts: (Alert & { readonly dedupKey: string })[] = [];

  answer({ method, path, json }: Received): Answer {
    if (method !== 'POST' || path !== '/v2/enqueue') return { status: 404, body: 'Not Found' };
    const errors = mistakesIn(json);
    if (errors.length > 0) {
      return reply(400, { status: 'invalid event', message: 'Event object is invalid', errors });
    }
    this.#take(json as { event_action: string; dedup_key: string; payload?: { summary: string } });
    return reply(202, { status: 'success', message: 'Event processed', dedup_key: json['dedup_key'] });
  }

  #take(event: { event_action: string; dedup_key: string; payload?: { summary: string } }): void {
    const { event_action: action, dedup_key: dedupKey, payload } = event;
    const known = this.alerts.find((one) => one.dedupKey === dedupKey && one.status !== 'resolved');
    known?.log.push(action);
    if (action === 'trigger') {
      if (known === undefined)
        this.alerts.push({ dedupKey, status: 'triggered', log: [payload?.summary ?? ''] });
    } else if (known !== undefined) {
      known.status = action === 'acknowledge' ? 'acknowledged' : 'resolved';
    }
  }
}

function reply(status: number, body: unknown): Answer {
  return { status, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

function mistakesIn(json: Readonly<Record<string, unknown>>): readonly string[] {
  const { routing_key: key, event_action: action, dedup_key: dedupKey, payload, links } = json;
  const { summary, source, severity, timestamp } = (payload ?? {}) as Record<string, string>;
  const isTrigger = action === 'trigger';
  const mistakes: readonly (readonly [boolean, string])[] = [
    [String(key).length !== 32, "Length of 'routing_key' is incorrect (should be 32 characters)"],
    [!['trigger', 'acknowledge', 'resolve'].includes(String(action)), "'event_action' is invalid"],
    [typeof dedupKey !== 'string' || dedupKey.length > 255, "'dedup_key' is missing or longer than 255"],
    [isTrigger && !(summary !== undefined && summary !== '' && summary.length <= 1024), "'payload.summary'"],
    [isTrigger && (source ?? '') === '', "'payload.source' is missing or blank"],
    [
      isTrigger && !['critical', 'error', 'warning', 'info'].includes(severity ?? ''),
      "'payload.severity' is invalid (must be one of the following: 'critical', 'warning', 'error' or 'info')",
    ],
    [isTrigger && Number.isNaN(Date.parse(timestamp ?? '')), "'payload.timestamp' is invalid"],
    [JSON.stringify(json).length > 512_000, 'Event is too large'],
    [Array.isArray(links) && links.some(({ href }) => !URL.canParse(String(href))), "'links' are invalid"],
  ];
  return mistakes.flatMap(([isMade, words]) => (isMade ? [words] : []));
}

let receiver: Receiver;
let api: EventsApi;
beforeEach(async () => {
  receiver = await startReceiver();
  api = new EventsApi();
  receiver.behave((request) => api.answer(request));
});
afterEach(async () => {
  await closeOpened();
  await receiver.close();
});

function pagerduty(routingKey = KEY): Channel {
  return open({ type: 'pagerduty', apiUrl: receiver.url, routingKey });
}

async function send(changes: Parameters<typeof message>[0], channel = pagerduty()): Promise<DeliveryAttempt> {
  return await channel.send(outgoing({ message: message(changes) }));
}

const DELIVERED = { kind: 'delivered' };

describe('PagerDuty', () => {
  test('gets an event with everything the Events API v2 takes', async () => {
    expect(await send({ words: 'a <b> & "c"', stage: 1 })).toEqual(DELIVERED);
    const [got] = receiver.received;
    expect(got?.headers['content-type']).toBe('application/json; charset=utf-8');
    const url = 'https://wiki.example/near-liquidation?a=desk-1&s=position%3A42&m=BTC_PERP';
    expect(got?.json).toEqual({
      routing_key: KEY,
      event_action: 'trigger',
      dedup_key: expect.stringMatching(/^[0-9a-f]{32}$/),
      payload: {
        summary: 'CRITICAL firing: near-liquidation, desk-1, BTC_PERP position 42',
        source: 'desk-1',
        severity: 'critical',
        timestamp: '2026-01-31T12:30:45.123Z',
        component: 'BTC_PERP position 42',
        class: 'near-liquidation',
        custom_details: {
          text: 'A <b> & "c".',
          account: 'desk-1',
          rule: 'near-liquidation',
          subject: 'BTC_PERP position 42',
          severity: 'critical',
          mode: 'enforce',
          since: '2026-01-31 12:29:40 UTC',
          time: '2026-01-31 12:30:45 UTC',
          stage: '1',
          labels: 'desk=arb',
        },
      },
      client: 'Breakwater',
      client_url: url,
      links: [{ href: url, text: 'Run & book' }],
    });
  });

  test('an episode is one alert from firing to resolved; another episode is another alert', async () => {
    for (const kind of ['firing', 'reminder', 'resolved'] as const)
      expect(await send({ kind })).toEqual(DELIVERED);
    expect(await send({ key: 'another episode', severity: 'warning' })).toEqual(DELIVERED);
    expect(api.alerts.map(({ status, log }) => [status, log.slice(1)])).toEqual([
      ['resolved', ['trigger', 'resolve']],
      ['triggered', []],
    ]);
  });

  test('a reminder reopens an alert that a person resolved too early', async () => {
    await send({});
    for (const alert of api.alerts) alert.status = 'resolved';
    await send({ kind: 'reminder' });
    expect(api.alerts.map(({ status }) => status)).toEqual(['resolved', 'triggered']);
  });

  test('an alarm without a rule is an alert, too', async () => {
    expect(await send({ kind: 'alarm', ruleId: '', severity: 'warning' })).toEqual(DELIVERED);
    expect(receiver.received[0]?.json['payload']).toMatchObject({ class: 'alarm', severity: 'warning' });
  });

  test.each([
    ['a refused config', { kind: 'alarm', ruleId: 'built-in/config-refused', subject: '' }],
    ['a digest sent to a named pager', { kind: 'digest', ruleId: '', subject: 'account', lines: ['calm'] }],
  ] as const)(
    '%s, which concerns no account, was refused as an event without a source',
    async (_what, of) => {
      expect(await send({ ...of, accountId: '' })).toEqual(DELIVERED);
      expect(api.alerts).toHaveLength(1);
    },
  );

  test('a test is acknowledged, and reports if that failed', async () => {
    const changes = { kind: 'test', severity: 'info' } as const;
    expect(await send(changes)).toEqual(DELIVERED);
    expect(api.alerts.map(({ status }) => status)).toEqual(['acknowledged']);
    receiver.answer(reply(202, { status: 'success' }), { status: 500 });
    expect(await send(changes)).toMatchObject({ kind: 'failed', reason: 'unavailable' });
    receiver.answer({ status: 500 });
    const before = receiver.received.length;
    await send(changes);
    expect(receiver.received).toHaveLength(before + 1);
  });

  test('texts and keys of any length stay within the bounds', async () => {
    const unit = fc.constantFrom('x'.repeat(40), '😀', 'é', '"', ' ');
    const long = fc.string({ minLength: 1, maxLength: 1500, size: 'max', unit });
    const labels = fc.dictionary(fc.string({ minLength: 1, maxLength: 9 }), long, {
      maxKeys: 20,
      size: 'max',
    });
    await fc.assert(
      fc.asyncProperty(long, long, labels, async (words, text, given) => {
        const changes = { words, key: text, subject: `account${text}`, market: text, labels: given } as const;
        expect(await send(changes)).toEqual(DELIVERED);
        expect(receiver.received.at(-1)?.raw.isWellFormed()).toBe(true);
      }),
      { numRuns: 30 },
    );
    expect(await send({ words: 'x'.repeat(600_000) })).toEqual(DELIVERED);
    expect(await send({ labels: { a: 'x'.repeat(600_000) } })).toEqual(DELIVERED);
  });

  test('a refused key is named as the reason, and not repeated', async () => {
    const attempt = await send({}, pagerduty('too-short'));
    expect(attempt).toEqual({
      kind: 'failed',
      reason: 'unauthorized',
      words:
        "HTTP 400: Event object is invalid: Length of 'routing_key' is incorrect (should be 32 characters)",
      permanent: true,
    });
  });

  test.each([
    [reply(400, { status: 'invalid event', message: 'Event object is invalid' }), 'rejected', true],
    [reply(400, { errors: "'payload' is missing", message: 7 }), 'rejected', true],
    [{ status: 400, body: 'no JSON' }, 'rejected', true],
    [{ status: 403, body: '' }, 'unauthorized', true],
    [{ status: 429, headers: { 'retry-after': '30' } }, 'rateLimited', false],
    [{ status: 503, body: '<html>' }, 'unavailable', false],
    [{ status: 200, body: '<html>log in</html>' }, 'badReply', false],
    [reply(202, { status: 'invalid' }), 'badReply', false],
    [reply(202, ['success']), 'badReply', false],
  ])('%j is %s', async (answer, reason, permanent) => {
    receiver.answer(answer);
    expect(await send({})).toMatchObject({ kind: 'failed', reason, permanent });
  });
});
