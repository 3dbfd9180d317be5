import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Channel, DeliveryAttempt } from '../../src/notify/channel.ts';
import { closeOpened, open, outgoing } from './opened.ts';
import { type Answer, message, type Received, type Receiver, startReceiver } from './receiver.ts';

const FLOW = '/workflows/f3c1d9a0/triggers/manual/paths/invoke';
const SIGNATURE = 'Zm9vYmFyYmF6.cXV4';
const MAX_BYTES = 28 * 1024;

interface TextRun {
  readonly type: string;
  readonly text: string;
  readonly weight?: string;
  readonly size?: string;
  readonly color?: string;
  readonly isSubtle?: boolean;
}

interface Card {
  readonly type: string;
  readonly version: string;
  readonly body: readonly {
    readonly type: string;
    readonly inlines: readonly TextRun[];
    readonly spacing?: string;
  }[];
  readonly actions: readonly { readonly type: string; readonly title: string; readonly url: string }[];
}

/**
 * A flow with the trigger "When a Teams webhook request is received": anybody with the signature may start it. It takes
 * a message with cards, and answers 202 without a body. What follows in the flow is checked with it.
 */
function flow({ path, raw, json }: Received): Answer {
  const url = new URL(path, 'https://flow.example');
  if (url.pathname !== FLOW) return refusal(404, 'WorkflowNotFound', 'The workflow could not be found.');
  if (url.searchParams.get('sig') !== SIGNATURE) {
    const words = 'The request must be authenticated only by Shared Access scheme.';
    return refusal(401, 'DirectApiAuthorizationRequired', words);
  }
  if (Buffer.byteLength(raw) > MAX_BYTES) return refusal(413, 'RequestEntityTooLarge', 'It is too large.');
  const cards = cardsIn(json);
  if (cards.length === 0 || !cards.every(isCard)) {
    return refusal(400, 'TriggerInputSchemaMismatch', 'The input body for the trigger does not match.');
  }
  return { status: 202 };
}

function refusal(status: number, code: string, words: string): Answer {
  return { status, body: JSON.stringify({ error: { code, message: words } }) };
}

function cardsIn({ type, attachments }: Readonly<Record<string, unknown>>): readonly Card[] {
  if (type !== 'message' || !Array.isArray(attachments)) return [];
  return (attachments as readonly { contentType: string; content: Card }[]).flatMap((attachment) =>
    attachment.contentType === 'application/vnd.microsoft.card.adaptive' ? [attachment.content] : [],
  );
}

/** The elements of version 1.2 that show plain text; all others read Markdown. */
function isCard({ type, version, body, actions }: Card): boolean {
  const runs = body.flatMap(({ inlines }) => inlines);
  return (
    type === 'AdaptiveCard' &&
    version === '1.2' &&
    body.every((element) => element.type === 'RichTextBlock') &&
    runs.every(
      ({ type: kind, text, color = 'Default' }) =>
        kind === 'TextRun' && text !== '' && ['Default', 'Attention', 'Warning', 'Good'].includes(color),
    ) &&
    actions.length <= 6 &&
    actions.every((action) => action.type === 'Action.OpenUrl' && URL.canParse(action.url))
  );
}

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
  receiver.behave(flow);
});
afterEach(async () => {
  await closeOpened();
  await receiver.close();
});

function teams(sig = SIGNATURE, path = FLOW): Channel {
  return open({ type: 'teams', url: `${receiver.url}${path}?api-version=1&sp=%2Frun&sig=${sig}` });
}

async function send(changes: Parameters<typeof message>[0], channel = teams()): Promise<DeliveryAttempt> {
  return await channel.send(outgoing({ message: message(changes) }));
}

function cardSent(): Card {
  return cardsIn(receiver.received.at(-1)?.json ?? {})[0] ?? expect.fail();
}

/** The text that people see, line by line. */
function shown(): readonly string[] {
  return cardSent().body.map(({ inlines }) => inlines.map(({ text }) => text).join(''));
}

const DELIVERED = { kind: 'delivered' };

describe('Teams', () => {
  test('gets a message with one card', async () => {
    expect(await send({ words: 'a *b* & [c](https://x.example)' })).toEqual(DELIVERED);
    const [got] = receiver.received;
    expect([got?.path, got?.headers['content-type']]).toEqual([
      `${FLOW}?api-version=1&sp=%2Frun&sig=${SIGNATURE}`,
      'application/json; charset=utf-8',
    ]);
    const run = (text: string, look: object = {}) => ({ type: 'TextRun', text, ...look });
    const fact = (name: string, text: string, look: object = { spacing: 'None' }) => ({
      type: 'RichTextBlock',
      inlines: [run(`${name}: `, { isSubtle: true }), run(text)],
      ...look,
    });
    const title = 'CRITICAL firing: near-liquidation, desk-1, BTC_PERP position 42';
    const heading = { weight: 'Bolder', size: 'Medium', color: 'Attention' };
    expect(got?.json).toEqual({
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          contentUrl: null,
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.2',
            msteams: { width: 'Full' },
            body: [
              { type: 'RichTextBlock', inlines: [run(title, heading)] },
              {
                type: 'RichTextBlock',
                inlines: [run('A *b* & [c]\u200b(https:\u200b//x.\u200bexample).')],
              },
              fact('account', 'desk-1', {}),
              fact('rule', 'near-liquidation'),
              fact('subject', 'BTC_PERP position 42'),
              fact('severity', 'critical'),
              fact('mode', 'enforce'),
              fact('since', '2026-01-31 12:29:40 UTC'),
              fact('time', '2026-01-31 12:30:45 UTC'),
              fact('labels', 'desk=arb'),
            ],
            actions: [
              {
                type: 'Action.OpenUrl',
                title: 'Run & book',
                url: 'https://wiki.example/near-liquidation?a=desk-1&s=position%3A42&m=BTC_PERP',
              },
            ],
          },
        },
      ],
    });
  });

  test.each([
    [{ kind: 'resolved' }, 'Good'],
    [{ severity: 'warning' }, 'Warning'],
    [{ severity: 'info' }, 'Default'],
  ] as const)('%j is %s', async (changes, color) => {
    expect(await send(changes)).toEqual(DELIVERED);
    expect(cardSent().body[0]?.inlines[0]?.color).toBe(color);
  });

  test('placeholders and mentions in a text are shown literally', async () => {
    const words = 'see {{DATE(2026-01-31T00:00:00Z, SHORT)}} ${name} {{{{ <at>Ann</at> 1 < 2';
    expect(await send({ words })).toEqual(DELIVERED);
    const text = shown()[1] ?? '';
    expect(text.replaceAll('\u200b', '')).toBe(`S${words.slice(1)}.`);
    expect(text).not.toMatch(/\{\{|\$\{|<\/?[a-z]/);
    expect(text).toContain('1 < 2');
  });

  test('for texts of any length the card is within the bounds and begins with the event', async () => {
    const unit = fc.constantFrom('x'.repeat(50), '😀', 'é', '"', '{', ' ');
    const long = fc.string({ minLength: 1, maxLength: 4000, size: 'max', unit });
    await fc.assert(
      fc.asyncProperty(long, long, fc.nat(60), async (words, text, count) => {
        const insteadOf = Array.from({ length: count }, () => ({ channel: 'phone', words: text }));
        const told = message({ words, subject: `account${text}`, labels: { a: text } });
        expect(await teams().send(outgoing({ message: told, insteadOf }))).toEqual(DELIVERED);
        expect(receiver.received.at(-1)?.raw.isWellFormed()).toBe(true);
        expect(shown()[0]).toMatch(/^CRITICAL firing: near-liquidation, desk-1, account/);
      }),
      { numRuns: 30 },
    );
  });

  test('at most six links are buttons, and links that are too long are left out', async () => {
    const url = `${receiver.url}${FLOW}?sig=${SIGNATURE}`;
    for (const [length, shownLinks] of [
      [10, 6],
      [1200, 2],
    ] as const) {
      const links = Array.from({ length: 9 }, (_item, index) => ({
        title: `Link ${index}`,
        url: `https://wiki.example/${'x'.repeat(length)}`,
      }));
      expect(await send({}, open({ type: 'teams', url }, 2000, links))).toEqual(DELIVERED);
      expect(cardSent().actions).toHaveLength(shownLinks);
    }
  });

  test('an address that is gone or wrong is reported', async () => {
    expect(await send({}, teams(SIGNATURE, '/workflows/gone'))).toEqual({
      kind: 'failed',
      reason: 'notFound',
      words: 'HTTP 404: The workflow could not be found.',
      permanent: true,
    });
    expect(await send({}, teams('wrong'))).toEqual({
      kind: 'failed',
      reason: 'unauthorized',
      words: 'HTTP 401: The request must be authenticated only by Shared Access scheme.',
      permanent: true,
    });
  });

  test.each([
    [refusal(400, 'WorkflowTriggerIsNotEnabled', 'The trigger is not enabled.'), 'rejected', true],
    [{ status: 400, body: '{"error":null}' }, 'rejected', true],
    [{ status: 403, body: '{"error":{"code":"AuthorizationFailed"}}' }, 'unauthorized', true],
    [{ status: 429, headers: { 'retry-after': '30' } }, 'rateLimited', false],
    [{ status: 503, body: '' }, 'unavailable', false],
    [{ status: 200, body: '\n<html>log in</html>' }, 'badReply', false],
  ])('%j is %s', async (answer, reason, permanent) => {
    receiver.answer(answer);
    expect(await send({})).toMatchObject({ kind: 'failed', reason, permanent });
  });
});
