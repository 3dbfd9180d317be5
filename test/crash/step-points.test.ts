import { sliceOf } from '../support/slice.ts';
import { type KillCase, killAndRestart } from './killed.ts';

/** Points around the request: a request sent but not recorded must be neither forgotten nor repeated. */
const AT_THE_REQUEST: readonly KillCase[] = [
  { point: 'step.sending', pass: 1, scope: 'market' },
  { point: 'step.answered', pass: 1, scope: 'market' },
];

/** Points while it acts in a market: before and after the lease, each commit and the record. */
const OTHERS: readonly KillCase[] = [
  { point: 'lane.acquired', pass: 1, scope: 'market' },
  { point: 'lane.loaded', pass: 1, scope: 'market' },
  { point: 'step.begun', pass: 1, scope: 'market' },
  { point: 'step.finishing', pass: 1, scope: 'market' },
  { point: 'step.finished', pass: 1, scope: 'market' },
  { point: 'lane.reading', pass: 1, scope: 'market' },
  { point: 'lane.read', pass: 1, scope: 'market' },
  { point: 'lane.releasing', pass: 1, scope: 'market' },
  { point: 'step.sending', pass: 3, scope: 'market' },
  { point: 'step.answered', pass: 3, scope: 'market' },
  { point: 'step.finished', pass: 3, scope: 'market' },
];

const withoutRedis = (cases: readonly KillCase[]): readonly KillCase[] =>
  cases.map((one) => ({ ...one, withoutRedis: true }));

killAndRestart([
  ...sliceOf(AT_THE_REQUEST, 2, 'points around a request'),
  ...sliceOf(OTHERS, 11, 'other points of a step in a market'),
  ...sliceOf(withoutRedis(AT_THE_REQUEST), 2, 'points around a request without Redis'),
  ...sliceOf(withoutRedis(OTHERS), 11, 'other points of a step in a market without Redis'),
]);
