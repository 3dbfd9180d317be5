import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concealer, currentConcealer, REDACTED } from '../../../src/core/redaction/conceal.ts';
import { createRedactor } from '../../../src/core/redaction/redactor.ts';

const R = REDACTED;

describe('text that looks like a secret is hidden anywhere', () => {
  test.each([
    ['see http://user:pass@host/x', `see http://${R}@host/x`],
    ['redis://:word@host', `redis://${R}@host`],
    ['http://host/user@x', 'http://host/user@x'],
    ['Authorization: Bearer abcdef', `Authorization: Bearer ${R}`],
    ['basic dXNlcjpw', `basic ${R}`],
    ['GenieKey 12345678-90', `GenieKey ${R}`],
    ['bearer abcde', 'bearer abcde'],
    ['https://api.telegram.org/bot123:AB-c_d/sendMessage', `https://api.telegram.org/bot${R}/sendMessage`],
    ['/bot12x', '/bot12x'],
    ['https://hooks.slack.com/services/T0/B0/x', `https://hooks.slack.com/services/${R}`],
    ['https://discord.com/api/webhooks/1/x', `https://discord.com/api/webhooks/${R}`],
    ['https://chat.example/hooks/abc', `https://chat.example/hooks/${R}`],
    ['https://x.example/?a=1&sig=abc&b=2', `https://x.example/?a=1&sig=${R}&b=2`],
    ['apiKey: "abcd"', `apiKey: "${R}"`],
    ['api-secret=abcd;x', `api-secret=${R};x`],
    ['passphrase = hunter2', `passphrase = ${R}`],
    ['signature: abc', 'signature: abc'],
    ['the secret of it', 'the secret of it'],
  ])('%s', (given, shown) => {
    expect(createRedactor().text(given)).toBe(shown);
  });
});

describe('a known secret', () => {
  test.each([
    ['plain', 'planted-secret'],
    ['in an address', 'a b/c&d=ö'],
    ['in JSON', 'tab\tquote"back\\slash'],
    ['with half a character', 'abc\ud800def'],
  ])('is hidden %s, in every encoding', (_what, secret) => {
    const redactor = createRedactor();
    redactor.add([secret]);
    const forms = [
      secret,
      encodeURIComponent(secret.toWellFormed()),
      JSON.stringify(secret),
      Buffer.from(secret.toWellFormed()).toString('base64'),
    ];
    for (const form of forms) {
      for (const shown of [redactor.text(`<${form}>`), redactor.line(`<${form}>`)]) {
        expect(shown).toContain(R);
        expect(shown).not.toContain(secret);
      }
    }
  });

  test('in an address is hidden in its parts: password, path, query and long names', () => {
    const redactor = createRedactor();
    redactor.add([
      'https://user:p%40ssword1@host.example/short/a-name-of-sixteen/rest?key=value-of-sixteen&short=fifteen-letters',
    ]);
    const hidden = [
      'p%40ssword1',
      'p@ssword1',
      'a-name-of-sixteen',
      'value-of-sixteen',
      'short/a-name-of-sixteen/rest',
    ];
    for (const part of hidden) expect(redactor.line(part)).toBe(R);
    for (const part of ['host.example', 'short', 'fifteen-letter']) expect(redactor.line(part)).toBe(part);
    const brief = createRedactor();
    brief.add([
      'https://u:p%zzword@host/1234567',
      'https://host/12345678',
      'https://host/?7=abcd',
      'https://host/?7=abcdef',
    ]);
    expect(['p%zzword', '1234567', '12345678', '7=abcd', '7=abcdef'].map((part) => brief.line(part))).toEqual(
      [R, '1234567', R, '7=abcd', R],
    );
  });

  test('shorter than six letters is not hidden, as that would hide half of the text', () => {
    const redactor = createRedactor();
    redactor.add(['abcde', 'uvwxyz']);
    expect(redactor.line('abcde uvwxyz')).toBe(`abcde ${R}`);
  });

  test('shorter than six letters is not hidden in its longer encodings either', () => {
    const redactor = createRedactor();
    redactor.add(['a b c', 'abcde']);
    for (const form of ['a%20b%20c', btoa('a b c'), btoa('abcde')]) expect(redactor.line(form)).toBe(form);
  });

  test('is hidden within a longer JSON text, too', () => {
    const redactor = createRedactor();
    redactor.add(['quote"and\\more']);
    expect(redactor.line(JSON.stringify('said quote"and\\more twice'))).toBe(`"said ${R} twice"`);
    expect(redactor.line(JSON.stringify('quote"and\\more'))).toBe(`"${R}"`);
  });

  test('in an address is hidden as a whole; its parts of up to fifteen letters are not', () => {
    const redactor = createRedactor();
    const address = 'https://user:password@host.example/fifteen-letters?key=letters-fifteen';
    redactor.add([address]);
    expect(redactor.line(`to ${address}.`)).toBe(`to ${R}.`);
    for (const name of ['letters-fifteen', 'user', 'host.example']) expect(redactor.line(name)).toBe(name);
  });

  test('added later is hidden along with earlier ones', () => {
    const redactor = createRedactor();
    expect(redactor.line('first-one')).toBe('first-one');
    redactor.add(['first-one']);
    redactor.add(['second-one']);
    expect(redactor.line('first-one, second-one')).toBe(`${R}, ${R}`);
  });
});

test('a long text is cut, and leaves no part of a secret at its end', () => {
  const redactor = createRedactor();
  redactor.add(['planted-secret']);
  expect(redactor.text('x'.repeat(8_000))).toBe('x'.repeat(8_000));
  expect(redactor.text('x'.repeat(8_001))).toHaveLength(8_000);
  // Redaction may make a text longer, which is no reason to cut it.
  expect(redactor.text(`planted-secret${'x'.repeat(7_986)}y`)).toBe(
    `${R}${'x'.repeat(7_986)}y`.slice(0, 8_000),
  );
  for (let before = 7_980; before <= 8_001; before += 1) {
    const shown = redactor.text(`${'x'.repeat(before)}planted-secret and more`);
    expect(shown).not.toMatch(/planted|plante|lanted/);
    expect(shown.length).toBeLessThanOrEqual(8_001);
  }
  expect(redactor.line(`${'x'.repeat(9_000)}planted-secret`)).toBe(`${'x'.repeat(9_000)}${R}`);
});

describe('the concealer', () => {
  const letter = fc.constantFrom('a', 'b', 'c');
  const word = fc.string({ unit: letter, minLength: 4, maxLength: 12 });

  test('hides every value of six letters or more, overlapping ones together, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 6 }),
        fc.string({ unit: letter, maxLength: 200 }),
        (values, text) => {
          const hidden = Array.from(text, () => false);
          for (const value of values.filter(({ length }) => length >= 6)) {
            for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) {
              hidden.fill(true, at, at + value.length);
            }
          }
          // Values that only touch stay separate.
          const shown = concealer(values)(text);
          const open = Array.from(text).filter((_, at) => hidden[at] === false);
          expect(shown.replaceAll(R, '')).toBe(open.join(''));
          expect(shown.includes(R)).toBe(hidden.includes(true));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('follows secrets that rotate', () => {
    let secrets: readonly string[] = ['first-one'];
    const conceal = currentConcealer(() => secrets);
    expect(conceal('first-one second-one')).toBe(`${R} second-one`);
    secrets = ['second-one'];
    expect(conceal('first-one second-one')).toBe(`first-one ${R}`);
  });
});
