import { expect, test } from 'vitest';
import type { CallOptions } from '../../../src/core/ports/exchange.ts';
import { ALWAYS } from '../../../src/pipeline/act/lane-turns.ts';
import { runLane } from '../../../src/pipeline/act/run-lane.ts';
import type { PipelineContext } from '../../../src/pipeline/pipeline-context.ts';
import { PollGuard } from '../../../src/pipeline/poll/poll-account.ts';
import { pollBucket } from '../../../src/pipeline/poll/poll-tick.ts';
import { openExchange } from '../../contract/support/world.ts';
import { eventually, openWorld } from '../world.ts';

const RULES = `  - id: half
    on: position
    when: { amount: { above: 0.3 } }
    do: [{ reduce: { by: 50%, slippage: 1% } }]
`;
const LANE = { accountId: 'long', market: 'BTC_PERP' };
const NEVER = new AbortController().signal;

test("a request leaves only while the lane's lease covers its longest time: a suspended process sends nothing", async () => {
  const simulator = await openExchange({ speed: 1 });
  const world = openWorld(simulator, { accounts: { long: { rules: ['half'] } }, rules: RULES });
  const { attemptTimeoutMs } = world.context.settings;
  let suspendedMs = 0;
  const clock = {
    ...world.context.clock,
    monotonicMs: () => world.context.clock.monotonicMs() + suspendedMs,
  };
  const idle = { dispatch: async () => undefined };
  let lanesSinceMs = Number.NEGATIVE_INFINITY;
  const turns = {
    ...ALWAYS,
    get lanesSinceMs() {
      return lanesSinceMs;
    },
  };
  const context: PipelineContext = { ...world.context, clock, lanes: idle, turns };
  const seen: {
    readonly kind: string;
    readonly othersWaitMs: number;
    readonly before: boolean;
    after: boolean;
    handedBack: boolean;
  }[] = [];
  const account = context.accounts.get('long');
  if (account === undefined) throw new Error('no account');
  const look = async (kind: string, mayLeave: CallOptions['mayLeave']): Promise<void> => {
    const before = mayLeave?.(attemptTimeoutMs) ?? true;
    const rival = await context.store.leases.acquire('long', 'BTC_PERP', 'rival', 60_000);
    const othersWaitMs = rival.kind === 'held' ? 0 : rival.retryInMs;
    await context.store.leases.release({ ...LANE, owner: 'rival' });
    // The lease lasts longer than that, but so would the request.
    suspendedMs += 1_500;
    const after = mayLeave?.(attemptTimeoutMs) ?? true;
    suspendedMs -= 1_500;
    // What was done alone is handed back, and the lease did not count for others.
    lanesSinceMs = clock.monotonicMs();
    seen.push({ kind, othersWaitMs, before, after, handedBack: mayLeave?.(attemptTimeoutMs) ?? true });
    lanesSinceMs = Number.NEGATIVE_INFINITY;
  };
  const { exchange } = account;
  const watching = {
    ...account,
    exchange: {
      ...exchange,
      reduceOnlyStop: async (...args: Parameters<typeof exchange.reduceOnlyStop>) => {
        await look('place', args[1]?.mayLeave);
        return await exchange.reduceOnlyStop(...args);
      },
      cancelAll: async (...args: Parameters<typeof exchange.cancelAll>) => {
        await look('cancelAll', args[1]?.mayLeave);
        return await exchange.cancelAll(...args);
      },
    },
  };
  const guard = new PollGuard();
  // A poll does not wait long for the positions: the next one finds them.
  const isSent = async () => {
    await context.store.makeDue(LANE.accountId, 0);
    for (const bucket of world.accounts.buckets())
      await pollBucket(context, guard, { bucket, everyMs: 50, lagMs: 0 });
    await runLane({ ...context, accounts: { get: () => watching, inBucket: () => [] } }, LANE, NEVER);
    return seen.length > 0;
  };
  await eventually(isSent, 'a request about to leave');
  for (const { before, after, handedBack, othersWaitMs } of seen) {
    expect(before).toBe(true);
    expect(after).toBe(false);
    expect(handedBack).toBe(false);
    expect(othersWaitMs).toBeGreaterThan(attemptTimeoutMs);
  }
});
