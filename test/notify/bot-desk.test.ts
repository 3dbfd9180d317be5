import { describe, expect, test } from 'vitest';
import { createBotDesk } from '../../src/app/bot/bot-desk.ts';
import type { AccountView } from '../../src/core/view/account-view.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { type ButtonTarget, buttonData } from '../../src/notify/telegram-buttons.ts';
import { createMemoryState } from '../../src/state/state.ts';

const RULE = { ruleId: 'built-in/blind', subject: 'account' };

/** The open notice of an account; as much of its view as a button needs. */
const openAt = (accountId: string, sinceMs: number, stage: number | null = 0) =>
  ({
    accountId,
    notices: [{ ...RULE, episode: 1, stage, sinceMs, acknowledged: null }],
  }) as unknown as AccountView;

async function press(target: ButtonTarget, views: readonly AccountView[]) {
  const { controls } = createMemoryState({ clock: systemClock });
  const desk = createBotDesk({
    controls,
    views: async (ids) => views.filter(({ accountId }) => ids?.includes(accountId) ?? true),
    accountIds: () => views.map(({ accountId }) => accountId),
    troubles: () => [],
    clock: systemClock,
  });
  const reply = await desk.press(buttonData(target) ?? '', { author: 'ann', mayControl: true });
  const accounts = (await controls.list()).map(({ accountId }) => String(accountId));
  return { ...reply, accounts: accounts.toSorted() };
}

describe('the button of a notice about many accounts', () => {
  const target = { kind: 'acknowledgeAll', ...RULE, saidAtMs: 2_000 } as const;

  test('acknowledges those that it was about, and no later one', async () => {
    const views = [openAt('desk-1', 1_000), openAt('desk-2', 2_000), openAt('desk-3', 2_001)];
    const { outcome, accounts } = await press(target, views);
    expect([outcome, accounts]).toEqual(['done', ['desk-1', 'desk-2']]);
  });

  test('says so if only later ones are left', async () => {
    const { outcome, text, accounts } = await press(target, [openAt('desk-3', 2_001)]);
    expect([outcome, accounts]).toEqual(['nothing', []]);
    expect(text).toContain('There is nothing to acknowledge.');
  });
});

describe('the button of a notice about one account', () => {
  const target = { kind: 'acknowledge', accountId: 'desk-1', ...RULE, episode: 1, stage: 0 } as const;

  test('acknowledges that account alone', async () => {
    const views = [openAt('desk-1', 1_000), openAt('desk-2', 1_000)];
    expect((await press(target, views)).accounts).toEqual(['desk-1']);
  });

  test('does nothing for a stage that it did not tell of', async () => {
    const { outcome, text, accounts } = await press(target, [openAt('desk-1', 1_000, 1)]);
    expect([outcome, accounts]).toEqual(['nothing', []]);
    expect(text).toContain('it has got worse');
  });
});
