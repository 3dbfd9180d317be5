import type { Writable } from 'node:stream';
import { EXIT, type ExitCode } from './exit-codes.ts';

const EXIT_OF_SIGNAL = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: EXIT.hangup } as const;

type StopSignal = keyof typeof EXIT_OF_SIGNAL;

/** Why a run was asked to stop: the reason of the abort signal that commands receive. */
export class Stopped extends Error {
  readonly exitCode: ExitCode;

  constructor(by: StopSignal | 'closed output') {
    super(`stopped by ${by}`);
    this.name = 'AbortError';
    this.exitCode = by === 'closed output' ? EXIT.ok : EXIT_OF_SIGNAL[by];
  }
}

/** The reason, if the signal was aborted from outside the command. */
export function stopReason(signal: AbortSignal): Stopped | undefined {
  return signal.aborted && signal.reason instanceof Stopped ? signal.reason : undefined;
}

/** The part of a process that emits signals. */
export interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown;
  exit(code: number): unknown;
}

/** SIGHUP tells a service to read its config again; it ends a command that does not listen. */
export class Hangups {
  readonly #listeners = new Set<() => void>();

  /** @returns a function that stops listening */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls the listeners. Returns whether there are any. */
  tell(): boolean {
    for (const listener of this.#listeners) listener();
    return this.#listeners.size > 0;
  }
}

/** One press of Ctrl-C arrives twice if a parent process forwards what the terminal has already sent. */
const SAME_PRESS_MS = 500;

/** What decides how signals are handled. */
export interface SignalHabits {
  /** A monotonic clock. */
  readonly nowMs: () => number;
  readonly hangups?: Hangups;
  /** Runs under npm, which repeats every Ctrl-C of a terminal, on a busy machine at any time after it. */
  readonly isEchoed?: boolean;
}

/** The first signal asks the command to end, a later one ends it. Resolves when npm's second Ctrl-C has arrived. */
export function abortOnSignals(
  source: SignalSource,
  controller: AbortController,
  { nowMs, hangups = new Hangups(), isEchoed = false }: SignalHabits,
): Promise<void> {
  const echo = Promise.withResolvers<void>();
  let askedAtMs: number | undefined;
  let awaitsEcho = false;
  for (const name of Object.keys(EXIT_OF_SIGNAL) as StopSignal[]) {
    source.on(name, () => {
      if (name === 'SIGHUP' && hangups.tell()) return;
      if (askedAtMs === undefined) {
        askedAtMs = nowMs();
        awaitsEcho = isEchoed && name === 'SIGINT';
        controller.abort(new Stopped(name));
      } else if (awaitsEcho && name === 'SIGINT') {
        awaitsEcho = false;
        echo.resolve();
      } else if (nowMs() - askedAtMs > SAME_PRESS_MS) {
        source.exit(EXIT_OF_SIGNAL[name]);
      }
    });
  }
  return echo.promise;
}

/**
 * `breakwater ... | head` closes our output early: the command stops and ends with 0. Other write errors stay errors.
 */
export function abortOnClosedOutput(
  outputs: readonly Writable[],
  controller: AbortController,
  isOutlived: () => boolean,
): void {
  for (const output of outputs) {
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (isOutlived()) return;
      if (error.code !== 'EPIPE') throw error;
      controller.abort(new Stopped('closed output'));
    });
  }
}
