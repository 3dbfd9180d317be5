import { type Command, Option } from 'commander';
import type { ReduceTarget } from '../core/rules/rule.ts';
import { UsageError } from './errors.ts';
import { withExamples, withJson } from './help.ts';
import type { CliIo } from './io.ts';
import { type OrderFlags, orderByHand, withdrawByHand, withOrderOptions } from './operate/order.ts';
import { nonEmpty, positiveAmount, ratio } from './operate/values.ts';

interface Flags extends OrderFlags {
  readonly position?: string;
  readonly by?: number;
  readonly to?: number;
  readonly toNotional?: string;
  readonly untilDistance?: number;
  readonly withdraw?: string;
}

/** `breakwater reduce`: reduces one position by an operator order, the way a rule would. */
export function registerReduce(program: Command, io: CliIo): void {
  const command = program
    .command('reduce')
    .summary('reduce one position by hand, the way a rule would')
    .description(
      'Puts an order of your own into the inbox of an account. The daemon carries it out with its next poll, ' +
        'the way it carries out what rules ask for: reduce-only, mode and pause respected, followed up until the ' +
        'position is at target, every step in the audit. Shows what is meant and asks first.',
    )
    .requiredOption('-a, --account <id>', 'the account', nonEmpty)
    .option('-p, --position <id>', 'the position', nonEmpty)
    .option('--by <ratio>', 'take away this part of its size, such as 50%', ratio(0, 1, false))
    .option('--to <ratio>', 'leave this part of its size, such as 0.5; 0 closes it', ratio(0, 1))
    .option(
      '--to-notional <amount>',
      "leave a position worth this much in the market's money",
      positiveAmount,
    )
    .option('--until-distance <ratio>', 'until liquidation is this far away, such as 10%', ratio(0, 1, false))
    // Exists only to be refused: flatten has it.
    .addOption(new Option('--market [name]').hideHelp().preset('').argParser(refuseMarket))
    .option('--withdraw <order>', 'take an earlier order back, begun or not', nonEmpty);
  withJson(withOrderOptions(command));
  withExamples(command, {
    'half of a position': 'reduce --account desk-1 --position 42 --by 50% --reason "event risk"',
    'from a script, done once however often it is said':
      'reduce --account desk-1 --position 42 --until-distance 10% --reason "weekend" --yes --key weekend-42',
    'take it back': 'reduce --account desk-1 --withdraw 3f9c2a --reason "changed my mind"',
  });
  command.action(async (flags: Flags) => {
    if (flags.withdraw !== undefined) {
      const isGiven = (name: string) => command.getOptionValueSource(name) === 'cli';
      if (NOT_WITHDRAWING.some(isGiven) || targetsOf(flags).length > 0) {
        const cure = 'Leave out --position, how far to reduce, --slippage, --within and --key.';
        throw new UsageError('--withdraw takes an order back and orders nothing.', cure);
      }
      await withdrawByHand(io, flags, flags.withdraw);
      return;
    }
    const { position } = flags;
    if (position === undefined) throw new UsageError('name the position.', 'Add --position ID (see status).');
    const slippageSteps = [...flags.slippage];
    await orderByHand(io, flags, {
      kind: 'reduce',
      positionId: position,
      target: targetOf(flags),
      slippageSteps,
    });
  });
}

/** Options of a new order, which a withdrawal does not take. */
const NOT_WITHDRAWING: readonly string[] = ['position', 'slippage', 'within', 'key'];

function refuseMarket(): never {
  throw new UsageError(
    '--market is not for reduce, which takes one position.',
    'Name it with --position ID (see status --account), or close whole markets with flatten --market.',
  );
}

/** @throws UsageError unless exactly one target is given */
function targetOf(flags: Flags): ReduceTarget {
  const [target, ...more] = targetsOf(flags);
  if (target !== undefined && more.length === 0) return target;
  const what = target === undefined ? 'say how far to reduce' : 'say how far to reduce in one way only';
  throw new UsageError(`${what}.`, 'One of --by, --to, --to-notional, --until-distance.');
}

function targetsOf({ by, to, toNotional, untilDistance }: Flags): readonly ReduceTarget[] {
  const targets: ReduceTarget[] = [];
  if (by !== undefined) targets.push({ kind: 'by', fraction: by });
  if (to !== undefined) targets.push({ kind: 'to', fraction: to });
  if (toNotional !== undefined) targets.push({ kind: 'toNotional', notional: toNotional });
  if (untilDistance !== undefined) targets.push({ kind: 'untilDistance', distance: untilDistance });
  return targets;
}
