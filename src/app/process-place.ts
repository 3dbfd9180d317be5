import type { Redis } from 'ioredis';
import type { DaemonSign } from '../core/controls/daemon-sign.ts';
import type { Clock, Random } from '../core/ports/clock.ts';
import type { ReceiptStore } from '../core/ports/delivery.ts';
import type { NonceStore } from '../core/ports/nonce-store.ts';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import type { RateLimitStore } from '../core/ports/rate-limit-store.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import type { Outbox } from '../owner/outbox.ts';
import type { SharedTime } from '../pipeline/shared-time.ts';
import type { RedisTarget } from '../queues/connection.ts';
import type { Queues } from '../queues/producers.ts';
import type { UpdateCursors } from '../state/bot/update-cursor.ts';
import type { DigestClaims } from '../state/digest/digest-claims.ts';
import type { StandbyReceipts } from '../state/receipts/receipts-standby.ts';
import type { State } from '../state/state.ts';
import type { StressStore } from '../state/stress/stress-store.ts';
import type { ShownSign } from './daemon-signs.ts';
import type { ProcessTelemetry } from './process-telemetry.ts';

export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  /** Number of this process among several. */
  readonly ordinal: number;
  readonly process: ProcessTelemetry;
  /** Treats warnings about the Redis server as errors. */
  readonly strictRedis: boolean;
  readonly roles: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What a place is opened with. */
export interface PlaceParts extends Surroundings {
  readonly instance: string;
  readonly sign: OwnSign;
}

/** The sign of this process; `isGuarded`: nobody else can write to its store. */
export type OwnSign = (isGuarded: boolean) => DaemonSign;

/** Where a process keeps what outlives it: in Redis, which others share, or on its own disk. */
export interface ProcessPlace extends Omit<ShownSign, 'end'> {
  readonly state: State;
  readonly operators: OperatorTrust;
  /** Commands of chats are carried out: nobody else can give them. */
  readonly takesCommands: boolean;
  readonly nonces: NonceStore;
  readonly limits: RateLimitStore;
  readonly receipts: ReceiptStore;
  readonly cursors: UpdateCursors;
  readonly digestClaims: DigestClaims;
  readonly stressStore: StressStore;
  /** Notices on their way; absent: a queue has them. */
  readonly outbox?: Outbox;
  readonly time: SharedTime;
  /** Absent: this process shares nothing. */
  readonly shared: SharedPlace | undefined;
  close(): Promise<void>;
}

export interface SharedPlace {
  readonly redis: Redis;
  readonly target: RedisTarget;
  readonly prefix: string;
  readonly queues: Queues;
  readonly receipts: StandbyReceipts;
  /** Why Redis was lost at the start, in words; absent: it answered. */
  readonly lost: string | undefined;
  /** Does the start's steps in Redis later, in a process that started while Redis was lost. */
  readonly join: () => Promise<void>;
}
