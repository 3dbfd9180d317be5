import { stripVTControlCharacters, styleText } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  bar,
  type DemoFrame,
  type DemoRow,
  renderFrame,
  sparkline,
  type WatchedSide,
} from '../../src/demo/view.ts';

const side: WatchedSide = { size: '0.5', distance: 0.05, state: 'ok', wasLiquidated: false };
const row: DemoRow = { about: 'long at 10x', protectedSide: side, twinSide: side };
const frame: DemoFrame = {
  title: 'Demo',
  about: 'a crash',
  baseUrl: 'http://127.0.0.1:1',
  speed: 10,
  elapsedMs: 65_000,
  durationMs: 130_000,
  market: { name: 'BTC_PERP', start: 60_000, last: 54_000, history: [60_000, 57_000, 54_000] },
  rows: [row],
  events: [],
};
const plain = { columns: 140, paint: (_style: unknown, text: string) => text };
const lineOf = (protectedSide: WatchedSide, twinSide: WatchedSide = side): string =>
  renderFrame({ ...frame, rows: [{ ...row, protectedSide, twinSide }] }, plain).find((line) =>
    line.startsWith(row.about),
  ) ?? '';

describe('the demo view', () => {
  test('says how much time and market have passed, and how fast', () => {
    const text = renderFrame(frame, plain).join('\n');
    expect(text).toContain('1:05 / 2:10');
    expect(text).toContain('10 times as fast');
    expect(text).toMatch(/BTC_PERP\s+54000\.0\s+-10\.0 %/);
  });

  test('a position shows its distance in figures and as the length of a bar, its twin beside it', () => {
    const [left = '', right = ''] = lineOf(side, { ...side, distance: 0.2 }).split('│');
    expect(left).toMatch(/0\.5\s+5\.0 %/);
    expect(left).toContain(bar(0.25));
    expect(right).toMatch(/0\.5\s+20\.0 %/);
    expect(right).toContain(bar(1));
  });

  test.each([
    ['without a price of liquidation it is infinitely far', { distance: undefined }, /∞ █{14} ok/],
    [
      'a passed liquidation price has no room',
      { distance: -0.01, state: 'liquidation' },
      /░{14} liquidation/,
    ],
    ['a margin call is said', { state: 'margin_call' }, /margin call/],
    ['what was liquidated in part stays so', { wasLiquidated: true }, /liquidated/],
    ['what is closed has no bar', { size: 'closed', distance: undefined }, /closed\s+ok/],
  ])('%s', (_name, change, expected) => {
    const { distance, ...rest } = { ...side, ...change };
    expect(lineOf(distance === undefined ? rest : { ...rest, distance }).split('│')[0]).toMatch(expected);
  });

  test('no line is wider than the terminal, colours or not, and every colour ends', () => {
    const coloured = {
      columns: 40,
      paint: (style: Parameters<typeof styleText>[0], text: string) =>
        styleText(style, text, { validateStream: false }),
    };
    for (const line of renderFrame(frame, coloured)) {
      expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(40);
      const opened = line.split('\u001b[').length - 1;
      expect(opened % 2).toBe(0);
    }
  });

  test('the height of a frame does not depend on how much happened', () => {
    const events = Array.from({ length: 30 }, (_, index) => ({
      atMs: index,
      tone: 'info' as const,
      text: `event ${index}`,
    }));
    const busy = renderFrame({ ...frame, events }, plain);
    expect(busy).toHaveLength(renderFrame(frame, plain).length);
    expect(busy.join('\n')).toContain('event 29');
  });

  test('a sparkline spans from the lowest to the highest price', () => {
    expect(sparkline([1, 2, 3])).toBe('▁▅█');
    expect(sparkline([5, 5])).toBe('▄▄');
  });
});
