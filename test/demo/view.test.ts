import { stripVTControlCharacters, styleText } from 'node:util';
import { describe, expect, test } from 'vitest';
import { FIRES_BELOW } from '../../src/demo/config.ts';
import { bar, type Canvas, type DemoFrame, renderFrame, usedUp } from '../../src/demo/view.ts';
import { wrapped } from '../../src/demo/words.ts';
import { positionScale } from '../../src/web/page/scale.js';
import { LOST, SAVED } from './sides.ts';

const long =
  'Breakwater says: distance to liquidation is 4.356 %, below 5 %, and more words than go into one line';
const frame: DemoFrame = {
  elapsedMs: 65_000,
  durationMs: 130_000,
  speed: 5,
  price: 54_000,
  startPrice: 60_000,
  protectedSide: SAVED,
  twin: LOST,
  events: Array.from({ length: 30 }, (_, index) => ({
    atMs: index * 1_000,
    tone: 'warning',
    text: `${index}. ${long}`,
  })),
};
const paint: Canvas['paint'] = (_style, text) => text;
const colour: Canvas['paint'] = (style, text) => styleText(style, text, { validateStream: false });
const small: Canvas = { columns: 80, rows: 24, paint };

describe.each([
  [80, 24],
  [100, 30],
  [200, 60],
])('the picture at %d columns and %d rows', (columns, rows) => {
  const lines = renderFrame(frame, { columns, rows, paint });
  const text = lines.join('\n');

  test('fits the terminal, with a row left for the cursor', () => {
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
    expect(lines).toHaveLength(rows - 1);
    const calm = renderFrame({ ...frame, events: [] }, { columns, rows, paint });
    expect(calm).toHaveLength(rows - 1);
  });

  test('shows every part, and the twins below each other', () => {
    expect(text).toContain('1:05 of 2:10, 5 times as fast');
    expect(text).toMatch(/BTC_PERP +54,000\.0 USDT +-10\.0 %/);
    const [above = '', below = ''] = text.split('NOT PROTECTED');
    expect(above).toMatch(/PROTECTED +long at 10x, 0\.205 BTC of 0\.500 BTC/);
    expect(above).toMatch(/to liquidation +6\.0 % +█+░+ +ok/);
    expect(above).toMatch(/1 placed, 0\.295 BTC closed, open: sell 0\.122 at 50802\.8/);
    expect(above).toContain('3,000.00 USDT before, 1,730.56 USDT now: -1,269.44 USDT');
    expect(below).toMatch(/0\.015 BTC of 0\.500 BTC, 0\.485 BTC liquidated/);
    expect(below).toMatch(/to liquidation +3\.0 % +█+░+ +liquidation/);
    expect(below).toContain('3,000.00 USDT before, 240.64 USDT now: -2,759.36 USDT');
    expect(below).toMatch(/KEPT MORE +\+1,489\.92 USDT/);
    expect(text).toContain('Ctrl-C ends');
  });

  test("shows the daemon's last message in full, over several lines if needed", () => {
    expect(text.replace(/\n +/g, ' ')).toContain(`0:29  29. ${long}`);
  });

  test('has the same size with colours, and every colour ends on its line', () => {
    const coloured = renderFrame(frame, { columns, rows, paint: colour });
    expect(coloured.map((line) => stripVTControlCharacters(line))).toEqual(lines);
    for (const line of coloured) expect((line.split('\u001b[').length - 1) % 2).toBe(0);
  });
});

test('has room for the largest figures', () => {
  const state = {
    state: 'margin_call',
    openOrders: ['sell 0.500 at 160802.85'],
    ordersPlaced: 999,
  } as const;
  const lines = renderFrame(
    { ...frame, protectedSide: { ...SAVED, ...state }, twin: { ...LOST, ...state } },
    small,
  );
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
});

describe('the bar', () => {
  test.each([-0.02, 0, 0.03, FIRES_BELOW, 0.1, 0.149, 0.15, 0.4])(
    'is as full as on the page at %d',
    (distance) => {
      const mark = {
        field: 'liquidationDistance',
        op: 'below',
        threshold: FIRES_BELOW,
        severity: 'critical',
        ruleId: 'r',
      };
      const position = { liquidationDistance: distance, marks: [mark] } as unknown as Parameters<
        typeof positionScale
      >[0];
      expect(usedUp({ distance, wasLiquidated: false })).toBeCloseTo(
        positionScale(position).fill ?? Number.NaN,
        9,
      );
    },
  );

  test.each([
    [0, '░░░░'],
    [0.5, '██░░'],
    [1, '████'],
  ])('with %d of the way used is %s', (part, expected) => {
    expect(bar(part, 4)).toBe(expected);
  });

  test('is full for a position that the exchange liquidated, empty for a closed one', () => {
    const lineOf = (change: Partial<typeof SAVED>) =>
      renderFrame({ ...frame, protectedSide: { ...SAVED, distance: null, ...change } }, small).find((line) =>
        line.includes('to liquidation'),
      );
    expect(lineOf({ wasLiquidated: true })).toMatch(/ █+ {2}liquidated$/);
    expect(lineOf({})).toMatch(/ ░+ {2}closed$/);
  });
});

test('a text wraps between words, a long word within', () => {
  expect(wrapped('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrapped('12345678901', 5)).toEqual(['12345', '67890', '1']);
  expect(wrapped('', 5)).toEqual(['']);
});
