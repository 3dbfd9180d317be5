import { describe, expect, test } from 'vitest';
import type { CallPriority } from '../../../src/core/ports/exchange.ts';
import { GatewayPause } from '../../../src/exchange/limits/gateway-pause.ts';
import { Turns } from '../../../src/exchange/limits/limiter.ts';

const PRIORITIES: readonly CallPriority[] = ['normal', 'watching', 'protective'];

describe('the pause after refusals of a gateway', () => {
  test.each([
    [undefined, [1, 2, 4, 8, 16, 32, 60, 60]],
    [0, [1, 1, 1, 1]],
    [200, [1, 1, 1, 1]],
    [500, [1, 2, 2, 2, 2, 2, 2, 2]],
    [10_000, [10, 10, 10, 10, 16, 32, 40, 40]],
    [30_000, [30, 30, 30, 30, 30, 32, 60, 60]],
    [120_000, [120, 120, 120, 120, 120, 120, 120, 120]],
  ])('with a Retry-After of %s ms, in seconds', (retryAfterMs, seconds) => {
    const pause = new GatewayPause();
    const pauses = seconds.map((_, index) => pause.refused(retryAfterMs, index * 1e6, index * 1e6));
    expect(pauses).toEqual(seconds.map((one) => one * 1_000));
    const lastMs = (seconds.length - 1) * 1e6;
    const endMs = lastMs + (pauses.at(-1) ?? 0);
    expect(pause.waitMs('normal', lastMs)).toBe(endMs - lastMs);
    expect([pause.holds(endMs - 1), pause.holds(endMs)]).toEqual([true, false]);
    expect(pause.waitMs('normal', endMs)).toBe(0);
  });

  test('a call outside of a pause begins none', () => {
    const pause = new GatewayPause();
    for (const priority of PRIORITIES) {
      pause.leaves(priority, 1_000);
      for (const other of PRIORITIES) expect(pause.waitMs(other, 1_000)).toBe(0);
    }
    pause.refused(10_000, 20_000, 20_000);
    pause.passed(20_000);
    expect(pause.waitMs('protective', 20_000)).toBe(1_000);
    pause.passed(20_001);
    expect(pause.waitMs('protective', 20_001)).toBe(0);
    pause.leaves('normal', 25_000);
    expect(pause.waitMs('watching', 25_000)).toBe(1_000);
    pause.leaves('protective', 30_000);
    expect(PRIORITIES.map((one) => pause.waitMs(one, 30_000))).toEqual([0, 0, 0]);
  });

  test('a shorter pause does not end a longer one', () => {
    const pause = new GatewayPause();
    pause.refused(40_000, 0, 0);
    pause.refused(1_000, 10_000, 10_000);
    expect(pause.waitMs('normal', 10_000)).toBe(30_000);
  });

  test.each([
    ['protective', undefined, [1, 1, 1, 2, 4, 8, 8, 8]],
    ['watching', undefined, [1, 2, 4, 8, 8, 8, 8, 8]],
    ['protective', 60_000, [1, 1, 1, 2, 4, 8, 16, 32, 60]],
    ['watching', 60_000, [1, 2, 4, 8, 16, 32, 60]],
    ['watching', 500, [1, 1, 1]],
  ] as const)(
    '%s calls go on in a pause of %s ms, each so many seconds after the previous one',
    (priority, retryAfterMs, seconds) => {
      const pause = new GatewayPause();
      const waits = seconds.map((_, index) => {
        const nowMs = index * 10;
        pause.refused(retryAfterMs, nowMs, nowMs);
        const waitMs = pause.waitMs(priority, nowMs);
        pause.leaves(priority, nowMs + 1);
        expect(pause.waitMs(priority, nowMs + 1)).toBe(waitMs);
        return waitMs / 1_000;
      });
      expect(waits).toEqual(seconds);
    },
  );
});

describe('a pause of one endpoint, which protective calls prolong', () => {
  /** A caller who asks every 100 ms and is told that the pause lasts that much longer. Returns when he may go. */
  function askIn(turns: Turns, fromMs: number, toMs: number, lastsMs: number): readonly number[] {
    const goes: number[] = [];
    for (let nowMs = fromMs; nowMs < toMs; nowMs += 100) {
      const waitMs = turns.waitMs({ granted: 0, retryInMs: lastsMs, isPause: true }, nowMs);
      expect(waitMs).toBeLessThanOrEqual(lastsMs);
      if (waitMs === 0) goes.push(nowMs);
    }
    return goes;
  }

  test('holds a caller for the time first told, then lets one call go each second', () => {
    expect(askIn(new Turns(), 10_000, 16_000, 2_500)).toEqual([12_500, 13_500, 14_500, 15_500]);
  });

  test('lets the next call go at once after an answer that was no refusal', () => {
    const turns = new Turns();
    expect(askIn(turns, 0, 1_100, 1_000)).toEqual([1_000]);
    turns.passed();
    expect(askIn(turns, 1_100, 1_300, 1_000)).toEqual([1_100]);
  });

  test.each([
    [5_000, 0],
    [5_001, 1_000],
  ])('asked about %i ms after its end, lasts %i ms', (laterMs, waitMs) => {
    const turns = new Turns();
    expect(turns.waitMs({ granted: 0, retryInMs: 1_000, isPause: true }, 0)).toBe(1_000);
    expect(turns.waitMs({ granted: 0, retryInMs: 1_000, isPause: true }, 1_000 + laterMs)).toBe(waitMs);
  });

  test('that starts again as soon as it is over holds nobody a second time', () => {
    const turns = new Turns();
    expect(turns.waitMs({ granted: 0, retryInMs: 1_000, isPause: true }, 0)).toBe(1_000);
    expect(turns.waitMs({ granted: 0, retryInMs: 70, isPause: false }, 500)).toBe(70);
    expect(turns.waitMs({ granted: 2, retryInMs: 0, isPause: false }, 600)).toBe(0);
    expect(turns.waitMs({ granted: 0, retryInMs: 1_000, isPause: true }, 1_000)).toBe(0);
  });
});
