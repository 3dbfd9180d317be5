import { type KillCase, killAndRestart } from './killed.ts';

/** While it acts on the account as a whole. */
const CASES: readonly KillCase[] = [
  { point: 'account.held', pass: 1, scope: 'account' },
  { point: 'account.begun', pass: 1, scope: 'account' },
  { point: 'account.sending', pass: 1, scope: 'account' },
  { point: 'account.answered', pass: 1, scope: 'account' },
  { point: 'account.finished', pass: 1, scope: 'account' },
  { point: 'account.releasing', pass: 1, scope: 'account' },
];

killAndRestart(CASES);
