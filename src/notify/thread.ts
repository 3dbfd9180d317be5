import type { Clock, Random } from '../core/ports/clock.ts';
import type {
  Delivery,
  DeliveryFailure,
  Message,
  Receipt,
  ReceiptStore,
  Receipts,
} from '../core/ports/delivery.ts';
import type { Channel, ChannelLimits, DeliveryAttempt, FailedAttempt, Outgoing } from './channel.ts';
import type { Pace } from './pace.ts';

export interface OpenChannel {
  readonly channel: Channel;
  readonly limits: ChannelLimits;
  readonly pace: Pace;
}

/** What one delivery on one channel goes by. */
export interface ThreadContext {
  readonly open: OpenChannel;
  /** Channels that could not be reached, and why. */
  readonly insteadOf: Outgoing['insteadOf'];
  readonly signal?: AbortSignal | undefined;
  readonly receipts: ReceiptStore;
  readonly clock: Clock;
  readonly random: Random;
  /** Unique per delivery, over all processes. */
  readonly owner: string;
  /** Receipts of delivered messages that the lost store did not take. */
  readonly unstored: Map<string, Receipt>;
  readonly onRetry: (message: Message, reason: DeliveryFailure, inMs: number) => void;
}

const FIRST_BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 30_000;
/** Added to the time of the requests, so that a hold does not expire during one. */
const HOLD_MARGIN_MS = 5000;
const MAX_UNSTORED = 1000;

export function threadOf(message: Pick<Message, 'key'>, channel: string): string {
  return `${message.key}/${channel}`;
}

/** A message whose thread is held, with the receipts of the thread. */
interface Held {
  readonly message: Message;
  readonly receipts: Receipts;
}

/**
 * Delivers messages in one on a channel until each is delivered, known to be delivered, or given up within the time
 * limit. A message that is already settled, or is settled by another process meanwhile, is left out.
 *
 * @returns the deliveries by message id
 */
export async function deliverTogether(
  messages: readonly Message[],
  context: ThreadContext,
): Promise<ReadonlyMap<string, Delivery>> {
  const { clock, open, signal } = context;
  const settled = new Map<string, Delivery>();
  const startedMs = clock.monotonicMs();
  const deadlineMs = startedMs + open.limits.giveUpAfterMs;
  const rank = Math.min(...messages.map(rankOf));
  let attempts = 0;
  let last: Pick<FailedAttempt, 'reason' | 'words'> = {
    reason: 'backlog',
    words: 'its turn did not come in time',
  };
  const left = (): readonly Message[] => messages.filter(({ id }) => !settled.has(id));
  const gaveUp = async (): Promise<typeof settled> => {
    const durationMs = clock.monotonicMs() - startedMs;
    for (const message of left()) {
      const final = message.kind === 'resolved';
      const receipt: Receipt = { kind: 'failed', atMs: clock.nowMs(), final, ...last };
      const thread = threadOf(message, open.channel.name);
      await context.receipts.settle(thread, context.owner, { [message.id]: receipt });
      settled.set(message.id, { kind: 'failed', ...last, attempts, durationMs });
    }
    return settled;
  };
  for (;;) {
    if (!(await open.pace.turn(rank, deadlineMs, signal))) return await gaveUp();
    const held = await holdAll(left(), { settled, deadlineMs }, context);
    if (held === undefined) return await gaveUp();
    if (held.length === 0) return settled;
    attempts++;
    const attempt = await sendHeld(held, context);
    if (attempt.kind === 'delivered') {
      const durationMs = clock.monotonicMs() - startedMs;
      const done: Delivery = { kind: 'delivered', atMs: clock.nowMs(), attempts, durationMs };
      for (const { message } of held) settled.set(message.id, done);
      return settled;
    }
    last = { reason: attempt.reason, words: attempt.words };
    if (attempt.retryAfterMs !== undefined) open.pace.block(attempt.retryAfterMs);
    const waitMs = Math.max(attempt.retryAfterMs ?? 0, backoffMs(attempts, context.random));
    if (attempt.permanent || clock.monotonicMs() + waitMs > deadlineMs) return await gaveUp();
    for (const { message } of held) context.onRetry(message, attempt.reason, waitMs);
    await clock.sleep(waitMs, signal);
  }
}

/** Holds the threads of all messages that are not settled; undefined if one of them was not free in time. */
async function holdAll(
  messages: readonly Message[],
  { settled, deadlineMs }: { readonly settled: Map<string, Delivery>; readonly deadlineMs: number },
  context: ThreadContext,
): Promise<readonly Held[] | undefined> {
  const held: Held[] = [];
  for (const message of messages) {
    const thread = threadOf(message, context.open.channel.name);
    const receipts = await holdThread(thread, deadlineMs, context);
    if (receipts === undefined) {
      await letGo(held, context);
      return undefined;
    }
    const before = settledBefore(message, receipts, context.unstored.get(`${thread}/${message.id}`));
    if (before === undefined) {
      held.push({ message, receipts });
      continue;
    }
    await context.receipts.settle(thread, context.owner, {});
    settled.set(message.id, before);
  }
  return held;
}

async function letGo(held: readonly Held[], { open, receipts, owner }: ThreadContext): Promise<void> {
  for (const { message } of held) await receipts.settle(threadOf(message, open.channel.name), owner, {});
}

/** Makes one attempt and frees the threads; a delivery also writes the receipts. */
async function sendHeld(held: readonly Held[], context: ThreadContext): Promise<DeliveryAttempt> {
  const { open, insteadOf, signal, receipts: store, owner, clock, unstored } = context;
  const { channel } = open;
  const [{ message, receipts }, ...others] = held as readonly [Held, ...Held[]];
  const told = Object.values(receipts).some(({ kind }) => kind === 'delivered');
  const beginningUntold = !told && (message.kind === 'resolved' || message.kind === 'reminder');
  const along = others.map((other) => other.message);
  let attempt: DeliveryAttempt;
  try {
    const own = { message, along, receipts, insteadOf, beginningUntold };
    attempt = await channel.send(own, signal);
  } catch (error) {
    await letGo(held, context).catch(() => undefined);
    throw error;
  }
  if (attempt.kind === 'failed') {
    await letGo(held, context);
    return attempt;
  }
  const keyed = held.map((one) => {
    const thread = threadOf(one.message, channel.name);
    const receipt: Receipt = {
      kind: 'delivered',
      atMs: clock.nowMs(),
      saidAtMs: one.message.atMs,
      final: one.message.kind === 'resolved',
      ...(attempt.reference === undefined ? {} : { reference: attempt.reference }),
    };
    return { thread, id: one.message.id, receipt };
  });
  for (const { thread, id, receipt } of keyed) remember(unstored, `${thread}/${id}`, receipt);
  for (const { thread, id, receipt } of keyed) {
    await store.settle(thread, owner, { [id]: receipt });
    unstored.delete(`${thread}/${id}`);
  }
  return attempt;
}

function remember(unstored: Map<string, Receipt>, key: string, receipt: Receipt): void {
  const [oldest] = unstored.keys();
  if (unstored.size >= MAX_UNSTORED && oldest !== undefined) unstored.delete(oldest);
  unstored.set(key, receipt);
}

/** Returns how earlier deliveries in the thread settle this message; undefined: send it. */
function settledBefore(
  message: Message,
  receipts: Receipts,
  unstored: Receipt | undefined,
): Delivery | undefined {
  const own = receipts[message.id] ?? unstored;
  if (own?.kind === 'delivered') return { kind: 'duplicate', atMs: own.atMs };
  // Given up before, e.g. by an earlier attempt of the job: the stand-ins are asked again, this channel is not.
  if (own !== undefined) {
    return { kind: 'failed', reason: own.reason, words: own.words, attempts: 0, durationMs: 0 };
  }
  const ordered = message.kind === 'firing' || message.kind === 'reminder';
  const overtaken = Object.values(receipts).some(
    (other) => other.final || (other.kind === 'delivered' && other.saidAtMs > message.atMs),
  );
  return ordered && overtaken ? { kind: 'superseded' } : undefined;
}

async function holdThread(thread: string, deadlineMs: number, context: ThreadContext) {
  const { open, signal, receipts, owner, clock } = context;
  for (;;) {
    const hold = await receipts.hold(
      thread,
      owner,
      open.limits.timeoutMs * ATTEMPT_REQUESTS + HOLD_MARGIN_MS,
    );
    if (hold.kind === 'held') return hold.receipts;
    if (clock.monotonicMs() >= deadlineMs) return undefined;
    await clock.sleep(Math.min(hold.retryInMs, BUSY_POLL_MS), signal);
  }
}

/** One attempt may take two requests (Telegram: a group that moved; PagerDuty: a test). */
const ATTEMPT_REQUESTS = 2;
const BUSY_POLL_MS = 200;

/** Lower ranks go first: reminders and resolutions after all others, then by severity. */
function rankOf({ kind, severity }: Message): number {
  const calm = kind === 'resolved' || kind === 'reminder' ? 3 : 0;
  return calm + { critical: 0, warning: 1, info: 2 }[severity];
}

/** Exponential backoff; each pause is random between half and the whole. */
function backoffMs(attempts: number, random: Random): number {
  const whole = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempts - 1));
  return whole * (0.5 + random() / 2);
}
