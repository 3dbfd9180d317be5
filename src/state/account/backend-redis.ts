import type { Redis } from 'ioredis';
import { BUCKETS, StoreLostError } from '../../core/ports/state-store.ts';
import { within } from '../../core/ports/within.ts';
import { systemTimers } from '../../exchange/system-clock.ts';
import { createRedisLeases, leaseField, type Within } from '../leases/leases-redis.ts';
import {
  pairsOf,
  prepareScripts,
  type RedisScript,
  type ScriptArgument,
  toNumbers,
  wholeNumber,
} from '../redis-scripts.ts';
import {
  type Backend,
  type HistoryRange,
  leavesTally,
  type RawAccount,
  type RawBatch,
  type RawChange,
  type RawCommitReply,
  type RawLaneChange,
  type RawOutcome,
  type RawRecord,
  type RawRequest,
  type RawStand,
  type RawView,
  type RecordRange,
  STAMP_LENGTH,
} from './account-backend.ts';
import { COMMIT, HOLD_DUE, MAKE_DUE, REPLACE, VIEW } from './account-scripts.ts';
import { HEADER_FIELD, TALLY_FIELD } from './documents.ts';
import { type BucketKeys, bucketKeys } from './keys.ts';

export interface RedisBackendOptions {
  readonly redis: Redis;
  readonly prefix: string;
  /** A call that takes longer counts as a lost store. */
  readonly timeoutMs: number;
  /** Samples kept per account; trimming may leave a few more. */
  readonly historySamples: number;
}

/** State in Redis, shared by all processes with the same prefix. */
export class RedisBackend implements Backend {
  readonly leases;
  readonly #redis: Redis;
  readonly #run: (script: RedisScript, ...args: ScriptArgument[]) => Promise<unknown>;
  readonly #keys: readonly BucketKeys[];
  readonly #historySamples: number;
  readonly #within: Within;
  /** Incremented whenever the connection ends: the next one may reach another server. */
  #connection = 0;
  #server: { readonly run: Promise<string>; readonly connection: number } | undefined;
  readonly #onClose = (): void => {
    this.#connection += 1;
  };

  constructor({ redis, prefix, timeoutMs, historySamples }: RedisBackendOptions) {
    this.#redis = redis;
    this.#historySamples = historySamples;
    this.#keys = Array.from({ length: BUCKETS }, (_, bucket) => bucketKeys(prefix, bucket));
    this.#run = prepareScripts(redis, [VIEW, COMMIT, REPLACE, MAKE_DUE, HOLD_DUE]);
    this.#within = async (doing, call) => {
      try {
        return await within(systemTimers, timeoutMs, call());
      } catch (error) {
        throw new StoreLostError(doing, error);
      }
    };
    this.leases = createRedisLeases(redis, (bucket) => this.#of(bucket), this.#within);
    redis.on('close', this.#onClose);
  }

  /** Removes its listener from the connection, which the caller owns. */
  close(): void {
    this.#redis.off('close', this.#onClose);
  }

  view(bucket: number, request: RawRequest): Promise<RawView> {
    const keys = this.#of(bucket);
    const { writer, stamp, accountIds, due } = request;
    const names = accountIds.map((accountId) => keys.account(accountId));
    const args = [writer, stamp, due?.claimMs ?? '', due?.maxAheadMs ?? '', ...accountIds];
    const keyed = [names.length + 3, keys.epoch, keys.controls, keys.due, ...names];
    return this.#within('reading accounts', async () => {
      const { reply, run } = await this.#identified(() => this.#run(VIEW, ...keyed, ...args));
      return readView(reply as unknown[], accountIds, run);
    });
  }

  stands(bucket: number, accountIds: readonly string[]): Promise<readonly RawStand[]> {
    const keys = this.#of(bucket);
    const standOf = async (accountId: string): Promise<RawStand> => {
      const [header, tally] = await this.#redis.hmget(keys.account(accountId), HEADER_FIELD, TALLY_FIELD);
      return { accountId, header: header ?? '', tally: tally ?? '' };
    };
    return this.#within('comparing accounts', () => Promise.all(accountIds.map(standOf)));
  }

  commit(bucket: number, batch: RawBatch): Promise<RawCommitReply> {
    const keys = this.#of(bucket);
    const names: string[] = [keys.epoch, keys.controls, keys.due];
    const { expected = '', next = '' } = batch.controls ?? {};
    const args: ScriptArgument[] = [batch.epoch, expected, next, this.#historySamples, batch.writer];
    for (const change of batch.changes) {
      nameKeys(names, keys, change);
      writeChange(args, change);
    }
    return this.#within('committing accounts', async () => {
      const call = (): Promise<unknown> => this.#run(COMMIT, names.length, ...names, ...args);
      const { reply, run } = await this.#identified(call);
      return readCommitReply(reply as unknown[], run, batch.changes);
    });
  }

  async startEpoch(bucket: number, expected: string | null, next: string): Promise<string> {
    const { epoch } = this.#of(bucket);
    const whole = Number.MAX_SAFE_INTEGER;
    return String(await this.#call('starting a store epoch', REPLACE, epoch, expected ?? '', next, whole));
  }

  async setControls(bucket: number, expected: string, next: string): Promise<string> {
    const { controls } = this.#of(bucket);
    return String(await this.#call('changing controls', REPLACE, controls, expected, next, STAMP_LENGTH));
  }

  allControls(): Promise<readonly string[]> {
    return this.#within('reading controls', async () => {
      const texts = await Promise.all(this.#keys.map((keys) => this.#redis.get(keys.controls)));
      return texts.map((text) => text ?? '');
    });
  }

  async makeDue(bucket: number, accountId: string, inMs: number): Promise<void> {
    await this.#call('making an account due', MAKE_DUE, this.#of(bucket).due, inMs, accountId);
  }

  async holdDue(bucket: number, accountIds: readonly string[], inMs: number): Promise<void> {
    await this.#call('holding claims', HOLD_DUE, this.#of(bucket).due, inMs, ...accountIds);
  }

  fields(bucket: number, accountId: string): Promise<ReadonlyMap<string, string>> {
    const key = this.#of(bucket).account(accountId);
    const call = async () => new Map(Object.entries(await this.#redis.hgetall(key)));
    return this.#within('reading an account', call);
  }

  async forget(bucket: number, accountId: string): Promise<void> {
    const keys = this.#of(bucket);
    const { account, audit, files, history, leases } = keys;
    const names = [account, audit, files, history, leases].map((of) => of(accountId));
    await this.#within('forgetting an account', async () => {
      const transaction = this.#redis.multi().unlink(...names);
      const results = await transaction.zrem(keys.due, accountId).exec();
      for (const [error] of results ?? []) if (error) throw error;
    });
  }

  records(bucket: number, accountId: string, range: RecordRange): Promise<readonly RawRecord[]> {
    const key = this.#of(bucket).audit(accountId);
    const from = `${range.from}-0`;
    const to = Number.isFinite(range.to) ? `${range.to}-0` : '+';
    return this.#within('reading audit records', async () => {
      const entries = range.newest
        ? (await this.#redis.xrevrange(key, to, from, 'COUNT', range.count)).reverse()
        : await this.#redis.xrange(key, from, to, 'COUNT', range.count);
      return entries.map(([id, values]) => {
        const { t: text = '', h: hash = '' } = Object.fromEntries(pairsOf(values));
        return { number: Number.parseInt(id, 10), text, hash };
      });
    });
  }

  file(bucket: number, accountId: string, hash: string): Promise<string | null> {
    const key = this.#of(bucket).files(accountId);
    return this.#within('reading an attachment', () => this.#redis.hget(key, hash));
  }

  fileHashes(bucket: number, accountId: string): Promise<readonly string[]> {
    const key = this.#of(bucket).files(accountId);
    return this.#within('listing attachments', () => this.#redis.hkeys(key));
  }

  history(bucket: number, accountId: string, { fromMs, toMs, count }: HistoryRange) {
    const key = this.#of(bucket).history(accountId);
    const to = toMs === Number.POSITIVE_INFINITY ? '+' : String(toMs);
    return this.#within('reading history', async () => {
      const entries = await this.#redis.xrevrange(key, to, String(fromMs), 'COUNT', count);
      return entries
        .reverse()
        .map(([id, values]) => ({ atMs: Number.parseInt(id, 10), values: new Map(pairsOf(values)) }));
    });
  }

  #call(doing: string, script: RedisScript, ...args: ScriptArgument[]): Promise<unknown> {
    return this.#within(doing, () => this.#run(script, ...args));
  }

  #of(bucket: number): BucketKeys {
    const keys = this.#keys[bucket];
    if (keys === undefined) throw new RangeError(`there is no bucket ${bucket}`);
    return keys;
  }

  /** A reply with the identity of the server that gave it, even if the connection was renewed meanwhile. */
  async #identified(call: () => Promise<unknown>): Promise<{ reply: unknown; run: string }> {
    await this.#serverRun();
    const reply = await call();
    return { reply, run: await this.#serverRun() };
  }

  #serverRun(): Promise<string> {
    if (this.#server?.connection === this.#connection) return this.#server.run;
    const run = this.#redis.info('server').then(runIdOf);
    this.#server = { run, connection: this.#connection };
    run.catch(() => {
      this.#server = undefined;
    });
    return run;
  }
}

function runIdOf(info: string): string {
  const run = /^run_id:(\w+)/m.exec(info)?.[1];
  if (run === undefined) throw new Error('Redis did not tell its run id (INFO server)');
  return run;
}

function readView(reply: readonly unknown[], accountIds: readonly string[], run: string): RawView {
  const [epoch, controls, nextDue, now] = reply;
  const accounts: RawAccount[] = [];
  for (let at = 4; at < reply.length; at += 4) {
    const fields = reply[at + 3];
    accounts.push({
      accountId: accountIds[Number(reply[at]) - 1]!,
      header: String(reply[at + 1]),
      tally: String(reply[at + 2]),
      fields: Array.isArray(fields) ? new Map(pairsOf(fields as string[])) : null,
    });
  }
  return {
    run,
    epoch: epoch === '' ? null : String(epoch),
    controls: controls === 0 ? null : String(controls),
    accounts,
    nextDueInMs: nextDue === -1 ? null : finite(nextDue),
    nowMs: now === -1 ? null : wholeNumber(now, 0),
  };
}

/** Due times that others have written may be any number. */
function finite(value: unknown): number {
  const [number = Number.NaN] = toNumbers([value]);
  return Math.min(number, Number.MAX_SAFE_INTEGER);
}

const REFUSALS: Readonly<Record<number, Exclude<RawOutcome['kind'], 'committed'>>> = {
  2: 'conflict',
  3: 'leaseLost',
  4: 'controlsChanged',
  5: 'auditContradicts',
};

function readCommitReply(
  reply: readonly unknown[],
  run: string,
  changes: readonly RawChange[],
): RawCommitReply {
  if (reply[0] === 0) return { kind: 'epochChanged' };
  const outcomes = changes.map((change, index) => readOutcome(reply[index + 2], change));
  return { kind: 'answered', run, outcomes, controls: String(reply[1]) };
}

function readOutcome(answer: unknown, { lanes }: RawChange): RawOutcome {
  if (Array.isArray(answer)) {
    const [, before, after, ...places] = answer as [number, string, string, ...number[]];
    const leftOut = places.map((place) => lanes[place - 1]!.market);
    return { kind: 'committed', tally: { before, after }, leftOut };
  }
  if (answer === 1) return { kind: 'committed', tally: null, leftOut: [] };
  const kind = REFUSALS[Number(answer)];
  if (kind === undefined) throw new TypeError('unexpected reply of a Redis script');
  return { kind };
}

function nameKeys(names: string[], keys: BucketKeys, change: RawChange): void {
  const { accountId, lease, records, lanes, trimBefore, files, removeFiles, history } = change;
  names.push(keys.account(accountId));
  if (lease !== null) names.push(keys.leases(accountId));
  if (records.length > 0 || trimBefore > 0 || lanes.length > 0) names.push(keys.audit(accountId));
  if (files.length > 0 || removeFiles.length > 0) names.push(keys.files(accountId));
  if (history.length > 0) names.push(keys.history(accountId));
}

function writeChange(args: ScriptArgument[], change: RawChange): void {
  const { accountId, expected, dueInMs, header, set, remove, records, files, removeFiles, history } = change;
  args.push(accountId, expected ?? '', dueInMs ?? '', expected === null ? '' : header);
  if (!leavesTally(change)) {
    args.push(set.length, ...set);
    return;
  }
  const { stamp, lease, trimBefore, lanes, lastNumber } = change;
  args.push('more', set.length, stamp ?? '-', lease === null ? '' : leaseField(lease.market));
  args.push(lease?.token ?? '', remove.length, records.length, files.length, removeFiles.length);
  args.push(trimBefore, history.length, lanes.length, lastNumber, ...set, ...remove);
  for (const { text, hash } of records) args.push(text, hash);
  args.push(...files, ...removeFiles, ...history);
  for (const lane of lanes) writeLane(args, lane);
}

function writeLane(args: ScriptArgument[], lane: RawLaneChange): void {
  const { market, expected, header, isSeparable, text, records } = lane;
  const does = text === undefined ? '' : text === null ? 'r' : 's';
  args.push(market, expected, header, isSeparable ? 1 : 0, does, text ?? '', records.length);
  for (const record of records) args.push(record.text, record.hash);
}
