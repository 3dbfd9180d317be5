import type { Base } from './base.ts';
import { readinessOf } from './readiness.ts';
import { readSharedFigures } from './shared-figures.ts';
import { readSharedView, remembering } from './shared-view.ts';
import type { WebContent } from './web-listener.ts';

/** Several who ask at once, or again and again, ask Redis once. */
const MAX_AGE_MS = 1_000;

/** What the web server shows of this process and of the shared state. */
export function webContent(base: Base): WebContent {
  const { state, accounts, redis, queues, clock, time, telemetry, process } = base;
  const configured = () => accounts.all();
  const ids = () => configured().map(({ id }) => id);
  const view = remembering(clock, MAX_AGE_MS, () => readSharedView(state.store, ids(), clock));
  const parts = { view, accounts: configured, queues, clock, time };
  process.metrics.shared(remembering(clock, MAX_AGE_MS, () => readSharedFigures(parts)));
  process.metrics.budgets(() => accounts.budgets());
  return {
    metrics: process.metrics,
    readiness: () => readinessOf({ ping: () => redis.ping(), view, accounts: configured, clock }),
    onError: (error) => telemetry.emit({ kind: 'webError', error }),
  };
}
