import type { Expectation } from '../../core/controls/daemon-sign.ts';
import { CliError } from '../errors.ts';

const CURE =
  'Name the config of the daemons with --config, as a user who can read the file of operators.key, and restart daemons that have another key.';

/** @throws CliError if every daemon refuses it */
export function requireNot(expected: Expectation, undone: string, also = ''): void {
  if (expected.kind !== 'refused') return;
  throw new CliError('not-obeyed', `${undone}: ${expected.why}.`, { cure: `${CURE} ${also}`.trim() });
}
