import { createHash } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import { accountRow } from '../../../src/core/lines/account-row.ts';
import { exchangeLinkOf } from '../../../src/core/lines/exchange-link.ts';
import { creditLineWords, jointWords, positionWords } from '../../../src/core/lines/position-words.ts';
import { type AccountView, emptyView, type Figure } from '../../../src/core/view/account-view.ts';
import { doubtLines, intentLines, orderLines } from '../../../src/core/view/lane-lines.ts';
import { headlineOf } from '../../../src/core/view/state-line.ts';
import { stateOf } from '../../../src/core/view/state-of.ts';
import { creditLine } from '../../support/account-view.ts';
import { Dice } from '../../support/dice.ts';
import { NOW_MS, positionLine, stateInputs } from './scenes.ts';

/** Words about random accounts, kept for review: `npm test -- test/core/view/scenes.test.ts --update` rewrites them. */

interface Scene {
  readonly view: AccountView;
  readonly lines: readonly string[];
}

function sceneOf(dice: Dice, index: number): Scene {
  const inputs = stateInputs(dice);
  const state = stateOf(inputs);
  const view: AccountView = {
    ...emptyView(`desk-${index}`, state),
    mode: inputs.mode,
    pause: inputs.pause,
    judgedAtMs: inputs.judgedAtMs,
    nearest: dice.of<Figure>(0.123_456, 'none', null),
    jointDistance: dice.of<Figure>(0.2, 'none', null),
    atRisk: [{ money: 'USDT', worth: dice.of(12_345.6, null) }],
    sources: dice.hits(0.8) ? inputs.sources : [],
    positions: inputs.positions.map(({ positionId }) => positionLine(dice, positionId)),
    creditLines: dice.hits(0.3) ? [creditLineOf(dice)] : [],
    rules: inputs.rules as AccountView['rules'],
    intents: intentLines(inputs.lanes),
    orders: orderLines(inputs.lanes),
    questions: inputs.questions,
    doubts: doubtLines(inputs.lanes),
  };
  const { state: _, ...row } = accountRow(view);
  return {
    view,
    lines: [
      JSON.stringify(state),
      JSON.stringify(row),
      ...view.positions.map((one) => positionWords(one, view)),
      ...view.creditLines.map((one) => creditLineWords(one, view)),
      jointWords(view) ?? 'no words of all together',
      ...view.intents.map((one) => JSON.stringify(one)),
      ...view.orders.map((one) => JSON.stringify(one)),
      ...view.doubts.map((one) => JSON.stringify(one)),
    ],
  };
}

function creditLineOf(dice: Dice): AccountView['creditLines'][number] {
  const cure = {
    targetLtv: 0.6,
    repay: '100',
    addCollateralWorth: '166.7',
  } as AccountView['creditLines'][number]['cures'][number];
  return {
    ...creditLine(),
    currentLtv: dice.of<Figure>(0.71, null, 'none'),
    marginCallLtv: dice.of<Figure>(0.8, null),
    cures: dice.of([], [cure], [cure, { ...cure, targetLtv: 0.5 }]),
  };
}

function together(scenes: readonly Scene[]): readonly string[] {
  const views = scenes.map(({ view }) => view);
  return [JSON.stringify(headlineOf(views)), JSON.stringify(exchangeLinkOf(views))];
}

function scenesOf(dice: Dice, count: number): readonly Scene[] {
  return Array.from({ length: count }, (_, index) => sceneOf(dice, index));
}

test('scenes of accounts, and what is said of them', async () => {
  const scenes = scenesOf(new Dice(5), 40);
  const lines = scenes.flatMap((scene) => [`-- ${scene.view.accountId}`, ...scene.lines]);
  const file = path.join(import.meta.dirname, 'transcripts', 'scenes.txt');
  await expect(`${[...lines, ...together(scenes)].join('\n')}\n`).toMatchFileSnapshot(file);
});

test.for([1, 2, 3, 4, 5, 6])('two hundred scenes by their hash, %i', (seed) => {
  const dice = new Dice(seed * 1_000);
  const hash = createHash('sha256');
  for (let group = 0; group < 50; group += 1) {
    const scenes = scenesOf(dice, dice.of(1, 3, 8));
    for (const { lines } of scenes) hash.update(lines.join('\n'));
    hash.update(together(scenes).join('\n'));
  }
  expect(hash.digest('hex').slice(0, 16)).toMatchSnapshot();
});

test('what a state says: no order is at work that the exchange has not taken', () => {
  const dice = new Dice(77);
  for (let index = 0; index < 400; index += 1) {
    const inputs = stateInputs(dice);
    const { kind } = stateOf(inputs);
    const taken = inputs.lanes.flatMap(({ orders }) =>
      orders.filter(({ status, presumedFilled }) => status === 'open' || presumedFilled),
    );
    if (kind === 'acting' || kind === 'waiting') expect(taken.length).toBeGreaterThan(0);
    if (kind === 'calm') {
      expect(
        inputs.rules.filter(({ phase, frozen }) => frozen || phase === 'firing' || phase === 'pending'),
      ).toEqual([]);
      expect(inputs.storeLink).toBe('ok');
      expect(inputs.pause).toBeNull();
    }
    expect(stateOf({ ...inputs, storeLink: 'lost' })).toMatchObject({ kind: 'blind', cause: 'storeLost' });
  }
});

test('whether the exchange answers, as accounts show it', () => {
  const account = (cause: string, judgedAtMs: number | null = NOW_MS) =>
    ({ state: { cause }, judgedAtMs }) as Parameters<typeof exchangeLinkOf>[0][number];
  const link = (...accounts: ReturnType<typeof account>[]): string => {
    const { ok, words } = exchangeLinkOf(accounts);
    return `${ok}: ${words}`;
  };
  expect([
    link(),
    link(account('nothing', null)),
    link(account('nothing'), account('nothing', null)),
    link(account('storeLost'), account('nothing')),
    link(account('storeLost'), account('unreachable')),
    ...['keyRefused', 'unreachable', 'exchangeFails', 'rateLimited', 'replyUnreadable'].map((cause) =>
      link(account(cause)),
    ),
    link(account('unreachable'), account('unreachable'), account('keyRefused'), account('nothing')),
  ]).toMatchInlineSnapshot(`
    [
      "null: no account has been polled yet",
      "null: no account has been polled yet",
      "true: it answers",
      "null: not known while Redis is down",
      "false: the exchange is unreachable: 1 of 2 accounts",
      "false: the exchange refuses the key: 1 of 1 account",
      "false: the exchange is unreachable: 1 of 1 account",
      "false: the exchange answers with errors: 1 of 1 account",
      "false: the request limit is reached: 1 of 1 account",
      "false: the replies of the exchange cannot be read: 1 of 1 account",
      "false: the exchange is unreachable: 2; the exchange refuses the key: 1 of 4 accounts",
    ]
  `);
});
