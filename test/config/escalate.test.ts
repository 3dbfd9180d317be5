import { expect, test } from 'vitest';
import { linesOf, loaded, withRules } from './support.ts';

const RULE = `  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ notify: {} }]
`;
const CHANNELS = 'channels: { own: { type: webhook, url: https://own.example/hook } }\n';
const withEscalate = (text: string) =>
  `${CHANNELS}${withRules(RULE, ['near'])}\nnotify: { escalate: ${text} }\n`;

test('by default unacknowledged episodes are not escalated to others', () => {
  expect(loaded(withRules(RULE, ['near'])).notify).not.toHaveProperty('escalation');
  expect(loaded(withEscalate('{ after: 15m, to: own }')).notify).toMatchObject({
    escalation: { afterMs: 900_000, channels: ['own'] },
  });
});

test.each([
  ['{ after: 15m }', 'notify.escalate.to', 'expected'],
  ['{ to: [own] }', 'notify.escalate.after', 'expected'],
  ['{ after: 2d, to: [own] }', 'notify.escalate.after', 'from 1s to 1d'],
  ['{ after: 15m, to: [own, onw] }', 'notify.escalate.to[1]', 'did you mean own'],
  ['{ after: 15m, to: onw }', 'notify.escalate.to', 'expected a channel (own, log), got "onw"'],
])('refuses escalate %s with its place', (text, path, words) => {
  const [found = '', ...more] = linesOf(withEscalate(text));
  expect(more).toEqual([]);
  expect(found).toContain(` ${path}`);
  expect(found).toContain(words);
});
