import { sliceOf } from '../support/slice.ts';
import { type KillCase, killAndRestart } from './killed.ts';

/** What was sent and not written down must neither be forgotten nor sent twice. */
const AT_THE_REQUEST: readonly KillCase[] = [{ point: 'account.answered', pass: 1, scope: 'account' }];

/** While it acts on the account as a whole. */
const OTHERS: readonly KillCase[] = [
  { point: 'account.held', pass: 1, scope: 'account' },
  { point: 'account.begun', pass: 1, scope: 'account' },
  { point: 'account.sending', pass: 1, scope: 'account' },
  { point: 'account.finished', pass: 1, scope: 'account' },
  { point: 'account.releasing', pass: 1, scope: 'account' },
];

killAndRestart([...AT_THE_REQUEST, ...sliceOf(OTHERS, 4, 'other points of an action on the account')]);
