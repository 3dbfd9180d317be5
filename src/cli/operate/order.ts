import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import type { Operations } from '../../app.ts';
import { type OperatorOrder, slippageFault } from '../../core/controls/controls.ts';
import type { Expectation } from '../../core/controls/daemon-sign.ts';
import { missingOrder, openOrders } from '../../core/controls/open-orders.ts';
import {
  closesWhen,
  type MeantOrder,
  missingPosition,
  orderObstacles,
  type PlanLine,
  planLines,
} from '../../core/controls/order-plan.ts';
import type { OperatorOrderDraft } from '../../core/ports/operator-controls.ts';
import { StoreLostError } from '../../core/ports/state-store.ts';
import { roughly } from '../../core/quantities/roughly.ts';
import { CliError, UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliIo, confirm, printJson, printLine, printNote, printWarning } from '../io.ts';
import { fieldLines } from '../table.ts';
import { requireNot } from './obeyed.ts';
import { type HandOrderOutcome, outcomeOf } from './order-outcome.ts';
import { type PlaceFlags, requireAccount, withOperations, withPlace } from './place.ts';
import { authorOf, durationMs, nonEmpty, slippageSteps } from './values.ts';

/** Flags that `reduce` and `flatten` share: both put an operator order into the account's inbox. */
export interface OrderFlags extends PlaceFlags {
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

export function withOrderOptions(command: Command): Command {
  return withPlace(command)
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

/** The wanted order without its slippage, which has a separate flag. */
export type Wanted = Omit<MeantOrder, 'slippageSteps'>;

/** Shows the order and what stands in its way, asks, and puts it into the inbox. */
export async function orderByHand(io: CliIo, flags: OrderFlags, wanted: Wanted): Promise<void> {
  const key = flags.key ?? randomBytes(6).toString('hex');
  const author = authorOf(flags.author, io);
  await withOperations(io, flags, async (operations) => {
    await requireAccount(operations, flags.account);
    const fault = slippageFault(flags.slippage, operations.maxSlippage);
    if (fault !== undefined) {
      throw new UsageError(
        `--slippage: ${fault}: nothing was ordered.`,
        'Say less, or set operators.maxSlippage in the config and restart the daemon.',
      );
    }
    const view = await operations.view(flags.account);
    if (view.refused !== null) throw new CliError('account-refused', `not done: ${view.refused.message}.`);
    const meant = { ...wanted, slippageSteps: flags.slippage };
    const missing = missingPosition(meant, view);
    if (missing !== undefined) throw new UsageError(missing.words, missing.cure);
    const gaps = operations.accounts?.find(({ id }) => id === flags.account)?.gapOf;
    const lines = planLines(meant, view, gaps);
    showPlan(io, flags, { lines, key, unless: closesWhen(meant) });
    const expected = await requireTaker(operations, flags.account, flags.slippage);
    const proof = expected.kind === 'nobody' ? operations.orderProof : undefined;
    const obstacles = [
      ...(expected.kind === 'unsure' ? [`One of several daemons would refuse it: ${expected.why}.`] : []),
      ...orderObstacles(view, Date.now(), proof),
    ];
    for (const obstacle of obstacles) printWarning(io, obstacle);
    if (flags.yes !== true) await confirm(io, 'Order it?', 'nothing was ordered');
    const order = { kind: 'reduce', ...meant, author } as const;
    const said = await submitted(io, operations, flags, { order, key, expected });
    report(io, flags, { ...said, key, obstacles });
  });
}

/** @throws CliError if every daemon would refuse the order: nothing is ordered then */
async function requireTaker(
  operations: Operations,
  accountId: string,
  slippageSteps: readonly number[],
): Promise<Expectation> {
  const expected = await operations.expected(accountId, { slippageSteps });
  requireNot(expected, 'nothing was ordered', 'To be flat now use the exchange.');
  return expected;
}

interface ShownPlan {
  readonly lines: readonly PlanLine[];
  readonly key: string;
  readonly unless: string;
}

function showPlan(io: CliIo, flags: OrderFlags, { lines, key, unless }: ShownPlan): void {
  const fields: [string, string][] = [
    ...lines.map(({ label, text }): [string, string] => [label, text]),
    ['not begun', `later than in ${roughly(flags.within)}`],
    ['reason', flags.reason],
    ['key', key],
  ];
  for (const line of fieldLines(io, 'stderr', fields)) printNote(io, line);
  printNote(io, unless);
}

interface Submission {
  readonly order: Unbound<OperatorOrderDraft>;
  readonly key: string;
  readonly expected: Expectation;
}

/** An order without the fields that flags give to every order. */
type Unbound<D> = D extends unknown ? Omit<D, 'reason' | 'expiresAtMs'> : never;

/** Puts an order into the inbox and, unless `--no-wait` is given, waits for a daemon to take it. */
async function submitted(
  { signal }: CliIo,
  operations: Operations,
  { account: accountId, reason, within, wait }: OrderFlags,
  { order: meant, key, expected }: Submission,
): Promise<{ readonly order: OperatorOrder; readonly outcome: HandOrderOutcome }> {
  const draft = { ...meant, reason, expiresAtMs: Date.now() + within };
  const order = await operations.controls.submit(accountId, draft, key).catch((error: unknown) => {
    if (!(error instanceof StoreLostError)) throw error;
    throw new CliError('store-lost', `${error.message}; nobody knows whether the order is in the inbox.`, {
      cause: error,
      exitCode: EXIT.unknownOutcome,
      cure: `Say it again${meant.kind === 'withdraw' ? '' : ` with --key ${key}`}: it is not done twice.`,
    });
  });
  if (!wait) return { order, outcome: { kind: 'ordered' } };
  return { order, outcome: await outcomeOf(operations, { accountId, orderId: order.id, expected, signal }) };
}

interface Reported {
  readonly order: OperatorOrder;
  readonly key: string;
  readonly obstacles: readonly string[];
  readonly outcome: HandOrderOutcome;
}

/** @throws CliError if a daemon has refused the order */
function report(io: CliIo, flags: OrderFlags, { order, key, obstacles, outcome }: Reported): void {
  if (outcome.kind === 'held' || outcome.kind === 'waiting') io.setExitCode(EXIT.held);
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

function refusedBy({ why }: Extract<HandOrderOutcome, { kind: 'refused' }>, orderId: string): CliError {
  return new CliError('order-refused', `the daemon does not carry out ${orderId}: ${why}.`);
}

function outcomeWords(outcome: Exclude<HandOrderOutcome, { kind: 'refused' }>, orderId: string): string {
  switch (outcome.kind) {
    case 'ordered':
      return `Ordered: ${orderId}. Whether a daemon takes it was not waited for.`;
    case 'taken':
      return `Ordered: ${orderId}. A daemon has taken it.`;
    case 'nothing':
      return `Nothing to close: ${orderId}. A daemon has looked, and no open position is meant. Orders at the exchange stay.`;
    case 'held':
      return `Held: ${orderId}. A daemon has taken it; ${outcome.why}.`;
    case 'waiting':
      return `Waiting: ${orderId}. It is in the inbox; ${outcome.why}.`;
  }
}

/** Withdraws an earlier order, begun or not. @throws CliError if it is certain that no such order is open */
export async function withdrawByHand(io: CliIo, flags: OrderFlags, orderId: string): Promise<void> {
  if (!/^[a-z0-9]+$/i.test(orderId)) {
    throw new UsageError('--withdraw: expected the id that reduce or flatten printed.');
  }
  const author = authorOf(flags.author, io);
  await withOperations(io, flags, async (operations) => {
    await requireAccount(operations, flags.account);
    const expected = await requireTaker(operations, flags.account, []);
    const view = await operations.view(flags.account);
    const isSeen = openOrders(view).includes(orderId);
    const missing = expected.kind === 'nobody' ? undefined : missingOrder(orderId, view, Date.now());
    if (missing !== undefined) throw new CliError('order-not-open', missing.words, { cure: missing.cure });
    if (flags.yes !== true) {
      printNote(
        io,
        `Withdraws order ${orderId} of account ${flags.account}; orders of ours for it are cancelled.`,
      );
      await confirm(io, 'Order it?', 'nothing was ordered');
    }
    const said = await submitted(io, operations, flags, {
      order: { kind: 'withdraw', orderId, author },
      key: `withdraw ${orderId}`,
      expected,
    });
    reportWithdrawn(io, flags, { ...said, orderId, isSeen });
  });
}

interface Withdrawn extends Omit<Reported, 'key' | 'obstacles'> {
  readonly orderId: string;
  /** It was open when this command looked. */
  readonly isSeen: boolean;
}

function reportWithdrawn(
  io: CliIo,
  { account, json }: OrderFlags,
  { order, orderId, isSeen, outcome }: Withdrawn,
): void {
  if (outcome.kind === 'refused') throw refusedBy(outcome, orderId);
  if (outcome.kind === 'waiting') io.setExitCode(EXIT.held);
  if (json === true) printJson(io, { accountId: account, order, isSeen, outcome });
  else printLine(io, withdrawnWords(outcome, orderId, isSeen));
}

function withdrawnWords(outcome: HandOrderOutcome, orderId: string, isSeen: boolean): string {
  const why = outcome.kind === 'waiting' ? `; ${outcome.why}` : '';
  const isLater = outcome.kind === 'waiting' || outcome.kind === 'ordered';
  if (!isSeen) {
    const when = isLater ? 'with the next poll of the account' : 'now';
    return `Noted: ${orderId} cannot be seen here. A daemon that has it withdraws it ${when}${why}.`;
  }
  if (!isLater) return `Withdrawn: ${orderId}.`;
  return `To be withdrawn: ${orderId}, with the next poll of the account${why}.`;
}
