import { ConfiguredAccounts } from '../app/configured-accounts.ts';
import { openMirror } from '../app/open-mirror.ts';
import type { Disk } from '../core/ports/disk.ts';
import type { NonceStore } from '../core/ports/nonce-store.ts';
import { TRUSTING } from '../core/ports/operator-trust.ts';
import type { RateLimitStore } from '../core/ports/rate-limit-store.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import type { WireDispatcher } from '../exchange/call/sockets.ts';
import { Connections } from '../exchange/call/transport.ts';
import type { SharedTime } from '../pipeline/shared-time.ts';
import type { Backend } from '../state/account/account-backend.ts';
import type { StandbyBackend } from '../state/account/backend-standby.ts';
import { createMemoryRateLimitStore } from '../state/limits/limiter-memory.ts';
import type { Mirror } from '../state/mirror/mirror.ts';
import type { MachineProcess } from './machine.ts';

/** The shared stores as one process reaches them. */
export interface LinkedStores {
  readonly backend: Backend;
  readonly nonces: NonceStore;
  readonly limits: RateLimitStore;
  /** Rejects while the store takes no writes. */
  readonly probe: () => Promise<unknown>;
}

/** A process of a daemon, and its identity. */
export interface ProcessHost {
  readonly process: MachineProcess;
  readonly telemetry: Telemetry;
  readonly ordinal: number;
  readonly instance: string;
}

export interface AccountChance {
  readonly random: () => number;
  /** Connects to a base address of the exchange. */
  readonly connect: (region: number, from: MachineProcess) => WireDispatcher;
}

export function openAccounts(
  { process, ...host }: ProcessHost,
  { nonces, limits }: LinkedStores,
  { random, connect }: AccountChance,
): ConfiguredAccounts {
  const { clock, timers } = process;
  return new ConfiguredAccounts({
    ...host,
    clock,
    timers,
    random,
    nonces,
    limits,
    fallbackLimits: createMemoryRateLimitStore(clock),
    connections: new Connections({
      open: (origin, { baseUrls }) => connect(regionOf(origin, baseUrls), process),
      timers,
    }),
  });
}

function regionOf(origin: string, baseUrls: readonly string[]): number {
  return baseUrls.findIndex((baseUrl) => new URL(baseUrl).origin === origin);
}

/** Begins with what an earlier process left on the disk, and keeps it up to date. `lost`: why the store is lost. */
export function openDisk(
  { process, telemetry, ordinal }: ProcessHost,
  { backend, time }: { readonly backend: StandbyBackend; readonly time: SharedTime },
  lost: string | undefined,
): Promise<Mirror | undefined> {
  const { clock, timers } = process;
  return openMirror(
    {
      place: { ...diskOf(process), where: 'the disk of its machine' },
      prefix: 'world',
      ordinal,
      operators: TRUSTING,
    },
    { backend, clock, timers, time, telemetry, ...(lost === undefined ? {} : { lost }) },
  );
}

/** Why the store is lost, in words; undefined: it answers. */
export async function lostAtStart({ probe }: Pick<LinkedStores, 'probe'>): Promise<string | undefined> {
  try {
    await probe();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Time of a small write; a process that ends earlier has not written. */
const WRITE_MS = 2;

/** The disk of a process's machine. Its files outlive the process. */
export function diskOf({ machine, timers }: MachineProcess): Disk {
  const { files } = machine;
  const written = (change: () => void): Promise<void> =>
    new Promise((resolve) => {
      timers.after(WRITE_MS, () => {
        change();
        resolve();
      });
    });
  return {
    write: (name, text) => written(() => files.set(name, text)),
    append: (name, text) => written(() => files.set(name, (files.get(name) ?? '') + text)),
    read: async (name) => files.get(name),
    names: async () => [...files.keys()],
    remove: (name) => written(() => files.delete(name)),
    rename: (name, next) => written(() => files.set(next, files.get(name) ?? '') && files.delete(name)),
    settle: async () => undefined,
  };
}
