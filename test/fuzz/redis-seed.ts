import type { Redis } from 'ioredis';
import { InstanceClaim } from '../../src/app/instance-claim.ts';
import type { ApprovalQuestion, Approvals } from '../../src/core/approvals/question.ts';
import { decimal, formatDecimal } from '../../src/core/quantities/decimal.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createRedisUpdateCursors } from '../../src/state/bot/update-cursor.ts';
import { createOperatorTrust } from '../../src/state/controls/operator-seal.ts';
import { createRedisDigestClaims } from '../../src/state/digest/digest-claims.ts';
import { createRedisRateLimitStore } from '../../src/state/limits/limiter-redis.ts';
import { createRedisNonceStore } from '../../src/state/nonce/nonce-redis.ts';
import { createRedisReceiptStore } from '../../src/state/receipts/receipts-redis.ts';
import { createRedisState, type State } from '../../src/state/state.ts';
import { createRedisStressStore } from '../../src/state/stress/stress-store.ts';
import { openWorld } from '../../src/world/open-world.ts';
import { OPERATORS_KEY } from '../daemon/config.ts';

export const ACCOUNT = 'desk';
export const MARKET = 'BTC_PERP';

/** Documents of a daemon that has just begun to reduce a position, and watches a credit line. */
export const CONFIG = `mode: enforce
insecure: [redis]
exchange: { baseUrls: ["https://exchange.example"] }
operators: { key: { env: OPERATORS_KEY } }
acting: { fillWithin: 10s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: ${ACCOUNT}, apiKey: { env: KEY }, apiSecret: { env: SECRET }, watch: { positions: true, creditLine: true }, rules: [near, stop, ltv, timed] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 30% } }
    severity: critical
    do: [{ notify: {} }, { reduce: { untilDistance: 40%, slippage: [1%, 3%] } }]
  - id: stop
    on: position
    when: { liquidationDistance: { below: 60% } }
    do: [{ protect: { at: 25%, slippage: 2% } }]
  - id: ltv
    on: creditLine
    when: { currentLtv: { above: 20% } }
    do: [{ notify: { cure: [20%] } }]
  - id: timed
    on: position
    when: { minutesToLiquidation: { below: 100000 } }
    for: 1h
    do: [{ notify: {} }]
`;

/** An unanswered question; its revision 2 is current. */
const TARGET = {
  positionId: '1',
  market: MARKET,
  targetBase: formatDecimal(decimal('0.25')),
  sizeBase: formatDecimal(decimal('0.5')),
};
export const QUESTION: ApprovalQuestion = {
  id: 'asked1',
  stageKey: JSON.stringify(['near', 'a checksum', 'position:1', 1, 0]),
  openedMs: 1,
  untilMs: 8e12,
  state: 'waiting',
  asked: [1, 2].map((revision) => ({ revision, atMs: revision, targets: [TARGET] })),
  askedMs: 1,
  delivered: true,
};
/** A question that was approved. */
const SETTLED: ApprovalQuestion = {
  ...QUESTION,
  id: 'settled1',
  stageKey: JSON.stringify(['ltv', 'a checksum', 'creditLine:USDT@1', 1, 0]),
  state: 'approved',
  settledBy: 'approved',
  approved: [TARGET],
  answer: { decision: 'approve', author: 'ann', reason: 'x', atMs: 2, revision: 2 },
  distance: 0.1,
};
const APPROVALS: Approvals = { version: 1, questions: [QUESTION, SETTLED], rebasedMs: 1 };

/** Writes the state of that daemon while its orders stand, through the real store. */
async function writeAccount(state: State): Promise<void> {
  const world = openWorld({
    seed: 7,
    durationMs: 900_000,
    startMs: Date.now() - 120_000,
    exchange: {
      accounts: [
        {
          id: ACCOUNT,
          collateral: { USDT: '8000' },
          positions: [{ market: MARKET, side: 'long', amount: '0.500' }],
          loans: [{ asset: 'USDT', amount: '20000', collateralAsset: 'BTC', collateralAmount: '1' }],
        },
      ],
    },
    prices: [{ market: 'BTC_USDT', walk: { dailyVolatility: 0.5, tickMs: 1_000 } }],
    daemons: [{ name: 'daemon', config: CONFIG }],
  });
  const standing = (): boolean => world.exchange.model.openOrders(ACCOUNT).length > 0;
  const hasHeld = await world.run(() => standing() && world.elapsedMs() > 90_000);
  const { load } = await world.store.read(ACCOUNT);
  if (!hasHeld || load.kind === 'refused') throw new Error('the world made no order');
  const records = await world.audit.tail(ACCOUNT, 20);
  const decision = records.find(({ record }) => record.content.kind === 'decision');
  const inputs = decision && (await world.audit.inputs(decision.record));
  if (inputs === undefined || decision?.record.content.kind !== 'decision') throw new Error('no decision');
  const { inputs: _text, ...content } = decision.record.content;
  const { load: own } = await state.store.read(ACCOUNT);
  if (own.kind === 'refused') throw new Error(own.problem.message);
  const epoch = own.account.epoch.id;
  const lanes = [...load.account.lanes].map(([market, lane]) => [market, { ...lane, epoch }] as const);
  const [result] = await state.store.commit([
    {
      base: own.account,
      documents: { ...load.account.documents, approvals: APPROVALS },
      lanes: new Map(lanes),
      audit: [
        { ...content, inputs },
        { kind: 'note', atMs: 1, about: 'test', words: 'a note', attachments: { text: { a: 1 } } },
      ],
      due: { inMs: 0, danger: 3 },
      history: [{ subject: 'position:1', values: { market: MARKET, amount: '0.5', markPrice: 60_000 } }],
    },
  ]);
  if (result?.kind !== 'committed') throw new Error(`the commit ended as ${String(result?.kind)}`);
}

const BY = { author: 'ann', reason: 'a reason' };

async function writeOperators({ controls }: State): Promise<void> {
  const expiresAtMs = Date.now() + 30 * 24 * 3_600_000;
  await controls.put({ kind: 'pause', accountId: ACCOUNT, expiresAtMs, ...BY });
  await controls.put({
    kind: 'silence',
    accountId: ACCOUNT,
    ruleId: 'near',
    subject: 'position:1',
    expiresAtMs,
    ...BY,
  });
  await controls.put({
    kind: 'acknowledgement',
    accountId: ACCOUNT,
    ruleId: 'near',
    subject: 'position:1',
    episode: 1,
    stage: 0,
    expiresAtMs,
    ...BY,
  });
  await controls.answer(ACCOUNT, { questionId: QUESTION.id, revision: 2, decision: 'veto', ...BY });
  await controls.submit(ACCOUNT, {
    kind: 'reduce',
    markets: [MARKET],
    target: { kind: 'by', fraction: 0.5 },
    slippageSteps: [0.01],
    flatten: false,
    expiresAtMs,
    ...BY,
  });
}

/** Every Redis store of the project, opened on one connection. */
export function openStores(redis: Redis, prefix: string) {
  const operators = createOperatorTrust({ key: () => OPERATORS_KEY, isGuarded: false });
  return {
    state: createRedisState({ redis, prefix, clock: systemClock, operators, timeoutMs: 60_000 }),
    nonces: createRedisNonceStore({ redis, prefix }),
    limits: createRedisRateLimitStore({ redis, prefix }),
    receipts: createRedisReceiptStore({ redis, prefix }),
    stress: createRedisStressStore({ redis, prefix }),
    digests: createRedisDigestClaims({ redis, prefix }),
    cursors: createRedisUpdateCursors({ redis, prefix }),
    claim: (onTaken: (holder: string) => void) => claimOf(redis, prefix, onTaken),
  };
}

/** A claim whose waits take no time. */
function claimOf(redis: Redis, prefix: string, onTaken: (holder: string) => void): InstanceClaim {
  let waitedMs = 0;
  const sleep = async (ms: number): Promise<void> => {
    waitedMs += ms;
  };
  const clock = { ...systemClock, monotonicMs: () => waitedMs, sleep };
  const timers = { after: () => () => undefined };
  const named = { ordinal: 0, instance: 'i0', onCompany: () => undefined };
  return new InstanceClaim({ redis, prefix, ...named, clock, timers, onTaken });
}

export type Stores = ReturnType<typeof openStores>;

export const NONCES = 'key';
export const SCOPE = 'office/orders';
export const THREAD = 'ops desk/near/position:1/1';
export const DIGEST = '2026-01-31T08:00';
export const BOT = 'b0';
export const SENT_DIGEST = '2026-01-30T08:00';
export const BUDGET = { scope: SCOPE, limit: 100, periodMs: 10_000, share: 1, count: 3 } as const;

const CASE = { scenario: 'crash', conditions: 'calm', keptWithout: 0.1, keptWith: 0.6 };
const RUN = { atMs: 1, durationMs: 2, outcome: 'complete', words: '' } as const;

/** Fills a Redis with every kind of key that it may hold. */
export async function seedRedis(redis: Redis, prefix: string): Promise<void> {
  const { state, nonces, limits, receipts, stress, digests, cursors, claim } = openStores(redis, prefix);
  await writeAccount(state);
  await writeOperators(state);
  await state.store.leases.acquire(ACCOUNT, MARKET, 'somebody', 3_000);
  await state.store.leases.acquire(ACCOUNT, null, 'another', 3_000);
  await nonces.reserve(NONCES, Date.now() * 10, 5);
  await nonces.reserveWindow(NONCES, Date.now(), Date.now() + 100, 5);
  await nonces.enterMutex(NONCES, { owner: 'somebody', floor: 1, leaseMs: 2_000, urgent: false });
  await nonces.enterMutex(NONCES, { owner: 'another', floor: 1, leaseMs: 2_000, urgent: true });
  await limits.take({ ...BUDGET, ignorePenalty: false });
  await limits.penalize({ scope: SCOPE, factor: 0.5, floor: 0.1, recoveryMs: 30_000, blockMs: 100 });
  await receipts.settle(THREAD, 'somebody', {
    a: { kind: 'delivered', atMs: 1, saidAtMs: 1, final: false, reference: '77' },
    b: { kind: 'failed', atMs: 1, final: true, reason: 'timeout', words: 'no answer' },
  });
  await receipts.hold(THREAD, 'somebody', 5_000);
  await stress.write({
    version: 1,
    result: {
      ...RUN,
      accounts: 1,
      leftOut: ['another account holds nothing'],
      leftOutCount: 1,
      cases: [{ ...CASE, title: 'Crash', about: 'A crash.', liquidatedWithout: 1, liquidatedWith: 0 }],
      accountCases: [{ ...CASE, accountId: ACCOUNT, liquidatedWithout: true, liquidatedWith: false }],
    },
    lastRun: RUN,
    nextAtMs: 3,
  });
  await stress.claim('1', 'somebody');
  await digests.claim(DIGEST, 'somebody');
  await claim(() => undefined).take();
  await digests.finish(SENT_DIGEST);
  await cursors.take(BOT, 'me', 60_000);
  await cursors.advance(BOT, 'me', { offset: 7, caughtUpMs: 1 });
  state.close();
  await nonces.close();
}
