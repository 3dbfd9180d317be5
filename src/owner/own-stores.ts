import { z } from 'zod';
import { sha256Hex } from '../core/audit/sha256.ts';
import type { Clock } from '../core/ports/clock.ts';
import { type ReceiptStore, type Receipts, receiptSchema } from '../core/ports/delivery.ts';
import { storedStressSchema } from '../core/view/stress-result.ts';
import { readCursor, type UpdateCursors, writeCursor } from '../state/bot/update-cursor.ts';
import type { DigestClaims } from '../state/digest/digest-claims.ts';
import { readJson } from '../state/read-json.ts';
import { KEEP_RECEIPTS_MS } from '../state/receipts/receipts-memory.ts';
import type { StressStore } from '../state/stress/stress-store.ts';
import type { KeptValues } from './own-values.ts';

// What a process without company keeps beside its accounts. Nobody else claims anything.

const MS_PER_DAY = 86_400_000;
const receiptsSchema = z.record(z.string(), receiptSchema);

/** Receipts that a restart finds again. */
export function createOwnReceiptStore(values: KeptValues, clock: Pick<Clock, 'monotonicMs'>): ReceiptStore {
  const holds = new Map<string, { readonly owner: string; readonly untilMs: number }>();
  const nameOf = (thread: string): string => `receipts:${sha256Hex(thread).slice(0, 40)}`;
  const receiptsOf = (thread: string): Receipts =>
    readJson(receiptsSchema, values.get(nameOf(thread)) ?? '') ?? {};
  return {
    peek: async (threads) => threads.map(receiptsOf),
    async hold(thread, owner, leaseMs) {
      const nowMs = clock.monotonicMs();
      const held = holds.get(thread);
      if (held !== undefined && held.owner !== owner && held.untilMs > nowMs)
        return { kind: 'busy', retryInMs: held.untilMs - nowMs };
      holds.set(thread, { owner, untilMs: nowMs + leaseMs });
      return { kind: 'held', receipts: receiptsOf(thread) };
    },
    async settle(thread, owner, receipts) {
      const held = holds.get(thread);
      const isHeld = held?.owner === owner && held.untilMs > clock.monotonicMs();
      if (held?.owner === owner) holds.delete(thread);
      const all = { ...receiptsOf(thread), ...receipts };
      if (Object.keys(receipts).length > 0)
        await values.set(nameOf(thread), JSON.stringify(all), KEEP_RECEIPTS_MS);
      return isHeld;
    },
  };
}

export function createOwnDigestClaims(values: KeptValues): DigestClaims {
  const nameOf = (digest: string): string => `digest:${digest}`;
  return {
    claim: async (digest) => (values.get(nameOf(digest)) === undefined ? 'mine' : 'sent'),
    finish: (digest) => values.set(nameOf(digest), 'sent', 2 * MS_PER_DAY),
    release: async () => undefined,
  };
}

export function createOwnUpdateCursors(values: KeptValues): UpdateCursors {
  const nameOf = (bot: string): string => `bot:${bot}`;
  return {
    take: async (bot) => readCursor(values.get(nameOf(bot)) ?? ''),
    async advance(bot, _owner, cursor) {
      await values.set(nameOf(bot), writeCursor(cursor), 7 * MS_PER_DAY);
      return true;
    },
    leave: async () => undefined,
  };
}

export function createOwnStressStore(values: KeptValues): StressStore {
  const runOf = (run: string): string => `stress:run:${run}`;
  return {
    // Decides nothing: an unreadable result counts as absent until the next run.
    read: async () => readJson(storedStressSchema, values.get('stress:latest') ?? ''),
    write: (stored) => values.set('stress:latest', JSON.stringify(stored)),
    async claim(run, owner) {
      if (values.get(runOf(run)) !== undefined) return false;
      await values.set(runOf(run), owner, MS_PER_DAY);
      return true;
    },
    release: (run) => values.set(runOf(run), null),
  };
}
