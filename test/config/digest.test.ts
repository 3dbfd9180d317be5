import { describe, expect, test } from 'vitest';
import { compareConfigs } from '../../src/config/compare-configs.ts';
import { linesOf, loaded, withRules } from './support.ts';

const RULE = `  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ notify: {} }]
`;
const CHANNELS = 'channels: { own: { type: webhook, url: https://own.example/hook } }\n';

const withDigest = (text: string) => `${CHANNELS}${withRules(RULE, ['near'])}\ndigest: ${text}\n`;

describe('the section digest', () => {
  test('is absent by default', () => {
    expect(loaded(withRules(RULE, ['near'])).digest).toBeUndefined();
  });

  test('needs a time only, and then goes to all channels', () => {
    expect(loaded(withDigest('{ at: "08:00" }')).digest).toEqual({
      atMinute: 480,
      timeZone: 'UTC',
      channels: [],
    });
    const named = loaded(withDigest('{ at: "23:59", tz: Europe/London, channels: [own, log, own] }'));
    expect(named.digest).toEqual({ atMinute: 1439, timeZone: 'Europe/London', channels: ['own', 'log'] });
  });

  test('is its own section for a reload', () => {
    const [before, after] = ['08:00', '09:00'].map((at) => loaded(withDigest(`{ at: "${at}" }`)));
    expect(compareConfigs(before!, after!)).toMatchObject({ sections: ['digest'], changed: [] });
  });

  test.each([
    ['{ }', 'digest.at', 'in quotes'],
    ['{ at: "24:00" }', 'digest.at', 'from 00:00 to 23:59'],
    ['{ at: 8 }', 'digest.at', 'got 8'],
    ['{ at: "0 8 * * *" }', 'digest.at', 'from 00:00 to 23:59'],
    ['{ at: "08:00", tz: Europe/Londn }', 'digest.tz', 'Europe/London'],
    ['{ at: "08:00", tz: "+01:00" }', 'digest.tz', 'a time zone such as Europe/London'],
    ['{ at: "08:00", channels: onw }', 'digest.channels', 'expected a channel (own, log), got "onw"'],
    ['{ at: "08:00", channels: [own, onw] }', 'digest.channels[1]', 'did you mean own'],
    ['{ at: "08:00", channels: [] }', 'digest.channels', 'expected'],
    ['{ at: "08:00", every: day }', 'digest', 'every'],
  ])('refuses %s with its place', (text, path, words) => {
    const found = linesOf(withDigest(text));
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^breakwater\.yaml:\d+:\d+ /);
    expect(found[0]).toContain(` ${path}`);
    expect(found[0]).toContain(words);
  });
});
