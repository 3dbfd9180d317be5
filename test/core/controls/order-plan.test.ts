import path from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  closesWhen,
  type MeantOrder,
  missingPosition,
  orderObstacles,
  planLines,
} from '../../../src/core/controls/order-plan.ts';
import type { AccountView } from '../../../src/core/view/account-view.ts';
import { account, position, text } from '../../support/account-view.ts';
import { Dice } from '../../support/dice.ts';
import { positionLine } from '../view/scenes.ts';

/** Text shown before a confirmation: `npm test -- test/core/controls/order-plan.test.ts --update` rewrites it. */

const NOW_MS = 1_767_225_600_000;
const order = (changes: Partial<MeantOrder> = {}): MeantOrder => ({
  target: { kind: 'by', fraction: 0.5 },
  slippageSteps: [0.005, 0.012_345_678],
  flatten: false,
  ...changes,
});
const view = (changes: Partial<AccountView> = {}): AccountView =>
  account('desk', {
    judgedAtMs: NOW_MS,
    positions: [
      position('41', { market: 'BTC_PERP', markPrice: text('64000') }),
      position('42', { market: 'ETH_PERP', direction: 'short', markPrice: text('0.00012345678') }),
      position('43', { market: 'BTC_USDT', markPrice: null }),
    ],
    ...changes,
  });

const ORDERS: readonly MeantOrder[] = [
  order(),
  order({ positionId: '42' }),
  order({ positionId: '99' }),
  order({ markets: ['BTC_*'], target: { kind: 'to', fraction: 0.25 } }),
  order({ markets: ['SOL_PERP'], target: { kind: 'untilDistance', distance: 0.1 } }),
  order({ flatten: true }),
  order({ flatten: true, markets: ['BTC_PERP', 'ETH_PERP'] }),
  order({ flatten: true, markets: ['ETH_PERP', '*'], urgent: true }),
];

test('the plan of operator orders matches the transcript', async () => {
  const gaps: Readonly<Record<string, number>> = { BTC_PERP: 0.002_345, ETH_PERP: 0.01, BTC_USDT: 0.001 };
  const lines: string[] = [];
  for (const one of ORDERS) {
    const plan = planLines(one, view(), (market) => gaps[market]);
    lines.push(`-- ${plan.find(({ label }) => label === 'order')?.text}: ${closesWhen(one)}`);
    for (const { label, text: words } of plan) lines.push(`${label}: ${words}`);
  }
  const file = path.join(import.meta.dirname, 'transcripts', 'order-plan.txt');
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(file);
});

const sentBy = (one: MeantOrder, gapOf: Parameters<typeof planLines>[2]): readonly string[] =>
  planLines(one, view(), gapOf).flatMap(({ label, text: words }) => (label === 'will send' ? [words] : []));

test('the plan promised a stop in a market without a `markets` entry, where lanes send nothing', () => {
  const gaps: Readonly<Record<string, number>> = { BTC_PERP: 0.002 };
  const [known, ...others] = sentBy(order({ flatten: true }), (market) => gaps[market]);
  expect(known).toContain('a reduce-only sell stop at about 63872');
  expect(others).toEqual([
    'ETH_PERP: nothing: the config has no `markets` entry for it',
    'BTC_USDT: nothing: the config has no `markets` entry for it',
  ]);
});

test('an order is placed where the market moves against the position, an urgent one on both sides', () => {
  const dice = new Dice(9);
  for (let index = 0; index < 200; index += 1) {
    const line = positionLine(dice, '41');
    const isUrgent = dice.hits(0.5);
    const gap = dice.of(0.001, 0.05);
    const plan = planLines(
      order(isUrgent ? { flatten: true, urgent: true } : {}),
      view({ positions: [line] }),
      () => gap,
    );
    const words = plan.find(({ label }) => label === 'will send')?.text ?? '';
    const prices = /about ([\d.e-]+)(?: and ([\d.e-]+))?;/.exec(words)?.slice(1).map(Number) ?? [];
    if (line.direction === null || line.markPrice === null) {
      expect(words).toContain('nothing before direction and mark are known');
      continue;
    }
    const sign = line.direction === 'long' ? -1 : 1;
    expect(words).toContain(`reduce-only ${sign === -1 ? 'sell' : 'buy'} stop`);
    expect((prices[0] ?? 0) / Number(line.markPrice)).toBeCloseTo(1 + sign * gap, 4);
    if (isUrgent) expect((prices[1] ?? 0) / Number(line.markPrice)).toBeCloseTo(1 - sign * gap, 4);
    else expect(words).toContain(sign === -1 ? 'falls' : 'rises');
  }
});

describe('missing position', () => {
  test.each([
    ['is there', { positionId: '42' }, {}, undefined],
    ['is none in particular', {}, {}, undefined],
    ['nobody has looked for yet', { positionId: '99' }, { judgedAtMs: null }, undefined],
    ['is not there', { positionId: '99' }, {}, 'Its positions: 41 (BTC_PERP), 42 (ETH_PERP), 43 (BTC_USDT).'],
    ['is not there, nor any other', { positionId: '99' }, { positions: [] }, 'It has no position at all.'],
  ] as const)('%s', (_what, meant, changes, cure) => {
    const missing = missingPosition(order(meant), view(changes));
    expect(missing?.cure).toBe(cure);
    if (cure !== undefined)
      expect(missing?.words).toBe('account desk has no position "99": nothing was ordered.');
  });
});

describe('obstacles that may keep an order from being carried out', () => {
  const pause = {
    kind: 'pause',
    id: 'p',
    author: 'ann',
    reason: 'repair',
    atMs: 0,
    expiresAtMs: null,
  } as const;

  test.each([
    ['nothing', {}, []],
    ['observe mode', { mode: 'observe' }, [/observe mode/]],
    ['a pause', { pause: { ...pause, accountId: 'desk' } }, [/^The account is paused \(ann: repair\)/]],
    ['a pause of all', { pause: { ...pause, accountId: null } }, [/^Everything is paused/]],
    ['never polled', { judgedAtMs: null }, [/No daemon has ever polled/]],
    ['polled a minute ago', { judgedAtMs: NOW_MS - 60_000 }, []],
    ['polled longer ago', { judgedAtMs: NOW_MS - 60_001 }, [/The last poll was 1 min ago/]],
    ['several', { mode: 'observe', judgedAtMs: null }, [/observe/, /ever polled/]],
  ] as const)('%s', (_what, changes, expected) => {
    const obstacles = orderObstacles(view(changes), NOW_MS);
    expect(obstacles).toHaveLength(expected.length);
    for (const [index, words] of expected.entries()) expect(obstacles[index]).toMatch(words);
  });
});
