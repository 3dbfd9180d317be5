import type { Command } from 'commander';
import { withExamples, withJson } from './help.ts';
import type { CliIo } from './io.ts';
import { type OrderFlags, orderByHand, withOrderOptions } from './operate/order.ts';
import { collectNonEmpty, nonEmpty } from './operate/values.ts';

interface Flags extends OrderFlags {
  readonly market?: readonly string[];
  readonly urgent?: boolean;
}

/** `breakwater flatten`: closes positions by an operator order, the way a rule would. */
export function registerFlatten(program: Command, io: CliIo): void {
  const command = program
    .command('flatten')
    .summary('close all positions of an account, or of its markets, by hand')
    .description(
      'Puts an order of your own into the inbox of an account: every open position that is meant is closed, both ' +
        'sides of a hedged market too. The daemon carries it out with its next poll, with reduce-only orders, ' +
        'mode and pause respected. Positions opened later are not meant. Shows what is meant and asks first.',
    )
    .requiredOption('-a, --account <id>', 'the account', nonEmpty)
    .option(
      '-m, --market <name>',
      'only in this market (repeatable; * and ? stand for anything)',
      collectNonEmpty,
    )
    .option('--urgent', 'close whichever way the market moves: a stop on either side of it');
  withJson(withOrderOptions(command));
  withExamples(command, {
    everything: 'flatten --account desk-1 --reason "closing the desk"',
    'some markets': 'flatten --account desk-1 --market "ETH_*" --reason "event risk" --slippage 1%,3%',
    'whichever way the market moves': 'flatten --account desk-1 --urgent --reason "key leaked"',
  });
  command.action(async (flags: Flags) => {
    await orderByHand(io, flags, {
      kind: 'flatten',
      markets: [...(flags.market ?? ['*'])],
      slippageSteps: [...flags.slippage],
      ...(flags.urgent === true ? { urgent: true } : {}),
    });
  });
}
