import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/config/secret.ts';
import { createRedactor } from '../../src/core/redaction/redactor.ts';
import { loggedValue } from '../../src/telemetry/logged-value.ts';
import { createLogger, type Logger, type LoggerOptions } from '../../src/telemetry/logger.ts';
import { runsOf } from '../support/slice.ts';

interface Line {
  readonly [key: string]: unknown;
}

function capture({
  secrets = [],
  ...options
}: Partial<LoggerOptions> & { secrets?: readonly string[] } = {}): {
  logger: Logger;
  text: () => string;
  lines: () => Line[];
} {
  const stream = new PassThrough();
  const logger = createLogger({ level: 'info', format: 'json', stream, ...options });
  logger.hide(secrets);
  let all = '';
  const text = (): string => {
    all += String((stream.read() as Buffer | null) ?? '');
    return all;
  };
  const lines = (): Line[] =>
    text()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  return { logger, text, lines };
}

describe('a line', () => {
  test('is one object with time, level, event, words and its fields', () => {
    const { logger, lines } = capture();
    logger.log('warn', 'ruleChanged', 'pending -> firing', {
      account: 'desk-1',
      subject: 'position:42',
      rule: 'near',
      reason: 'heldLongEnough',
      durationMs: 12,
      nothing: undefined,
    });
    expect(lines()).toEqual([
      {
        level: 'warn',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        event: 'ruleChanged',
        account: 'desk-1',
        subject: 'position:42',
        rule: 'near',
        reason: 'heldLongEnough',
        durationMs: 12,
        words: 'pending -> firing',
      },
    ]);
  });

  test('below the level is not written, until the level is lowered', async () => {
    const { logger, lines } = capture();
    logger.log('debug', 'a', 'a');
    expect([logger.writes('debug'), logger.writes('info')]).toEqual([false, true]);
    logger.setLevel('debug');
    logger.log('debug', 'b', 'b');
    await logger.flush();
    expect(lines().map(({ event }) => event)).toEqual(['b']);
  });

  test('cannot have its own keys overwritten by fields, nor become two lines', () => {
    const { logger, text, lines } = capture();
    logger.log('info', 'e', 'one\ntwo', { level: 'fatal', words: 'other', time: 'never', event: 'x' });
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).toMatchObject({
      level: 'info',
      event: 'e',
      words: 'one\ntwo',
      level_: 'fatal',
      event_: 'x',
    });
    expect(text().match(/"level":/g)).toHaveLength(1);
  });

  test('of an error has its causes; cycles and depth are bounded', () => {
    const { logger, lines } = capture();
    const error = Object.assign(new Error('outer', { cause: new TypeError('inner') }), { code: 'E' });
    const circle: Record<string, unknown> = { error };
    circle['self'] = circle;
    logger.log('error', 'e', 'w', {
      error,
      circle,
      big: 10n,
      when: new Date(0),
      many: new Map([['a', new Set([1])]]),
    });
    expect(lines()[0]).toMatchObject({
      error: { type: 'Error', message: 'outer', code: 'E', cause: { type: 'TypeError', message: 'inner' } },
      circle: { self: '[circular]' },
      big: '10',
      when: '1970-01-01T00:00:00.000Z',
      many: { a: [1] },
    });
  });

  test('of a refused connection has no stack', async () => {
    const { logger, lines } = capture();
    const refused = await new Promise<Error>((resolve) => {
      connect({ host: '127.0.0.1', port: 1 }).once('error', resolve);
    });
    logger.log('error', 'e', 'w', { error: new Error('lost', { cause: refused }) });
    const [{ error }] = lines() as [{ error: { stack: string; cause: object } }];
    expect(error.stack).toContain(' at ');
    expect(error.cause).toMatchObject({
      code: 'ECONNREFUSED',
      message: expect.stringContaining('127.0.0.1:1'),
    });
    expect(error.cause).not.toHaveProperty('stack');
  });

  test('of any length is valid JSON', () => {
    const { logger, lines } = capture({ secrets: ['planted-secret'] });
    logger.log('info', 'long', 'x'.repeat(20_000), {
      list: Array.from({ length: 500 }, () => 'y'.repeat(100)),
    });
    expect(lines()).toHaveLength(1);
  });
});

describe('on a terminal a line', () => {
  test('is human-readable: time, level, words, fields; then the stack', () => {
    const { logger, text } = capture({ format: 'pretty' });
    logger.log('error', 'pollFailed', 'a poll was given up', {
      account: 'desk-1',
      reason: 'two words',
      error: new Error('outer', { cause: new Error('inner') }),
    });
    const [first, ...stack] = text().split('\n');
    expect(first).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} ERROR a poll was given up account=desk-1 reason="two words" error="outer: inner"$/,
    );
    expect(stack[0]).toMatch(/^ {4}at /);
  });

  test('cannot be forged or coloured by external text', () => {
    const { logger, text } = capture({ format: 'pretty' });
    logger.log('info', 'e', 'a\u001b[31m\nfatal b', { market: 'X\u001b[2J\u202e' });
    for (const control of ['\u001b', '\u202e']) expect(text()).not.toContain(control);
    expect(text().trimEnd().split('\n')).toHaveLength(1);
    const coloured = capture({ format: 'pretty', colours: true });
    coloured.logger.log('info', 'e', 'words');
    expect(coloured.text()).toContain('\u001b[32mINFO');
  });
});

/** The texts and keys of a line, unescaped, as its reader has them. */
function everyText(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key].concat(everyText(inner)));
}

describe('secrets', () => {
  /** Long enough to be distinct from other text, with characters that JSON and URLs escape. */
  const secretText = fc
    .string({
      unit: fc.constantFrom('a', 'Z', '0', '9', '-', '_', '/', '+', '=', '"', '\\', ' ', 'é', '😀', '%'),
      minLength: 8,
      maxLength: 40,
    })
    .map((text) => `zq${text}qz`);

  const plant = (secret: string): readonly unknown[] => [
    secret,
    { deep: { list: [{ value: `before ${secret} after` }] } },
    { [secret]: 1 },
    new Error(`failed with ${secret}`, { cause: new Error('x', { cause: { secret: [secret] } }) }),
    Object.assign(new Error('request'), {
      options: { headers: { 'X-TXC-APIKEY': secret } },
      url: `https://h/${encodeURIComponent(secret)}`,
    }),
    new AggregateError([new Error(secret), secret], 'several'),
    new Map([['k', secret]]),
    new Set([secret]),
    { toJSON: () => ({ inner: secret }) },
    { authorization: `Basic ${Buffer.from(secret).toString('base64')}` },
    { text: `Basic ${Buffer.from(secret).toString('base64')}` },
    JSON.stringify({ body: secret }),
    { sent: `given ${Buffer.from(secret).toString('base64')} once` },
    new Secret(secret),
  ];

  test('that are known never appear, in any encoding', () => {
    fc.assert(
      fc.property(secretText, fc.nat(13), fc.constantFrom('json', 'pretty'), (secret, index, format) => {
        const { logger, text } = capture({ format, secrets: [secret] });
        logger.log('error', 'e', `words ${secret} words`, { error: plant(secret)[index], other: secret });
        const shown = text();
        const read = format === 'json' ? everyText(JSON.parse(shown)).join('\n') : '';
        for (const form of [
          secret,
          JSON.stringify(secret).slice(1, -1),
          encodeURIComponent(secret.toWellFormed()),
          Buffer.from(secret).toString('base64'),
        ]) {
          expect(shown).not.toContain(form);
          expect(read).not.toContain(form);
        }
      }),
      { numRuns: runsOf(300) },
    );
  });

  test('of a new config are hidden from then on, and the old ones stay hidden', () => {
    const { logger, text } = capture({ secrets: ['old-secret-1'] });
    logger.hide(['new-secret-2']);
    logger.log('info', 'e', 'old-secret-1 new-secret-2');
    expect(text()).not.toMatch(/old-secret|new-secret/);
  });

  test('include the password within a URL, even where it stands alone', () => {
    const { logger, text } = capture({ secrets: ['redis://user:p%40ssword-1@db:6379/0'] });
    logger.log('info', 'e', 'NOAUTH p@ssword-1', {
      url: 'redis://user:p%40ssword-1@db:6379/0',
      raw: 'p%40ssword-1',
    });
    expect(text()).not.toMatch(/ssword-1/);
  });

  test('include the signature within a URL, even where it stands alone', () => {
    const { logger, text } = capture({ secrets: ['https://flow.example/invoke?v=1&sig=Zm9vYmFy-cXV4_0123'] });
    logger.log('info', 'e', 'refused: Zm9vYmFy-cXV4_0123, version v=1');
    expect(text()).toContain('refused: [redacted], version v=1');
  });

  test('that are unknown are hidden by their position and shape', () => {
    const logged = {
      apiKey: 'abcdef',
      'X-TXC-SIGNATURE': 'f00',
      nested: { password: 5, token: ['a'], payload: 'x' },
      reason: 'kept',
      tokens: 3,
      a: 'redis://user:hunter2@db',
      b: 'Authorization: Bearer abc.def.ghi',
      c: 'https://api.telegram.org/bot123456:AAE-x_y/sendMessage',
      d: 'https://hooks.slack.com/services/T0/B0/abcdef',
      e: 'secret=abcd1234&x=1',
      f: 'Authorization: GenieKey eb243592-faa2',
      g: 'https://prod-1.logic.azure.com/workflows/1/invoke?sp=%2Frun&sig=ab-c_d&x=1',
      unset: { token: undefined, secret: null },
    };
    const shown = loggedValue(logged, createRedactor());
    expect(shown).toEqual({
      apiKey: '[redacted]',
      'X-TXC-SIGNATURE': '[redacted]',
      nested: { password: '[redacted]', token: '[redacted]', payload: '[redacted]' },
      reason: 'kept',
      tokens: 3,
      a: 'redis://[redacted]@db',
      b: 'Authorization: Bearer [redacted]',
      c: 'https://api.telegram.org/bot[redacted]/sendMessage',
      d: 'https://hooks.slack.com/services/[redacted]',
      e: 'secret=[redacted]&x=1',
      f: 'Authorization: GenieKey [redacted]',
      g: 'https://prod-1.logic.azure.com/workflows/1/invoke?sp=%2Frun&sig=[redacted]&x=1',
      unset: { token: undefined, secret: null },
    });
  });

  test('writing a line never throws, whatever value it gets', () => {
    const hostile = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no');
        },
      },
    );
    const { logger, lines } = capture();
    for (const error of [
      hostile,
      Object.create(null),
      Symbol('s'),
      () => 1,
      {
        get x() {
          throw new Error('g');
        },
      },
      null,
    ]) {
      logger.log('error', 'e', 'w', { error });
    }
    expect(lines()).toHaveLength(6);
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }),
        (value) => {
          logger.log('info', 'e', 'w', { value });
        },
      ),
    );
  });
});
