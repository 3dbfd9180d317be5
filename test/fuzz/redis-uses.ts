import { InstanceTakenError } from '../../src/app/instance-claim.ts';
import { partsOf } from '../../src/core/approvals/question.ts';
import { AuditFormatError, AuditInputsError } from '../../src/core/audit/audit-record.ts';
import { ControlError } from '../../src/core/ports/operator-controls.ts';
import { bucketOf, StoreLostError } from '../../src/core/ports/state-store.ts';
import { toDecimal } from '../../src/core/quantities/decimal.ts';
import {
  ACCOUNT,
  BOT,
  BUDGET,
  DIGEST,
  MARKET,
  NONCES,
  QUESTION,
  SCOPE,
  SENT_DIGEST,
  type Stores,
  THREAD,
} from './redis-seed.ts';

type Use = (stores: Stores) => Promise<void>;

/** How the program uses its data in Redis, and the invariants of the results for data of any origin. */
export const USES: Readonly<Record<string, Use>> = {
  async takeDue({ state }) {
    const request = { accountIds: [ACCOUNT], claimMs: 3_000, maxAheadMs: 60_000 };
    const { nextDueInMs, storeMs, accounts } = await state.store.takeDue(bucketOf(ACCOUNT), request);
    within('nextDueInMs', nextDueInMs ?? 0, -Number.MAX_SAFE_INTEGER, 60_001);
    within('storeMs', storeMs, 0, 1e14);
    for (const load of accounts) if (load.kind === 'refused') worded(load.problem.message);
  },
  async commit({ state }) {
    const { load, controls } = await state.store.read(ACCOUNT);
    if (load.kind === 'refused') return worded(load.problem.message);
    const { account } = load;
    const lane = account.lanes.get(MARKET);
    const [result] = await state.store.commit([
      {
        base: account,
        audit: [{ kind: 'note', atMs: 1, about: 'test', words: 'x' }],
        ...(lane === undefined ? {} : { lanes: new Map([[MARKET, { ...lane, attempt: lane.attempt + 1 }]]) }),
        due: { inMs: 500, danger: 1 },
        history: [{ subject: 'position:1', values: { market: MARKET, amount: '1' } }],
        controls,
      },
    ]);
    if (result === undefined) throw new OutOfBounds('no answer to a commit');
    if (result.kind === 'refused') worded(result.problem.message);
    if (result.kind === 'committed') within('version', result.account.version, 1, Number.MAX_SAFE_INTEGER);
  },
  async discard({ state }) {
    const { load } = await state.store.read(ACCOUNT);
    if (load.kind === 'loaded') return;
    worded(load.problem.message);
    const { document } = load.problem;
    await state.store.discard(ACCOUNT, { document, author: 'ann', reason: 'unreadable', atMs: 1 });
  },
  async audit({ state }) {
    const records = await state.audit.tail(ACCOUNT, 50);
    const verdict = await state.audit.verify(ACCOUNT);
    if (verdict.kind === 'broken') worded(verdict.words);
    for (const { record } of records) await state.audit.inputs(record).catch(judgeFailure);
  },
  async prune({ state }) {
    const exporter = { write: async () => undefined, end: async () => undefined };
    const { pruned } = await state.audit.prune(ACCOUNT, { keepRecords: 1, reason: 'x', atMs: 1, exporter });
    within('pruned', pruned, 0, 1_000);
  },
  async history({ state }) {
    for (const { atMs, values } of await state.history.read(ACCOUNT, 'position:1')) {
      within('atMs', atMs, 0, Number.MAX_SAFE_INTEGER);
      if (typeof values !== 'object' || values === null)
        throw new OutOfBounds('values of a sample are no object');
    }
    for (const { samples } of await state.history.readAll(ACCOUNT)) {
      for (const { values } of samples)
        if (typeof values !== 'object' || values === null)
          throw new OutOfBounds('values of a sample are no object');
    }
  },
  async controls({ state }) {
    for (const { id, author, reason } of await state.controls.list()) {
      if (id === '' || author === '' || reason === '') throw new OutOfBounds('a control without a name');
    }
    const by = { author: 'ann', reason: 'over' };
    await state.controls.lift({ kind: 'pause', accountId: ACCOUNT }, by);
  },
  async submit({ state }) {
    const order = { kind: 'withdraw', orderId: 'abc', expiresAtMs: Date.now() + 60_000 } as const;
    const { id } = await state.controls.submit(
      ACCOUNT,
      { ...order, author: 'ann', reason: 'x' },
      'a key of it',
    );
    if (id === '') throw new OutOfBounds('an order without a name');
  },
  async answer({ state }) {
    const draft = {
      questionId: QUESTION.id,
      revision: 2,
      decision: 'approve',
      author: 'ann',
      reason: 'x',
    } as const;
    const { kind } = await state.controls.answer(ACCOUNT, draft);
    if (!['taken', 'notAsked', 'over', 'answered'].includes(kind))
      throw new OutOfBounds(`an answer that is ${kind}`);
    const { load } = await state.store.read(ACCOUNT);
    const { questions = [] } = (load.kind === 'loaded' && load.account.documents.approvals) || {};
    for (const question of questions) {
      partsOf(question);
      for (const { targets } of question.asked) for (const { targetBase } of targets) toDecimal(targetBase);
    }
  },
  async claim({ claim }) {
    const holding = claim(worded);
    await holding.take().catch((error: unknown) => {
      if (!(error instanceof InstanceTakenError)) throw error;
      worded(error.message);
    });
  },
  async leases({ state }) {
    const { leases } = state.store;
    for (const market of [MARKET, null]) {
      const reply = await leases.acquire(ACCOUNT, market, 'me', 2_000);
      if (reply.kind === 'busy') {
        within('retryInMs', reply.retryInMs, 1, 3_000);
        continue;
      }
      within('token', reply.lease.token, 1, Number.MAX_SAFE_INTEGER);
      await leases.renew(reply.lease, 2_000);
      await leases.release(reply.lease);
    }
  },
  async nonces({ nonces }) {
    const nowMs = Date.now();
    const reserved = await nonces.reserve(NONCES, nowMs * 10, 5);
    within('first', reserved.first, nowMs * 10, (nowMs + 700_000) * 10);
    within('previous', reserved.previous, 0, (nowMs + 700_000) * 10);
    const window = await nonces.reserveWindow(NONCES, nowMs - 1_000, nowMs + 1_000, 5);
    if (window.kind === 'exhausted') within('waitMs', window.waitMs, 0, 700_000);
    else {
      within('first', window.first, nowMs - 1_000, nowMs + 1_000);
      within('count', window.count, 1, 5);
    }
  },
  async mutex({ nonces }) {
    const floor = Date.now() * 10;
    const entry = await nonces.enterMutex(NONCES, { owner: 'me', floor, leaseMs: 2_000, urgent: true });
    if (entry.kind === 'busy') within('retryInMs', entry.retryInMs, 1, 60_001);
    else within('sequence', entry.sequence, floor, floor + 7_000_000);
    await nonces.renewMutex(NONCES, 'me', 2_000);
    await nonces.leaveMutex(NONCES, 'me');
  },
  async limits({ limits }) {
    for (const ignorePenalty of [false, true]) {
      const { granted, retryInMs } = await limits.take({ ...BUDGET, ignorePenalty });
      within('granted', granted, 0, BUDGET.count);
      within('retryInMs', retryInMs, granted > 0 ? 0 : 1, 60_001);
    }
    await limits.penalize({ scope: SCOPE, factor: 0.5, floor: 0.1, recoveryMs: 30_000, blockMs: 100 });
  },
  async receipts({ receipts }) {
    const [peeked = {}] = await receipts.peek([THREAD]);
    const hold = await receipts.hold(THREAD, 'me', 5_000);
    if (hold.kind === 'busy') within('retryInMs', hold.retryInMs, 0, 600_001);
    for (const receipt of [
      ...Object.values(peeked),
      ...(hold.kind === 'held' ? Object.values(hold.receipts) : []),
    ]) {
      if (!['delivered', 'failed'].includes(receipt.kind)) throw new OutOfBounds('a receipt of no kind');
      within('atMs', receipt.atMs, 0, 8.64e15);
    }
    await receipts.settle(THREAD, 'me', {});
  },
  async stress({ stress }) {
    const stored = await stress.read();
    if (stored !== undefined) within('nextAtMs', stored.nextAtMs, -8.64e15, 8.64e15);
    await stress.claim('1', 'me');
  },
  async cursors({ cursors }) {
    for (const owner of ['me', 'another']) {
      const cursor = await cursors.take(BOT, owner, 1_000);
      if (cursor === undefined) continue;
      within('offset', cursor.offset, 0, 999_999_999_999_999);
      within('caughtUpMs', cursor.caughtUpMs, 0, 999_999_999_999_999);
      await cursors.advance(BOT, owner, cursor);
      await cursors.leave(BOT, owner);
    }
  },
  async digests({ digests }) {
    for (const name of [DIGEST, SENT_DIGEST]) {
      const outcome = await digests.claim(name, 'me');
      if (!['mine', 'busy', 'sent'].includes(outcome)) throw new OutOfBounds(`a claim that is ${outcome}`);
    }
    await digests.release(DIGEST);
  },
};

/** Accepts errors that say what is wrong, and rethrows those that show a defect. */
export function judgeFailure(error: unknown): void {
  if (error instanceof AuditFormatError || error instanceof AuditInputsError || error instanceof ControlError)
    return worded(error.message);
  const cause = error instanceof StoreLostError ? error.cause : error;
  if (!(error instanceof Error) || !(cause instanceof Error)) throw error;
  worded(error.message);
  // A key of another type: only deleting it helps.
  if (/^WRONGTYPE|Operation against a key holding the wrong kind/.test(cause.message)) return;
  if (!(error instanceof StoreLostError) && 'code' in error) return;
  throw error;
}

/** A reply that no script gives may cause any error, except a violated check of this file. */
export function judgeReplyFailure(error: unknown): void {
  if (!(error instanceof Error) || error instanceof OutOfBounds) throw error;
}

class OutOfBounds extends Error {}

function within(name: string, value: number, least: number, most: number): void {
  if (!(value >= least && value <= most))
    throw new OutOfBounds(`${name} is ${String(value)}: not ${least} to ${most}`);
}

function worded(words: string): void {
  if (words === '' || words.length > 4_000) throw new OutOfBounds(`words of ${words.length} characters`);
}
