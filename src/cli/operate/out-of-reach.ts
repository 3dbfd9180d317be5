import type { Desk } from '../../app.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliIo, printWarning } from '../io.ts';

/** What `--json` says of something that one daemon alone has heard: where that listens. */
export interface OutOfReach {
  readonly onlyAt?: string;
}

/**
 * Says where other processes go on as before, as Redis is lost and one daemon alone was asked; then it is not done as
 * asked.
 */
export async function sayOutOfReach(
  io: CliIo,
  desk: Desk,
  words: { readonly done: string; readonly others: string },
): Promise<OutOfReach> {
  // One that does not answer any more is not known to have told the others.
  const reachesAll = await desk.reachesAll().catch(() => false);
  if (reachesAll || desk.through === undefined) return {};
  const { base } = desk.through;
  io.setExitCode(EXIT.failed);
  printWarning(
    io,
    `Only the daemon at ${base} ${words.done}. ${words.others} until Redis is back: ask each of them with --url.`,
  );
  return { onlyAt: base };
}
