import type { CliIo } from '../io.ts';
import { decide } from './decide.ts';
import type { InitFlags } from './flags.ts';
import { openPrompter } from './prompter.ts';
import { report } from './report.ts';
import { requireAbsent } from './secret-sources.ts';
import { writeDecided } from './write-decided.ts';

/** Decides, writes and reports. Writes nothing until everything is decided. */
export async function init(io: CliIo, flags: InitFlags): Promise<void> {
  await requireAbsent(flags.out, 'Name another file with --out.');
  const prompter = io.isTty.stdin ? openPrompter(io) : undefined;
  try {
    const decisions = await decide(io, flags, prompter);
    const written = await writeDecided(io, decisions);
    report(io, flags, decisions, written);
  } finally {
    prompter?.close();
  }
}
