import { expect, test } from 'vitest';
import { linesOf, loaded, withRules } from './support.ts';

const RULE = `  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ notify: {} }]
`;
const CHANNELS = `channels:
  chat: { type: telegram, token: { env: API_SECRET }, chat: "1" }
  hook: { type: webhook, url: https://own.example/hook }
`;
const withQuiet = (text: string) =>
  `${CHANNELS}${withRules(RULE, ['near'])}\nnotify: { quietHours: ${text} }\n`;

test('by default no hours are quiet', () => {
  expect(loaded(withRules(RULE, ['near'])).notify).not.toHaveProperty('quietHours');
  const daily = { days: [0, 1, 2, 3, 4, 5, 6], fromMinute: 1320, toMinute: 420 };
  expect(loaded(withQuiet('{ from: "22:00", to: "07:00" }')).notify.quietHours).toEqual({
    ...daily,
    timeZone: 'UTC',
    channels: [],
  });
  const named = '{ from: "22:00", to: "07:00", tz: Europe/London, days: mon-fri, channels: [chat, chat] }';
  expect(loaded(withQuiet(named)).notify.quietHours).toEqual({
    ...daily,
    days: [1, 2, 3, 4, 5],
    timeZone: 'Europe/London',
    channels: ['chat'],
  });
});

test.each([
  ['{ from: "22:00" }', 'notify.quietHours.to', 'expected a time'],
  ['{ from: "22:00", to: "22:00" }', 'notify.quietHours', 'expected from and to to differ'],
  ['{ from: "22:00", to: 7 }', 'notify.quietHours.to', 'in quotes'],
  ['{ from: "22:00", to: "07:00", tz: Europe/Londn }', 'notify.quietHours.tz', 'did you mean Europe/London'],
  [
    '{ from: "22:00", to: "07:00", tz: "+01:00" }',
    'notify.quietHours.tz',
    'a time zone such as Europe/London',
  ],
  ['{ from: "22:00", to: "07:00", zone: UTC }', 'notify.quietHours', 'zone'],
  ['{ from: "22:00", to: "07:00", channels: chatt }', 'notify.quietHours.channels', 'did you mean chat'],
  [
    '{ from: "22:00", to: "07:00", channels: [chat, hook] }',
    'notify.quietHours.channels[1]',
    'expected a channel that people read, got "hook" (webhook), which is told at once: leave it out',
  ],
  [
    '{ from: "22:00", to: "07:00", channels: log }',
    'notify.quietHours.channels',
    'got "log", which is told at once',
  ],
])('refuses %s with its place', (text, path, words) => {
  const [found = '', ...more] = linesOf(withQuiet(text));
  expect(more).toEqual([]);
  expect(found).toMatch(/^breakwater\.yaml:\d+:\d+ /);
  expect(found).toContain(` ${path}`);
  expect(found).toContain(words);
});
