import type { Desk } from '../../app.ts';
import type { Expectation } from '../../core/controls/daemon-sign.ts';
import { CliError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliIo, printWarning } from '../io.ts';

const CURE =
  'Name the config of the daemons with --config, as a user who can read the file of operators.key, and restart daemons that have another key.';

/**
 * Refuses a command that no daemon would obey, before anything is written; warns if one of several would not. `undone`
 * is the reply, such as `nothing was paused`.
 * @throws CliError
 */
export async function requireObeyed(
  io: CliIo,
  desk: Desk,
  { accountId, undone }: { readonly accountId: string | undefined; readonly undone: string },
): Promise<void> {
  const expected = await desk.obedience(accountId ?? null);
  requireNot(expected, undone);
  if (expected.kind === 'nobody')
    printWarning(
      io,
      'No daemon shows itself in this Redis: one that has lost it goes on. Ask it with --url.',
    );
  if (expected.kind !== 'unsure') return;
  io.setExitCode(EXIT.failed);
  printWarning(io, `Not obeyed by one of several daemons: ${expected.why}. ${CURE}`);
}

/** @throws CliError if every daemon refuses it */
export function requireNot(expected: Expectation, undone: string, also = ''): void {
  if (expected.kind !== 'refused') return;
  throw new CliError('not-obeyed', `${undone}: ${expected.why}.`, { cure: `${CURE} ${also}`.trim() });
}
