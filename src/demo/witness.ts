import { setTimeout as delay } from 'node:timers/promises';
import type { CureFigures } from '../core/ports/notifier.ts';
import type { DaemonEvent } from '../core/ports/telemetry.ts';
import type { RunningSimulator } from '../simulator/start-simulated-exchange.ts';
import { CHARACTERS } from './accounts.ts';
import type { CureAlert } from './result.ts';

const READY_WITHIN_MS = 60_000;
const READY_POLL_MS = 10;
/** So that no part of the daemon runs for the first time when the market moves: in life it has run for long. */
const WARM_AFTER_LOOKS = 4;

/** What the daemon does, as far as the demo tells of it. */
export class Witness {
  /** Sentences, oldest first. */
  readonly alerts: string[] = [];
  readonly cureAlerts: CureAlert[] = [];
  readonly #simulator: RunningSimulator;
  readonly #looks = new Map<string, number>();
  readonly #enforced = new Set(CHARACTERS.map(({ id }) => id));

  constructor(simulator: RunningSimulator) {
    this.#simulator = simulator;
  }

  emit(event: DaemonEvent): void {
    if (event.kind === 'evaluated') {
      this.#looks.set(event.accountId, this.#looksAt(event.accountId) + 1);
    }
    if (event.kind === 'said' && this.#enforced.has(event.message.accountId)) {
      const { kind, words, accountId, cures } = event.message;
      if (kind === 'firing' || kind === 'alarm') {
        this.alerts.push(`${accountId}: ${[words, ...cures.map(cureWords)].join('; ')}`);
      }
      if (cures.length > 0) this.#noteCure(accountId);
    }
  }

  #looksAt(accountId: string): number {
    return this.#looks.get(accountId) ?? 0;
  }

  #noteCure(accountId: string): void {
    const { model, exchange } = this.#simulator;
    exchange.catchUp();
    const afterSeq = model.ledger({ accountId }).at(-1)?.seq ?? 0;
    this.cureAlerts.push({ accountId, atMs: model.nowMs(), afterSeq });
  }

  /**
   * Until every account was looked at and every cover stands. @throws what aborted the wait, or that it took too long
   */
  async untilReady(signal: AbortSignal): Promise<void> {
    const simulator = this.#simulator;
    const covered = CHARACTERS.filter((character) => character.covered === true);
    const isReady = (): boolean =>
      simulator.accounts.every(
        ({ id }) => this.#looksAt(id) >= (this.#enforced.has(id) ? WARM_AFTER_LOOKS : 1),
      ) && covered.every(({ id }) => simulator.model.openOrders(id).length > 0);
    const late = AbortSignal.timeout(READY_WITHIN_MS);
    const bound = AbortSignal.any([signal, late]);
    do {
      await delay(READY_POLL_MS, undefined, { signal: bound }).catch(() => {
        throw late.aborted ? notReady() : bound.reason;
      });
    } while (!isReady());
  }
}

function notReady(): Error {
  const message = `the daemon of the demo had not looked at every account within ${READY_WITHIN_MS / 1000} s: is this machine busy?`;
  return Object.assign(new Error(message), { code: 'demo-not-ready' });
}

function cureWords({ asset, targetLtv, repay, addCollateral }: CureFigures): string {
  const [less, more] = [repay, addCollateral].map((amount) => Math.ceil(Number(amount)));
  return `for ${(100 * targetLtv).toFixed(0)} % LTV repay ${less} ${asset} or pledge ${more} ${asset} more`;
}
