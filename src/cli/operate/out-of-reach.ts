import type { Desk } from '../../app.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliIo, printWarning } from '../io.ts';

/** `--json` field of something that only one daemon has learned: the address of that daemon. */
export interface OutOfReach {
  readonly onlyAt?: string;
}

/**
 * Warns that other processes go on as before, if Redis is lost and only one daemon was asked; the command has then
 * failed in part.
 */
export async function sayOutOfReach(
  io: CliIo,
  desk: Desk,
  words: { readonly done: string; readonly others: string },
): Promise<OutOfReach> {
  // A daemon that no longer answers is not known to have told the others.
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
