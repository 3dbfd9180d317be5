/** A guard of the design taken out of the code, and what must then be found. */
export interface RemovedGuard {
  readonly name: string;
  /** Beginning of the violations that show it. */
  readonly shows: string;
  /** Some are there twice. */
  readonly edits: readonly GuardEdit[];
  /** A world in which it shows. */
  readonly seed: number;
}

export interface GuardEdit {
  /** Below `src/`. */
  readonly file: string;
  /** Stands in the file once. */
  readonly text: string;
  readonly instead: string;
}

/**
 * Guards whose lack shows in worlds. Some stand behind one another: their names say with which others they are taken out.
 * Secrets (8) and configs that cannot be used (12) have tests of their own on the real parts:
 * `test/security/planted.test.ts`, `test/daemon/config-reload.test.ts`.
 */
export const REMOVED_GUARDS: readonly RemovedGuard[] = [
  {
    name: 'orders are reduce-only',
    shows: '1 or 4',
    edits: [
      {
        file: 'exchange/endpoint-operations.ts',
        text: 'placeStop({ ...stop, reduceOnly: true }',
        instead: 'placeStop({ ...stop, reduceOnly: false }',
      },
    ],
    seed: 100_001,
  },
  {
    name: 'the smaller side of a hedge stays',
    shows: '1 or 4',
    edits: [
      {
        file: 'core/orders/net-exposure.ts',
        text: 'if (!isHedged(read)) return false;\n  if (position',
        instead: 'return false;\n  if (position',
      },
    ],
    seed: 100_008,
  },
  {
    name: 'what is unknown is not zero',
    shows: '2 or',
    edits: [
      {
        file: 'core/rules/condition.ts',
        text: "if (quantity.kind === 'unknown') return UNKNOWN;\n    if (quantity.kind === 'none') {",
        instead: "if (quantity.kind === 'unknown') return TRUE;\n    if (quantity.kind === 'none') {",
      },
    ],
    seed: 100_008,
  },
  {
    name: 'what is unknown clears nothing',
    shows: '3 or 11',
    edits: [
      {
        file: 'core/rules/condition.ts',
        text: "if (quantity.kind === 'unknown') return UNKNOWN;\n    if (quantity.kind === 'none') {",
        instead: "if (quantity.kind === 'unknown') return FALSE;\n    if (quantity.kind === 'none') {",
      },
    ],
    seed: 100_008,
  },
  {
    name: 'a position is gone only when a complete list says so',
    shows: '3 or 11',
    edits: [
      {
        file: 'core/rules/rule-run.ts',
        text: "if (why === undefined) this.#end(rule, entry.subject, entry, 'subjectGone');",
        instead: "if (why === why) this.#end(rule, entry.subject, entry, 'subjectGone');",
      },
    ],
    seed: 100_000,
  },
  {
    name: 'an empty list is no proof that an order of ours closed a position',
    shows: '3 or 11',
    edits: [{ file: 'core/rules/memory.ts', text: 'account.positions.length > 0 &&', instead: 'true &&' }],
    seed: 2_100_000,
  },
  {
    name: 'a nonce is used once',
    shows: '6',
    edits: [
      {
        file: 'exchange/nonce/nonce-sequences.ts',
        text: 'this.#next += 1;\n    return this.format(this.#next - 1, this.#isFromMemory);',
        instead: 'this.#next += this.#next % 2;\n    return this.format(this.#next);',
      },
    ],
    seed: 100_002,
  },
  {
    name: 'observe mode sends nothing',
    shows: '7',
    edits: [
      {
        file: 'core/intents/gate.ts',
        text: "if (subject.mode === 'observe') return 'observeMode';",
        instead: '',
      },
    ],
    seed: 100_000,
  },
  {
    name: 'a pause holds back what follows it',
    shows: '7',
    edits: [{ file: 'core/intents/gate.ts', text: "if (gate.paused) return 'paused';", instead: '' }],
    seed: 100_094,
  },
  {
    name: 'a process goes on without the store',
    shows: '10 or 13',
    edits: [
      {
        file: 'app/poll-ticks.ts',
        text: 'if (this.isHeld || lacking.length === 0) return;',
        instead: 'return;',
      },
    ],
    seed: 100_019,
  },
  {
    name: 'timers go by the time that no clock step changes',
    shows: '11',
    edits: [
      {
        file: 'core/rules/elapsed.ts',
        text: 'const measuredMs = Math.max(0, now.monotonicMs - last.at.monotonicMs);',
        instead: 'const measuredMs = Math.max(0, now.wallMs - last.at.wallMs);',
      },
    ],
    seed: 1_002_698,
  },
  {
    name: 'one account that hangs holds up no other',
    shows: '10 or 13',
    edits: [
      {
        file: 'pipeline/poll/poll-tick.ts',
        text: 'const due = { load, controls: view.controls, afterMs: index * apartMs };',
        instead: 'const due = { load, controls: view.controls, afterMs: index * 15_000 };',
      },
    ],
    seed: 100_001,
  },
  {
    name: 'acting means that an order was accepted',
    shows: '14',
    edits: [
      {
        file: 'core/view/state-of.ts',
        text: 'return observing(inputs, open, severity);',
        instead:
          "if (sent.length > 0) return line('acting', { cause: 'orderActive', words: `reducing ${sent[0]?.lane.market ?? ''} ${targetWords(sent[0]!.intent.target, sent[0]!.intent.targetBase)}`, severity, sinceMs: 0 });\n  return observing(inputs, open, severity);",
      },
    ],
    seed: 100_005,
  },
  {
    name: 'what may still arrive is waited for, with its place in the accounting, and with cancels only where orders are taken',
    shows: '1 or 4',
    edits: [
      {
        file: 'core/orders/fence.ts',
        text: "return settings.nonceMode === 'increasing' ? doubt.sinceMs : doubt.sinceMs + settings.lateArrivalMs;",
        instead: 'return doubt.sinceMs;',
      },
      {
        file: 'core/orders/outstanding.ts',
        text: "return settings.nonceMode !== 'increasing' && order.arrivedByMs > cancelSentMs;",
        instead: 'return false;',
      },
      {
        file: 'core/lanes/resolve-doubt.ts',
        text: "if (verdict === 'may' && !isSentSince && !(isHidden && isAllowedBeside))",
        instead: 'if (!isHidden)',
      },
    ],
    seed: 2_000_005,
  },
  {
    name: 'an order is written down before it is sent, with the id by which it is sent once',
    shows: '1 or 4',
    edits: [
      {
        file: 'pipeline/act/run-lane.ts',
        text: 'return written(view, { state: begun.state, events }, {',
        instead: 'return written(view, { state: isSent ? ahead.state : begun.state, events }, {',
      },
      {
        file: 'pipeline/act/run-lane.ts',
        text: 'const before: Before = (lane, view) => finish(lane, result,',
        instead: 'const before: Before = (lane, view) => finish(begin(lane, step, answeredMs).state, result,',
      },
      {
        file: 'core/orders/order-request.ts',
        text: 'const numbers = [episode, stage, attempt, generation];',
        instead: 'const numbers = [episode, stage, attempt, generation, performance.now()];',
      },
    ],
    seed: 2_000_043,
  },
];
