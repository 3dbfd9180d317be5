import type { AccountView } from '../../src/core/view/account-view.ts';

/** An account of which nothing is known but that it is there. */
export const viewOf = (accountId: string, changes: Partial<AccountView> = {}): AccountView => ({
  accountId,
  labels: {},
  mode: 'enforce',
  pause: null,
  silences: [],
  life: null,
  judgedAtMs: null,
  nextDueAtMs: null,
  figuresAtMs: null,
  worst: null,
  danger: 0,
  sources: [],
  positions: [],
  creditLines: [],
  balances: [],
  rules: [],
  intents: [],
  orders: [],
  inbox: [],
  doubts: [],
  refused: null,
  ...changes,
});
