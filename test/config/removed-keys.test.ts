import { expect, test } from 'vitest';
import { checked, linesOf, loaded, withRules } from './support.ts';

const RULE = `  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ notify: {} }]
`;

test.each([['{ from: "22:00", to: "07:00", tz: Europe/London, channels: [chat] }'], ['off']])(
  'a config with quietHours: %s loads as one without, and a warning says what to use',
  (text) => {
    const without = `${withRules(RULE, ['near'])}\nnotify: { remindEvery: 1h }\n`;
    const config = without.replace('1h }', `1h, quietHours: ${text} }`);
    expect(linesOf(config)).toEqual([
      'breakwater.yaml:16:28 notify.quietHours: warning: this key has no effect any more: every notice is sent at once. Use the schedules of a pager or of Alertmanager, and let `notify` of rules that can wait name `channels` that wake nobody',
    ]);
    expect(checked(config).problems.map(({ severity, code }) => [severity, code])).toEqual([
      ['warning', 'removed-key'],
    ]);
    expect(loaded(config).notify).toEqual(loaded(without).notify);
  },
);

test('such a key hides no mistake beside it', () => {
  const config = `${withRules(RULE, ['near'])}\nnotify: { quietHours: {}, quietHour: {}, remindEvery: 7 }\n`;
  expect(linesOf(config)).toEqual([
    expect.stringContaining(' notify.quietHours: warning: '),
    expect.stringContaining(' notify.quietHour: expected '),
    expect.stringContaining(' notify.remindEvery: expected a duration'),
  ]);
});
