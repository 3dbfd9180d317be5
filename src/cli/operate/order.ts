import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { AskedOrder } from '../../app.ts';
import type { OperatorOrder } from '../../core/controls/controls.ts';
import { roughly } from '../../core/quantities/roughly.ts';
import { CliError, UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliIo, confirm, printJson, printLine, printNote, printWarning } from '../io.ts';
import { fieldLines } from '../table.ts';
import {
  type DoorFlags,
  isDoorError,
  isRefusal,
  type TimedDoor,
  viewsOf,
  withDoor,
  withDoorPlace,
} from './door.ts';
import { authorOf, durationMs, nonEmpty, slippageSteps } from './values.ts';

/** Flags that `reduce` and `flatten` share: both put an operator order into the account's inbox. */
export interface OrderFlags extends DoorFlags {
  readonly account: string;
  readonly slippage: readonly number[];
  readonly within: number;
  readonly reason: string;
  readonly author?: string;
  readonly key?: string;
  readonly yes?: boolean;
  /** False: `--no-wait`. */
  readonly wait: boolean;
}

/** The config's default for `reduce`. */
const DEFAULT_SLIPPAGE: readonly number[] = [0.005, 0.01, 0.02];
const DEFAULT_WITHIN_MS = 600_000;
const WAIT_MS = 5_000;
const LOOK_MS = 200;

export function withOrderOptions(command: Command): Command {
  return withDoorPlace(command)
    .addOption(
      new Option('--slippage <steps>', 'of each attempt in turn, up to operators.maxSlippage')
        .argParser(slippageSteps)
        .default(DEFAULT_SLIPPAGE, '0.5%,1%,2%'),
    )
    .addOption(
      new Option('--within <duration>', 'not begun later than this')
        .argParser(durationMs)
        .default(DEFAULT_WITHIN_MS, '10m'),
    )
    .requiredOption('-r, --reason <text>', 'why; kept in the audit', nonEmpty)
    .option('--author <name>', 'who orders it (default: the user of the system)', nonEmpty)
    .option('--key <text>', 'names this order: said again with the same key, it is not done twice', nonEmpty)
    .option('-y, --yes', 'do not ask')
    .option('--no-wait', 'do not wait for a daemon to take it (5 s at most)');
}

/** Outcome of an operator order within the first seconds; `ordered`: the command did not wait, or cannot know. */
interface Outcome {
  readonly kind: 'ordered' | 'waiting' | 'taken' | 'nothing' | 'held' | 'refused';
  readonly why?: string;
}

/** Shows the order and what stands in its way, asks, and puts it into the inbox. */
export async function orderByHand(io: CliIo, flags: OrderFlags, order: AskedOrder): Promise<void> {
  const { account, reason, within: withinMs } = flags;
  const key = flags.key ?? randomBytes(6).toString('hex');
  const author = authorOf(flags.author, io);
  const words = {
    undone: 'nothing was ordered',
    again: `Say it again with --key ${key}: it is not done twice.`,
  };
  const params = { id: account };
  await withDoor(io, flags, words, async (door) => {
    const { plan, closesWhen, obstacles } = await door.ask('plan order', { params, body: { order } });
    const fields: [string, string][] = [
      ...plan.map(({ label, text }): [string, string] => [label, text]),
      ['not begun', `later than in ${roughly(withinMs)}`],
      ['reason', reason],
      ['key', key],
    ];
    for (const line of fieldLines(io, 'stderr', fields)) printNote(io, line);
    printNote(io, closesWhen);
    for (const obstacle of obstacles) printWarning(io, obstacle);
    if (flags.yes !== true) await confirm(io, 'Order it?', words.undone);
    door.startOver();
    const made = await door.ask('order', { params, body: { order, author, reason, withinMs, key } });
    const outcome = await outcomeOf(io, door, flags, made.order);
    report(io, flags, { order: made.order, key, obstacles, outcome });
  });
}

/** Waits, unless `--no-wait` is given, for a daemon to take or refuse the order. */
async function outcomeOf(
  { signal }: CliIo,
  door: TimedDoor,
  { account: id, wait }: OrderFlags,
  { id: orderId }: OperatorOrder,
): Promise<Outcome> {
  if (!wait) return { kind: 'ordered' };
  const untilMs = performance.now() + WAIT_MS;
  for (;;) {
    door.startOver();
    const found = await door.ask('order outcome', { params: { id, orderId } }).catch((error: unknown) => {
      if (isDoorError(error)) return undefined;
      throw error;
    });
    if (found === undefined) return { kind: 'ordered', why: SILENT };
    const { kind, why } = found;
    if (kind !== 'waiting' || why !== null) return { kind, ...(why === null ? {} : { why }) };
    if (performance.now() >= untilMs)
      return { kind, why: `no daemon has taken it within ${WAIT_MS / 1_000} s` };
    await sleep(LOOK_MS, undefined, { signal });
  }
}

interface Reported {
  readonly order: OperatorOrder;
  readonly key: string;
  readonly obstacles: readonly string[];
  readonly outcome: Outcome;
}

const SILENT = 'the daemon does not answer any more: nobody knows whether it is carried out';

function setExitCode(io: CliIo, { kind, why }: Outcome): void {
  if (kind === 'held' || kind === 'waiting') io.setExitCode(EXIT.held);
  if (kind === 'ordered' && why !== undefined) io.setExitCode(EXIT.unknownOutcome);
}

/** @throws CliError if a daemon has refused the order */
function report(io: CliIo, flags: OrderFlags, { order, key, obstacles, outcome }: Reported): void {
  setExitCode(io, outcome);
  if (flags.json === true) {
    if (outcome.kind === 'refused') io.setExitCode(EXIT.failed);
    printJson(io, { accountId: flags.account, key, order, obstacles, outcome });
    return;
  }
  if (outcome.kind === 'refused') throw refusedBy(outcome, order.id);
  const place = flags.config === undefined ? '' : ` --config ${flags.config}`;
  printLine(io, outcomeWords(outcome, order.id));
  if (outcome.kind === 'nothing') return;
  printLine(io, `Follow it:   breakwater audit tail --account ${flags.account} --follow${place}`);
  printLine(
    io,
    `Withdraw it: breakwater reduce --account ${flags.account} --withdraw ${order.id} --reason TEXT${place}`,
  );
}

function refusedBy({ why }: Outcome, orderId: string): CliError {
  return new CliError('order-refused', `the daemon does not carry out ${orderId}: ${why}.`);
}

function outcomeWords({ kind, why }: Outcome, orderId: string): string {
  switch (kind) {
    case 'taken':
      return `Ordered: ${orderId}. A daemon has taken it.`;
    case 'nothing':
      return `Nothing to close: ${orderId}. A daemon has looked, and no open position is meant. Orders at the exchange stay.`;
    case 'held':
      return `Held: ${orderId}. A daemon has taken it; ${why}.`;
    case 'waiting':
      return `Waiting: ${orderId}. It is in the inbox; ${why}.`;
    default:
      return `Ordered: ${orderId}; ${why ?? 'whether a daemon takes it was not waited for'}.`;
  }
}

/** Withdraws an earlier order, begun or not. @throws CliError if it is certain that no such order is open */
export async function withdrawByHand(io: CliIo, flags: OrderFlags, orderId: string): Promise<void> {
  if (!/^[a-z0-9]+$/i.test(orderId)) {
    throw new UsageError('--withdraw: expected the id that reduce or flatten printed.');
  }
  const { account, json, reason } = flags;
  const by = { author: authorOf(flags.author, io), reason };
  await withDoor(io, flags, { undone: 'nothing was ordered' }, async (door) => {
    await viewsOf(door, account);
    if (flags.yes !== true) {
      printNote(io, `Withdraws order ${orderId} of account ${account}; orders of ours for it are cancelled.`);
      await confirm(io, 'Order it?', 'nothing was ordered');
    }
    door.startOver();
    const asked = { params: { id: account, orderId }, body: by };
    const { order, isSeen } = await door.ask('withdraw', asked).catch((error: unknown) => {
      throw isRefusal(error, 404) ? new CliError('order-not-open', error.message, { cause: error }) : error;
    });
    const outcome = await outcomeOf(io, door, flags, order);
    if (outcome.kind === 'refused') throw refusedBy(outcome, orderId);
    setExitCode(io, outcome);
    if (json === true) printJson(io, { accountId: account, order, isSeen, outcome });
    else printLine(io, withdrawnWords(outcome, orderId, isSeen));
  });
}

function withdrawnWords({ kind, why: reason }: Outcome, orderId: string, isSeen: boolean): string {
  const why = reason === undefined ? '' : `; ${reason}`;
  const isLater = kind === 'waiting' || kind === 'ordered';
  if (!isSeen) {
    const when = isLater ? 'with the next poll of the account' : 'now';
    return `Noted: ${orderId} cannot be seen here. A daemon that has it withdraws it ${when}${why}.`;
  }
  if (!isLater) return `Withdrawn: ${orderId}.`;
  return `To be withdrawn: ${orderId}, with the next poll of the account${why}.`;
}
