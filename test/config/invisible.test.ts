import { expect, test } from 'vitest';
import { inert } from '../../src/notify/message-layout.ts';
import { linesOf, rule } from './support.ts';

const good = rule({});
const SOME = { override: '\u202e', isolate: '\u2066', mark: '\u200f', space: '\u200b', tag: '\u{e0041}' };

test.each(Object.entries(SOME))('bidi characters in names passed: %s', (_name, unseen) => {
  const id = good.replace('desk-1', `"desk${unseen}-1"`);
  const market = good.replace('"*": {', `"BTC${unseen}_PERP": {`);
  const title = `${good}notify: { links: { "Run${unseen}book": https://desk.example } }\n`;
  const label = good.replace('do: []', `do: [], labels: { desk: "a${unseen}b" }`);
  for (const text of [id, market, title, label]) {
    const lines = linesOf(text);
    expect(lines[0]).toMatch(/got (one with invisible characters|"(BTC|Run)\\u)/);
    expect(lines.join('\n')).not.toContain(unseen);
  }
});

test('texts of the exchange are shown without them, however often they are made inert', () => {
  for (const unseen of [SOME.override, SOME.isolate, SOME.mark, SOME.tag, '\u00ad'])
    expect(inert(`BTC${unseen}_PERP`)).toBe('BTC _PERP');
  expect(inert(inert('a.example'))).toBe(inert('a.example'));
});
