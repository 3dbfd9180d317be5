import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import type { Operations } from '../../app.ts';
import type { OperatorOrder } from '../../core/controls/controls.ts';
import type { OperatorOrderDraft } from '../../core/ports/operator-controls.ts';
import { StoreLostError } from '../../core/ports/state-store.ts';
import type { ReduceTarget } from '../../core/rules/rule.ts';
import { exactPercent, exactSpan, percent, span } from '../../core/text/formats.ts';
import type { AccountView, PositionLine } from '../../core/view/account-view.ts';
import { CliError, UsageError } from '../errors.ts';
import { type CliIo, confirm, printJson, printLine, printNote, printWarning } from '../io.ts';
import { fieldLines } from '../table.ts';
import { type PlaceFlags, requireAccount, withOperations, withPlace } from './place.ts';
import { positionWords } from './position-words.ts';
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
/** As the config's default for a market. */
const DEFAULT_GAP = 0.001;
const DEFAULT_WITHIN_MS = 600_000;

export function withOrderOptions(command: Command): Command {
  return withPlace(command)
    .addOption(
      new Option('--slippage <steps>', 'of each attempt in turn')
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

export interface Wanted {
  /** `positions` or `markets`, as the inbox has it. */
  readonly of: { readonly positionId: string } | { readonly markets: readonly string[] };
  readonly target: ReduceTarget;
  readonly flatten: boolean;
  /** For people: `reduce by 50 %`. */
  readonly words: string;
  concerns(position: PositionLine): boolean;
}

type ReduceDraft = Extract<OperatorOrderDraft, { kind: 'reduce' }>;

/** Shows what is meant and what stands in its way, asks, and puts it into the inbox. */
export async function orderByHand(io: CliIo, flags: OrderFlags, wanted: Wanted): Promise<void> {
  const key = flags.key ?? randomBytes(6).toString('hex');
  const author = authorOf(flags.author, io);
  await withOperations(io, flags, async (operations) => {
    await requireAccount(operations, flags.account);
    const view = await operations.view(flags.account);
    if (view.refused !== null) throw new CliError('account-refused', `not done: ${view.refused.message}.`);
    requirePosition(flags, wanted, view);
    const gaps = operations.accounts?.find(({ id }) => id === flags.account)?.gapOf;
    showPlan(io, flags, wanted, { view, key, gapOf: (market) => gaps?.(market) ?? DEFAULT_GAP });
    const obstacles = obstaclesOf(view, Date.now(), operations.orderProof);
    for (const obstacle of obstacles) printWarning(io, obstacle);
    if (flags.yes !== true) await confirm(io, 'Order it?', 'nothing was ordered');
    const draft: ReduceDraft = {
      kind: 'reduce',
      ...wanted.of,
      target: wanted.target,
      slippageSteps: flags.slippage,
      flatten: wanted.flatten,
      author,
      reason: flags.reason,
      expiresAtMs: Date.now() + flags.within,
    };
    const order = await submitted(operations, flags.account, draft, key);
    report(io, flags, order, { key, obstacles });
  });
}

/** What is not there cannot be reduced; before the first poll nobody knows what is there. */
function requirePosition(
  { account }: OrderFlags,
  { of }: Wanted,
  { judgedAtMs, positions }: AccountView,
): void {
  if (judgedAtMs === null || !('positionId' in of)) return;
  if (positions.some(({ positionId }) => positionId === of.positionId)) return;
  const known = positions.map(({ positionId, market }) => `${positionId} (${market})`);
  throw new UsageError(
    `account ${account} has no position ${JSON.stringify(of.positionId)}: nothing was ordered.`,
    known.length === 0 ? 'It has no position at all.' : `Its positions: ${known.join(', ')}.`,
  );
}

/** What is sent, and what has to happen before it closes anything: it is a stop, not a market order. */
function howWords(position: PositionLine, gap: number): string {
  const { direction, markPrice, market } = position;
  if (direction === null || markPrice === null)
    return `${market}: nothing before direction and mark are known`;
  const [side, way, sign] = direction === 'long' ? ['sell', 'falls', -1] : ['buy', 'rises', 1];
  const at = Number((Number(markPrice) * (1 + sign * gap)).toPrecision(PRICE_DIGITS));
  return `${market}: a reduce-only ${side} stop at about ${at}; it closes only when the price ${way} ${percent(gap)} from ${markPrice}`;
}

const PRICE_DIGITS = 6;
const AT_ONCE =
  'In a market that stands still or moves the other way nothing closes. To be flat now use the exchange.';

function showPlan(io: CliIo, flags: OrderFlags, wanted: Wanted, { view, key, gapOf }: Plan): void {
  const meant = view.positions.filter((position) => wanted.concerns(position));
  const fields: [string, string][] = [
    ['account', flags.account],
    ['order', wanted.words],
    ...meant.map((position): [string, string] => [
      'position',
      `${position.positionId} ${positionWords(position, view)}`,
    ]),
    ...(meant.length === 0 ? [['position', 'none that the daemon has seen'] as [string, string]] : []),
    ...meant.map((position): [string, string] => ['will send', howWords(position, gapOf(position.market))]),
    ['slippage', flags.slippage.map(exactPercent).join(', then ')],
    ['not begun', `later than in ${exactSpan(flags.within)}`],
    ['reason', flags.reason],
    ['key', key],
  ];
  for (const line of fieldLines(io, 'stderr', fields)) printNote(io, line);
  printNote(io, AT_ONCE);
}

interface Plan {
  readonly view: AccountView;
  readonly key: string;
  /** How far from the mark an activation is placed, a fraction. */
  readonly gapOf: (market: string) => number;
}

/** Why nothing may happen, as far as it can be seen now. */
function obstaclesOf(view: AccountView, nowMs: number, proof: Operations['orderProof']): readonly string[] {
  const { mode, pause, judgedAtMs } = view;
  const obstacles: string[] = [];
  if (proof !== 'seal') obstacles.push(UNSEALED[proof]);
  if (mode === 'observe') {
    obstacles.push('The account is in observe mode: the order is recorded, and nothing is sent.');
  }
  if (pause !== null) {
    const where = pause.accountId === null ? 'Everything' : 'The account';
    const by = `${pause.author}: ${pause.reason}`;
    obstacles.push(`${where} is paused (${by}): nothing is sent before it is resumed.`);
  }
  if (judgedAtMs === null) obstacles.push('No daemon has ever polled this account: the order waits for one.');
  else if (nowMs - judgedAtMs > LONG_AGO_MS) {
    const ago = span(nowMs - judgedAtMs);
    obstacles.push(`The last poll was ${ago} ago: is a daemon running? The order waits for one.`);
  }
  return obstacles;
}

const UNSEALED = {
  password: 'The order has no seal (operators.key in the config): a daemon with a key refuses it.',
  none: 'No daemon carries this order out: it has no seal (operators.key in the config), and Redis asks for no password.',
} as const;
const LONG_AGO_MS = 60_000;

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
