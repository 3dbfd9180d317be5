import type { OperatorTrust } from '../../../src/core/ports/operator-trust.ts';
import { createOwnState } from '../../../src/owner/open-own-state.ts';
import { createOperatorTrust } from '../../../src/state/controls/operator-seal.ts';
import { createMemoryState, randomText, type State } from '../../../src/state/state.ts';
import { type ManualClock, manualClock } from '../../state/support/manual-clock.ts';
import type { FaultyDisk } from './faulty-disk.ts';

export const TRUST: OperatorTrust = createOperatorTrust({ key: () => 'a key of tests', isGuarded: true });

/** Timers that end when they are told to. */
export class ManualTimers {
  readonly #calls = new Map<() => void, number>();

  readonly after = (delayMs: number, call: () => void): (() => void) => {
    // The same function may wait twice.
    const own = (): void => call();
    this.#calls.set(own, delayMs);
    return () => this.#calls.delete(own);
  };

  readonly afterTurn = (call: () => void): (() => void) => {
    const turn = setImmediate(call);
    return () => clearImmediate(turn);
  };

  /** Ends all timers of at most this delay. */
  end(mostMs = Number.POSITIVE_INFINITY): void {
    // Those that start meanwhile wait for the next time.
    const waiting = Array.from(this.#calls);
    for (const [call, delayMs] of waiting) {
      if (delayMs <= mostMs && this.#calls.delete(call)) call();
    }
  }
}

export interface OwnProcess {
  readonly state: State;
  readonly timers: ManualTimers;
  readonly clock: ManualClock;
  readonly faults: readonly { readonly file: string; readonly words: string }[];
  /** Whether the disk failed or not, in the order in which that was said. */
  readonly said: string[];
  readonly run: string;
  readonly values: ReturnType<typeof createOwnState>['values'];
  close(): Promise<void>;
}

export async function startOwn(disk: FaultyDisk, trust = TRUST): Promise<OwnProcess> {
  const [timers, clock, said]: [ManualTimers, ManualClock, string[]] = [
    new ManualTimers(),
    manualClock(),
    [],
  ];
  const onState = (failing: { readonly error: unknown } | undefined): void =>
    void said.push(failing === undefined ? 'well' : String(failing.error));
  const own = createOwnState({ disk, clock, timers, trust, randomText, onState }, () => true);
  const faults = await own.open();
  const { values } = own;
  const state = createMemoryState({ clock, operators: trust, historyEveryMs: 0 }, own);
  const { run } = own.backend.stateOf(0);
  return { state, timers, clock, faults, said, run, values, close: () => own.close() };
}
