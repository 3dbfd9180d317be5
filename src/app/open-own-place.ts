import path from 'node:path';
import { pid } from 'node:process';
import type { CompiledConfig } from '../config/compiled-config.ts';
import { expectationOf } from '../core/controls/daemon-sign.ts';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import type { EventOf } from '../core/ports/telemetry.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import { createDiskDirectory } from '../owner/disk-directory.ts';
import { JournalLock } from '../owner/journal-lock.ts';
import { createOwnState } from '../owner/open-own-state.ts';
import { Outbox } from '../owner/outbox.ts';
import {
  createOwnDigestClaims,
  createOwnReceiptStore,
  createOwnStressStore,
  createOwnUpdateCursors,
} from '../owner/own-stores.ts';
import type { KeptValues } from '../owner/own-values.ts';
import { SharedTime } from '../pipeline/shared-time.ts';
import { createOperatorTrust } from '../state/controls/operator-seal.ts';
import { createMemoryRateLimitStore } from '../state/limits/limiter-memory.ts';
import { createMemoryNonceStore } from '../state/nonce/nonce-memory.ts';
import { createMemoryState, randomText } from '../state/state.ts';
import { closeAll } from './close-all.ts';
import { RedisUnusableError } from './connect-redis.ts';
import { THIS_MACHINE } from './own-directory.ts';
import type { PlaceParts, ProcessPlace } from './process-place.ts';
import { stateDirectoryOf } from './state-directory.ts';

/** Opens a place that this process shares with nobody: its memory, and a journal on its disk. @throws JournalHeldError, RedisUnusableError */
export async function openOwnPlace(config: CompiledConfig, parts: PlaceParts): Promise<ProcessPlace> {
  requireWhole(parts);
  const { clock, telemetry, process, env } = parts;
  const timers = systemTimers;
  const key = config.operators.key?.reveal();
  const { maxSlippage } = config.operators;
  // Only this user can enter the directory.
  const operators = createOperatorTrust({ key: () => key, isGuarded: true, maxSlippage });
  const directory = stateDirectoryOf({ configFile: config.file, stateDir: config.stateDir, env });
  const disk = createDiskDirectory(directory);
  const onLost = (holder: string): void => telemetry.emit({ kind: 'journalTaken', directory, holder });
  const identity = { id: parts.instance, ...THIS_MACHINE, pid };
  const lock = await JournalLock.take({ disk, clock, timers, ...identity, onLost });
  const closers: (() => Promise<unknown>)[] = [() => lock.release()];
  try {
    const onState = (failing: { readonly error: unknown } | undefined): void =>
      telemetry.emit({
        kind: 'mirror',
        ...(failing === undefined ? { state: 'well' } : { state: 'failing', ...failing }),
      });
    const kept = { disk, clock, timers, trust: operators, randomText, onState };
    const own = createOwnState(kept, () => lock.isHeld);
    closers.push(() => own.close());
    const faults = await own.open();
    telemetry.emit({ kind: 'journalOpened', directory });
    for (const { file, words } of faults) telemetry.emit(damaged(directory, file, words));
    const secrets = () => process.secrets.current;
    const onRefusedControl = (words: string): void => telemetry.emit({ kind: 'controlRefused', words });
    const state = createMemoryState({ clock, secrets, operators, onRefusedControl }, own);
    return { ...ownParts(parts, operators, own.values), state, close: () => closeAll(closers) };
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

/** Nothing is shared with another process that could do the rest. */
function requireWhole({ roles, ordinal }: PlaceParts): void {
  const lacking = ['poll', 'act', 'notify'].filter((role) => !roles.includes(role));
  if (lacking.length === 0 && ordinal === 0) return;
  const words =
    'without `redis` in the config one process does everything: leave out --roles and --instance, or add a Redis that several share';
  throw new RedisUnusableError(words);
}

function damaged(directory: string, name: string, fault: string): EventOf<'mirror'> {
  const words = `${path.join(directory, name)} cannot be used (${fault}): the state before it is in force, and orders are in doubt until they have been read`;
  return { kind: 'mirror', state: 'unread', name, words, isStopped: false, error: new Error(fault) };
}

function ownParts(
  { clock, instance, ...parts }: PlaceParts,
  operators: OperatorTrust,
  values: KeptValues,
): Omit<ProcessPlace, 'state' | 'close'> {
  const sign = () => parts.sign(true);
  return {
    operators,
    takesCommands: true,
    nonces: createMemoryNonceStore(clock),
    limits: createMemoryRateLimitStore(clock),
    receipts: createOwnReceiptStore(values, clock),
    cursors: createOwnUpdateCursors(values),
    digestClaims: createOwnDigestClaims(values),
    stressStore: createOwnStressStore(values),
    outbox: new Outbox(values),
    time: new SharedTime(clock, instance),
    processes: async () => [{ instance, host: THIS_MACHINE.host, acts: true, confirmed: true }],
    expected: (slippageSteps) => expectationOf(sign(), [], slippageSteps),
    polling: () => 1,
    shared: undefined,
  };
}
