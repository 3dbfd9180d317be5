import { expect, test } from 'vitest';
import { contactProblem } from '../../src/app/contact-problem.ts';

test.each([
  ["Socket timeout. Expecting data, but didn't receive any in 3000ms.", true],
  ['no answer within 3 s', true],
  ['Command timed out', true],
  ['WRONGPASS invalid username-password pair or user is disabled.', false],
  ["NOPERM this user has no permissions to run the 'ping' command", false],
])(
  'a server that hangs in the first moments of a start counts as away, a wrong access does not: %s',
  (message, isAway) => {
    expect(contactProblem(new Error(message), {}).isAway).toBe(isAway);
  },
);
