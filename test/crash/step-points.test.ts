import { type KillCase, killAndRestart } from './killed.ts';

/** While it acts in a market: before and after the lease, each commit, the request and its record. */
const CASES: readonly KillCase[] = [
  { point: 'lane.acquired', pass: 1, scope: 'market' },
  { point: 'lane.loaded', pass: 1, scope: 'market' },
  { point: 'step.begun', pass: 1, scope: 'market' },
  { point: 'step.sending', pass: 1, scope: 'market' },
  { point: 'step.answered', pass: 1, scope: 'market' },
  { point: 'step.finishing', pass: 1, scope: 'market' },
  { point: 'step.finished', pass: 1, scope: 'market' },
  { point: 'lane.reading', pass: 1, scope: 'market' },
  { point: 'lane.read', pass: 1, scope: 'market' },
  { point: 'lane.releasing', pass: 1, scope: 'market' },
  { point: 'step.sending', pass: 3, scope: 'market' },
  { point: 'step.answered', pass: 3, scope: 'market' },
  { point: 'step.finished', pass: 3, scope: 'market' },
];

killAndRestart(CASES);
