import type { Command } from 'commander';
import { registerExport, registerPrune } from './audit/keep.ts';
import { registerShow, registerTail } from './audit/look.ts';
import { registerVerify } from './audit/verify.ts';
import { withExamples } from './help.ts';
import type { CliIo } from './io.ts';
import { withHelpCommand } from './named-command.ts';

/**
 * `breakwater audit`: why the daemons did what they did, and proof that nobody changed the records since. It always reads
 * what is stored: hashes and seals prove nothing of what a daemon says, and its API hides addresses and memos.
 */
export function registerAudit(program: Command, io: CliIo): void {
  const audit = program
    .command('audit')
    .summary('read, check, export and prune the audit trail')
    .description(
      'The audit trail: chains of records of each account and its lanes, each with the hash of the one before, and the inputs ' +
        'of every decision that changed something. What operators do to all accounts is in the chain @operators.',
    );
  for (const register of [registerTail, registerShow, registerVerify, registerExport, registerPrune]) {
    register(audit, io);
  }
  withHelpCommand(audit);
  withExamples(audit, {
    'what is happening': 'audit tail --account desk-1 --follow',
    'one decision with all it was computed from': 'audit show 1842 --account desk-1 --inputs',
    'all chains of the config': 'audit verify',
  });
}
