import type { Writable } from 'node:stream';
import { EXIT, type ExitCode } from './exit-codes.ts';

const EXIT_OF_SIGNAL = {
  SIGINT: EXIT.interrupted,
  SIGTERM: EXIT.terminated,
  SIGHUP: EXIT.hangup,
} as const;

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

/** The part of a process that signals come from. */
export interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown;
  exit(code: number): unknown;
}

/** A service is told by SIGHUP to read its config again; a command that does not listen is ended by it. */
export class Hangups {
  readonly #listeners = new Set<() => void>();

  /** @returns how to stop listening */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Whether anybody listened. */
  tell(): boolean {
    for (const listener of this.#listeners) listener();
    return this.#listeners.size > 0;
  }
}

/** One press of Ctrl-C arrives twice where a parent passes on what the terminal has already sent to us. */
const SAME_PRESS_MS = 500;

/** What a process is told about its surroundings when it listens to signals. */
export interface SignalHabits {
  /** Never steps back. */
  readonly nowMs: () => number;
  readonly hangups?: Hangups;
  /** Under npm: it repeats every Ctrl-C of a terminal, on a busy machine at any time after it. */
  readonly isEchoed?: boolean;
}

/**
 * The first signal asks the command to end, a later one ends it. @returns resolves when npm's second Ctrl-C has come
 */
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
