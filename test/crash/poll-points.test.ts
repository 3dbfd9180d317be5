import { sliceOf } from '../support/slice.ts';
import { type KillCase, killAndRestart } from './killed.ts';

/** Points of a poll: before and after the claim, the reads, the commit and the handover. */
const POLLS: readonly KillCase[] = [
  { point: 'poll.taken', pass: 1, scope: 'market' },
  { point: 'poll.read', pass: 1, scope: 'market' },
  { point: 'poll.evaluated', pass: 1, scope: 'market' },
  { point: 'poll.committing', pass: 1, scope: 'market' },
  { point: 'poll.committed', pass: 1, scope: 'market' },
  { point: 'poll.dispatching', pass: 1, scope: 'market' },
  { point: 'poll.dispatched', pass: 1, scope: 'market' },
];

const NOTICES: readonly KillCase[] = [
  { point: 'notice.handing', pass: 1, scope: 'market' },
  { point: 'notice.handed', pass: 1, scope: 'market' },
];

killAndRestart([...sliceOf(POLLS, 7, 'points of a poll'), ...sliceOf(NOTICES, 2, 'points of a notice')]);
