import type { CompiledConfig } from '../config/compiled-config.ts';
import type { NonceStore } from '../core/ports/nonce-store.ts';
import type { RateLimitStore } from '../core/ports/rate-limit-store.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import type { WireDispatcher } from '../exchange/call/transport.ts';
import type { Backend } from '../state/account/account-backend.ts';
import type { EventQueue } from './event-queue.ts';
import type { MachineProcess } from './machine.ts';
import type { Ticks } from './ticks.ts';

/** The shared stores as one process reaches them. */
export interface LinkedStores {
  readonly backend: Backend;
  readonly nonces: NonceStore;
  readonly limits: RateLimitStore;
}

/** All that a daemon of a world finds around it. */
export interface WorldSurroundings {
  readonly queue: EventQueue;
  readonly seed: number;
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly ticks: Ticks;
  readonly linkFor: (process: MachineProcess, instance: string) => LinkedStores;
  /** The store's clock, asked over the link. */
  readonly storeTime: (process: MachineProcess) => Promise<number>;
  /** To a base address of the exchange. */
  readonly connect: (region: number, from: MachineProcess) => WireDispatcher;
  /** @throws WorldConfigError */
  readonly loadConfig: (text: string) => CompiledConfig;
  readonly observe: ((daemon: string) => Telemetry | undefined) | undefined;
  /** What failed that no code expected. */
  readonly errors: unknown[];
}
