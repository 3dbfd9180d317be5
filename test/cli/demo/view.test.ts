import { stripVTControlCharacters, styleText } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  bar,
  type DemoFrame,
  renderFrame,
  sparkline,
  type WatchedLoan,
  type WatchedPosition,
} from '../../../src/cli/demo/view.ts';

const position: WatchedPosition = {
  kind: 'position',
  accountId: 'desk-1',
  positionId: '7',
  market: 'BTC_PERP',
  direction: 'long',
  size: '0.5',
  markPrice: 52_000,
  liquidationPrice: 49_400,
  distance: 0.05,
  state: 'ok',
  gone: false,
};
const loan: WatchedLoan = {
  kind: 'loan',
  accountId: 'desk-1',
  asset: 'USDT',
  createdAt: 1,
  amount: '16000',
  currentLtv: 70,
  marginCallLtv: 75,
  liquidationLtv: 85,
  gone: false,
};
const frame: DemoFrame = {
  title: 'Demo',
  baseUrl: 'http://127.0.0.1:1',
  elapsedMs: 65_000,
  durationMs: 130_000,
  markets: [{ name: 'BTC_PERP', start: 60_000, last: 54_000, history: [60_000, 57_000, 54_000] }],
  rows: [position, loan],
  events: [],
  reads: { sent: 10, failed: 0, medianMs: 1.25 },
};
const plain = { columns: 120, paint: (_style: unknown, text: string) => text };
const rowOf = (row: WatchedPosition | WatchedLoan): string =>
  renderFrame({ ...frame, rows: [row] }, plain).find((line) => line.startsWith(row.accountId)) ?? '';

describe('the demo view', () => {
  test('says how much time and market have passed', () => {
    const text = renderFrame(frame, plain).join('\n');
    expect(text).toContain('1:05 / 2:10');
    expect(text).toMatch(/BTC_PERP\s+54000\.0\s+-10\.0 %/);
  });

  test('a position shows its distance in figures and as the length of a bar', () => {
    expect(rowOf(position)).toMatch(/52000\.0\s+49400\.0\s+5\.0 %/);
    expect(rowOf(position)).toContain(bar(0.25));
    expect(rowOf({ ...position, distance: 0.2 })).toContain(bar(1));
  });

  test.each([
    [
      'no liquidation price is infinitely far',
      { liquidationPrice: null, distance: undefined },
      /none\s+∞ +█{20} ok/,
    ],
    [
      'what is unknown is a question mark, never a figure',
      { markPrice: undefined, distance: undefined },
      /\? .*\? .*░{20}/,
    ],
    ['a leg that on the other side gets no bar', { distance: -0.1 }, /-10\.0 %\s+on the other side/],
    ['a passed liquidation price does', { distance: -0.01, state: 'liquidation' }, /░{20} liquidation/],
    ['a position that is gone says so', { gone: true }, /0\.5\s+gone/],
  ])('%s', (_name, change, expected) => {
    expect(rowOf({ ...position, ...change })).toMatch(expected);
  });

  test('a loan shows its LTV against margin call and liquidation', () => {
    expect(rowOf(loan)).toMatch(/70\.0 %\s+85 %\s+17\.6 %/);
    expect(rowOf(loan)).toContain('call 75 %');
    expect(rowOf({ ...loan, currentLtv: 75 })).toContain('margin call');
    expect(rowOf({ ...loan, currentLtv: undefined })).toContain('LTV not reported');
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
