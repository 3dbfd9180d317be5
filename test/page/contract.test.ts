import { describe, expect, it } from 'vitest';
import { accountSchema } from '../../src/core/view/account-view.ts';
import { actionLineSchema } from '../../src/core/view/action-log.ts';
import { storyEntrySchema } from '../../src/core/view/story.ts';
import { overview as overviewSchema } from '../../src/web/api/schemas.ts';
import type { PageAction, PageOverview, PageStoryEntry } from '../../src/web/page/contract.d.ts';
import { account, creditLine } from '../support/account-view.ts';
import { endangered, overview } from './fixture.ts';

/** The fixtures of the page's tests equal the answers of the real API, and the page reads only their fields. */

type Output<T extends { readonly _output: unknown }> = T['_output'];

/** Compiles only while the API's answers contain everything that the page reads. */
const READ: {
  overview: (from: Output<typeof overviewSchema>) => PageOverview;
  action: (from: Output<typeof actionLineSchema>) => PageAction;
  story: (from: Output<typeof storyEntrySchema>) => PageStoryEntry;
} = {
  overview: (from) => from,
  action: (from) => from,
  story: (from) => from,
};

describe('the scripted API', () => {
  it.each([
    ['a calm account', account('a')],
    ['an endangered one', endangered('b')],
    ['a borrower', account('c', { positions: [], creditLines: [creditLine()] })],
  ])('has accounts as the real API returns them: %s', (_name, given) => {
    expect(accountSchema.parse(given)).toEqual(given);
  });

  it('has overview, actions and stories as the real API returns them', () => {
    const seen = READ.overview(overviewSchema.parse(overview()));
    expect(seen).toEqual(overviewSchema.parse(seen));
    const action = {
      id: '1',
      accountId: 'a',
      market: 'BTC_PERP',
      positionId: '1',
      kind: 'place',
      outcome: 'accepted',
      reason: 'rule',
      atMs: 1,
      tookMs: 48,
      words: 'sell 0.88',
    } as const;
    expect(READ.action(actionLineSchema.parse(action))).toEqual(action);
    const told = { seq: 1, part: 0, atMs: 1, kind: 'transition', words: 'fires', detail: {} } as const;
    expect(READ.story(storyEntrySchema.parse(told))).toEqual(told);
  });
});
