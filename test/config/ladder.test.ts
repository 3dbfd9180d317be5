import { expect, test } from 'vitest';
import { ruleInWords } from '../../src/config/words/rules.ts';
import { linesOf, loaded, rule } from './support.ts';

function withLadder(ladder: string, more = ''): string {
  return rule({ do: `[{ protect: { ladder: ${ladder}${more} } }]` });
}

const LADDER = '[{ at: 75%, close: 30% }, { at: 88%, close: 40% }, { at: 95%, close: rest }]';

test('a ladder is read as the share that each stop leaves, and has words', () => {
  const [spec] = loaded(withLadder(LADDER)).accounts[0]?.rules ?? [];
  expect(spec?.actions).toEqual([
    {
      kind: 'protect',
      at: 0.75,
      slippage: 0.01,
      ladder: [
        { at: 0.75, leave: 0.7 },
        { at: 0.88, leave: 0.3 },
        { at: 0.95, leave: 0 },
      ],
    },
  ]);
  if (spec === undefined) throw new Error('no rule');
  expect(ruleInWords(spec)).toContain(
    'keep stops for it on the way to liquidation, 30.0 % at 75.0 %, 40.0 % at 88.0 % and the rest at 95.0 %',
  );
});

test('shares that add up to less than one leave the rest of the position alone', () => {
  const [spec] =
    loaded(withLadder('[{ at: 75%, close: 10% }, { at: 88%, close: 20% }]')).accounts[0]?.rules ?? [];
  expect(spec?.actions[0]).toMatchObject({ ladder: [{ leave: 0.9 }, { leave: 0.7 }] });
});

test.each([
  ['[]', ''],
  ['[{ at: 88%, close: 30% }, { at: 75%, close: rest }]', '`at` to rise'],
  ['[{ at: 75%, close: 30% }, { at: 75%, close: rest }]', '`at` to rise'],
  ['[{ at: 100%, close: rest }]', 'strictly between'],
  ['[{ at: 0%, close: rest }]', 'strictly between'],
  ['[{ at: 75%, close: 60% }, { at: 88%, close: 50% }]', 'at most 100% together'],
  ['[{ at: 75%, close: rest }, { at: 88%, close: 50% }]', 'in the last stop only'],
  ['[{ at: 75%, close: 100% }, { at: 88%, close: rest }]', 'leave something'],
  ['[{ at: 75%, close: 0% }]', 'a share such as 30%'],
  ['[{ at: 75%, close: all }]', 'a share such as 30%'],
  ['[{ at: 75% }]', 'close'],
  [
    `[${['10', '20', '30', '40', '50', '60'].map((at) => `{ at: ${at}%, close: 10% }`).join(', ')}]`,
    'at most 5 stops',
  ],
])('%s is refused with its place and the cure', (ladder, expected) => {
  const lines = linesOf(withLadder(ladder));
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.join('\n')).toContain('ladder');
  expect(lines.join('\n')).toContain(expected);
});

test('at and ladder together are refused', () => {
  expect(linesOf(withLadder(LADDER, ', at: 60%')).join('\n')).toContain(
    'at for one stop or ladder for several',
  );
});
