import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import type { Operations } from '../../app.ts';
import { type OperatorOrder, slippageFault } from '../../core/controls/controls.ts';
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
import { type CliIo, confirm, printJson, printLine, printNote, printWarning } from '../io.ts';
import { fieldLines } from '../table.ts';
import { type PlaceFlags, requireAccount, withOperations, withPlace } from './place.ts';
import { authorOf, durationMs, nonEmpty, slippageSteps } from './values.ts';

/** What `reduce` and `flatten` have in common: an operator's own order, put into the account's inbox. */
export interface OrderFlags extends PlaceFlags {
  readonly account: string;
  readonly slippage: readonly number[];
  readonly within: number;
  readonly reason: string;
  readonly author?: string;
  readonly key?: string;
  readonly yes?: boolean;
}

/** As the config's default for `reduce`. */
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
    .option('-y, --yes', 'do not ask');
}

/** What is meant; slippage is a flag of its own. */
export type Wanted = Omit<MeantOrder, 'slippageSteps'>;

type ReduceDraft = Extract<OperatorOrderDraft, { kind: 'reduce' }>;

/** Shows what is meant and what stands in its way, asks, and puts it into the inbox. */
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
    const lines = planLines(meant, view, (market) => gaps?.(market));
    showPlan(io, flags, { lines, key, unless: closesWhen(meant) });
    const obstacles = orderObstacles(view, Date.now(), operations.orderProof);
    for (const obstacle of obstacles) printWarning(io, obstacle);
    if (flags.yes !== true) await confirm(io, 'Order it?', 'nothing was ordered');
    const draft: ReduceDraft = {
      kind: 'reduce',
      ...meant,
      author,
      reason: flags.reason,
      expiresAtMs: Date.now() + flags.within,
    };
    const order = await submitted(operations, flags.account, draft, key);
    report(io, flags, order, { key, obstacles });
  });
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

async function submitted(
  { controls }: Operations,
  accountId: string,
  draft: OperatorOrderDraft,
  key: string,
): Promise<OperatorOrder> {
  try {
    return await controls.submit(accountId, draft, key);
  } catch (error) {
    if (!(error instanceof StoreLostError)) throw error;
    throw new CliError('store-lost', `${error.message}; nobody knows whether the order is in the inbox.`, {
      cause: error,
      exitCode: 3,
      cure: `Say it again with --key ${key}: it is not done twice.`,
    });
  }
}

function report(
  io: CliIo,
  flags: OrderFlags,
  order: OperatorOrder,
  { key, obstacles }: { readonly key: string; readonly obstacles: readonly string[] },
): void {
  if (flags.json === true) {
    printJson(io, { accountId: flags.account, key, order, obstacles });
    return;
  }
  const place = flags.config === undefined ? '' : ` --config ${flags.config}`;
  printLine(io, `Ordered: ${order.id}.`);
  printLine(io, `Follow it:   breakwater audit tail --account ${flags.account} --follow${place}`);
  printLine(
    io,
    `Withdraw it: breakwater reduce --account ${flags.account} --withdraw ${order.id} --reason TEXT${place}`,
  );
}

/** Takes an earlier order back, begun or not. */
export async function withdrawByHand(io: CliIo, flags: OrderFlags, orderId: string): Promise<void> {
  if (!/^[a-z0-9]+$/i.test(orderId)) {
    throw new UsageError('--withdraw: expected the id that reduce or flatten printed.');
  }
  const author = authorOf(flags.author, io);
  await withOperations(io, flags, async (operations) => {
    await requireAccount(operations, flags.account);
    if (flags.yes !== true) {
      printNote(
        io,
        `Withdraws order ${orderId} of account ${flags.account}; orders of ours for it are cancelled.`,
      );
      await confirm(io, 'Order it?', 'nothing was ordered');
    }
    const draft: OperatorOrderDraft = {
      kind: 'withdraw',
      orderId,
      author,
      reason: flags.reason,
      expiresAtMs: Date.now() + flags.within,
    };
    const order = await submitted(operations, flags.account, draft, `withdraw ${orderId}`);
    if (flags.json === true) printJson(io, { accountId: flags.account, order });
    else printLine(io, `Withdrawn: ${orderId}, with the next poll of the account.`);
  });
}
