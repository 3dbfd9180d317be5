import type { Command } from 'commander';
import type { CliIo } from './io.ts';
import { registerAnswer } from './operate/answer.ts';

/** `breakwater veto`: keeps a rule in approve mode from acting. */
export function registerVeto(program: Command, io: CliIo): void {
  registerAnswer(program, io, 'veto', {
    summary: 'keep a rule from acting that asks for approval',
    description:
      'Vetoes what a rule in approve mode asks for: this stage of it does not act. A later stage, or liquidation ' +
      'clearly nearer, asks again; in a margin call the rule acts all the same.',
  });
}
