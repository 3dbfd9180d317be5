import { setTimeout as delay } from 'node:timers/promises';
import type { DaemonEvent } from '../core/ports/telemetry.ts';
import { PROTECTED, TWIN } from './accounts.ts';

const READY_WITHIN_MS = 60_000;
const READY_POLL_MS = 10;
/** No part of the daemon should run for the first time when the market moves: a real daemon has run for long. */
const WARM_AFTER_LOOKS = 4;

/** Observes the daemon for the demo. */
export class Witness {
  /** Sentences of its alerts for the protected account, oldest first. */
  readonly alerts: string[] = [];
  readonly #looks = new Map<string, number>();

  emit(event: DaemonEvent): void {
    if (event.kind === 'evaluated') {
      this.#looks.set(event.accountId, this.#looksAt(event.accountId) + 1);
    }
    if (event.kind === 'said' && event.message.accountId === PROTECTED) {
      const { kind, words } = event.message;
      if (kind === 'firing' || kind === 'alarm') this.alerts.push(words);
    }
  }

  #looksAt(accountId: string): number {
    return this.#looks.get(accountId) ?? 0;
  }

  /** Resolves when both accounts have been evaluated. @throws the reason of the abort, or that it took too long */
  async untilReady(signal: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(READY_WITHIN_MS);
    const bound = AbortSignal.any([signal, late]);
    while (this.#looksAt(PROTECTED) < WARM_AFTER_LOOKS || this.#looksAt(TWIN) < 1) {
      await delay(READY_POLL_MS, undefined, { signal: bound }).catch(() => {
        throw late.aborted ? notReady() : bound.reason;
      });
    }
  }
}

function notReady(): Error {
  const message = `the daemon of the demo had not looked at both accounts within ${READY_WITHIN_MS / 1000} s: is this machine busy?`;
  return Object.assign(new Error(message), { code: 'demo-not-ready' });
}
