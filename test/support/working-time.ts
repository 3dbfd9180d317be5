import { closeAfterTest } from './after-test.ts';

const TURN_MS = 50;

/**
 * Time from now in which this process got to work, until the end of the test: whatever holds it up between two turns
 * counts as one turn more. For bounds that a busy machine must not break.
 */
export function startWorkingTime(): () => number {
  let workedMs = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    workedMs += Math.min(nowMs - lastMs, 2 * TURN_MS);
    lastMs = nowMs;
  }, TURN_MS);
  closeAfterTest(async () => clearInterval(timer));
  return () => workedMs;
}
