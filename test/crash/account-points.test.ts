import { sliceOf } from '../support/slice.ts';
import { type KillCase, killAndRestart } from './killed.ts';

/**
 * Points while it acts on the whole account: a request sent but not recorded must be neither forgotten nor repeated.
 */
const CASES: readonly KillCase[] = [
  { point: 'account.answered', pass: 1, scope: 'account' },
  { point: 'account.held', pass: 1, scope: 'account' },
  { point: 'account.begun', pass: 1, scope: 'account' },
  { point: 'account.sending', pass: 1, scope: 'account' },
  { point: 'account.finished', pass: 1, scope: 'account' },
  { point: 'account.releasing', pass: 1, scope: 'account' },
];

killAndRestart(sliceOf(CASES, 6, 'points of an action on the account'));
