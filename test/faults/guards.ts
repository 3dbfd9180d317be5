/** A guard of the design taken out of the code, and what must then be found. */
export interface RemovedGuard {
  readonly name: string;
  /** Beginning of the violations that show it. */
  readonly shows: string;
  /** Below `src/`. */
  readonly file: string;
  /** Stands in the file once. */
  readonly text: string;
  readonly instead: string;
  /** A world in which it shows. */
  readonly seed: number;
}

/**
 * One or more for every invariant that worlds can break. Secrets (8) and configs that cannot be used (12) have tests of
 * their own on the real parts: `test/security/planted.test.ts`, `test/daemon/config-reload.test.ts`.
 */
export const REMOVED_GUARDS: readonly RemovedGuard[] = [
  {
    name: 'orders are reduce-only',
    shows: '1 or 4',
    file: 'exchange/endpoint-operations.ts',
    text: 'placeStop({ ...stop, reduceOnly: true }',
    instead: 'placeStop({ ...stop, reduceOnly: false }',
    seed: 0,
  },
  {
    name: 'the smaller side of a hedge stays',
    shows: '1 or 4',
    file: 'core/orders/net-exposure.ts',
    text: 'if (!isHedged(read)) return false;\n  if (position',
    instead: 'return false;\n  if (position',
    seed: 0,
  },
  {
    name: 'what is unknown is not zero',
    shows: '2 or',
    file: 'core/rules/condition.ts',
    text: "if (quantity.kind === 'unknown') return UNKNOWN;\n    if (quantity.kind === 'none') {",
    instead: "if (quantity.kind === 'unknown') return TRUE;\n    if (quantity.kind === 'none') {",
    seed: 0,
  },
  {
    name: 'what is unknown clears nothing',
    shows: '3 or 11',
    file: 'core/rules/condition.ts',
    text: "if (quantity.kind === 'unknown') return UNKNOWN;\n    if (quantity.kind === 'none') {",
    instead: "if (quantity.kind === 'unknown') return FALSE;\n    if (quantity.kind === 'none') {",
    seed: 0,
  },
  {
    name: 'a position is gone only when a complete list says so',
    shows: '3 or 11',
    file: 'core/rules/rule-run.ts',
    text: "if (why === undefined) this.#end(rule, entry.subject, entry, 'subjectGone');",
    instead: "if (why === why) this.#end(rule, entry.subject, entry, 'subjectGone');",
    seed: 0,
  },
  {
    name: 'what may still arrive is fenced',
    shows: '1 or 4',
    file: 'core/orders/fence.ts',
    text: "return settings.nonceMode === 'increasing' ? doubt.sinceMs : doubt.sinceMs + settings.lateArrivalMs;",
    instead: 'return doubt.sinceMs;',
    seed: 0,
  },
  {
    name: 'a request that a process died with may have been done',
    shows: '1 or 4',
    file: 'core/lanes/recover-lane.ts',
    text: "if (step?.kind === 'place') return unsure(rebased, step.order, 'processDied', scene);",
    instead: "if (step?.kind === 'place') return rebased;",
    seed: 0,
  },
  {
    name: 'a nonce is used once',
    shows: '6',
    file: 'exchange/nonce/nonce-sequences.ts',
    text: 'this.#next += 1;\n    return this.format(this.#next - 1);',
    instead: 'this.#next += this.#next % 2;\n    return this.format(this.#next);',
    seed: 0,
  },
  {
    name: 'observe mode sends nothing',
    shows: '7',
    file: 'core/intents/gate.ts',
    text: "if (subject.mode === 'observe') return 'observeMode';",
    instead: '',
    seed: 0,
  },
  {
    name: 'a pause holds back what follows it',
    shows: '7',
    file: 'core/intents/gate.ts',
    text: "if (gate.paused) return 'paused';",
    instead: '',
    seed: 0,
  },
  {
    name: 'a process goes on without the store',
    shows: '10',
    file: 'app/standby.ts',
    text: 'this.#aloneSinceMs = clock.monotonicMs();',
    instead: 'return;',
    seed: 0,
  },
  {
    name: 'timers go by the time that no clock step changes',
    shows: '11',
    file: 'core/rules/elapsed.ts',
    text: 'const measuredMs = Math.max(0, now.monotonicMs - last.at.monotonicMs);',
    instead: 'const measuredMs = Math.max(0, now.wallMs - last.at.wallMs);',
    seed: 0,
  },
  {
    name: 'one account that hangs holds up no other',
    shows: '13',
    file: 'pipeline/poll/poll-tick.ts',
    text: 'const due = { load, controls: view.controls, afterMs: index * apartMs };',
    instead: 'const due = { load, controls: view.controls, afterMs: index * 15_000 };',
    seed: 0,
  },
  {
    name: 'acting means that an order was accepted',
    shows: '14',
    file: 'core/view/state-of.ts',
    text: "return status === 'open' || presumedFilled;",
    instead: "return status !== 'open' || !presumedFilled;",
    seed: 0,
  },
];
