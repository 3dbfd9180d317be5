import type { Command } from 'commander';
import type { CliIo } from './io.ts';
import { registerAnswer } from './operate/answer.ts';

/** `breakwater approve`: lets a rule in approve mode act, down to the target that was shown. */
export function registerApprove(program: Command, io: CliIo): void {
  registerAnswer(program, io, 'approve', {
    summary: 'let a rule act that asks for approval',
    description:
      'Approves what a rule in approve mode asks for: it acts with the next poll. The target is approved, not the ' +
      'prices; what goes beyond it is asked about again.',
  });
}
