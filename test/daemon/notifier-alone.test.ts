import { expect, test } from 'vitest';
import { notifierOf } from '../../src/app/open-deliverer.ts';
import { Replaceable } from '../../src/app/replaceable.ts';
import type { Deliverer } from '../../src/core/ports/delivery.ts';
import type { Notice } from '../../src/core/ports/notifier.ts';
import type { DaemonEvent } from '../../src/core/ports/telemetry.ts';

type Parts = Parameters<typeof notifierOf>;

test('a daemon that stops while alone stops retrying an undelivered notice', async () => {
  const events: DaemonEvent[] = [];
  const over = new AbortController();
  const ended: unknown[] = [];
  // Retries until it is aborted.
  const deliver: Deliverer['deliver'] = (_message, signal) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => {
        ended.push(signal.reason);
        reject(signal.reason as Error);
      });
    });
  const deliverer = new Replaceable<Deliverer>({ deliver, close: async () => undefined });
  const notifier = notifierOf(
    { telemetry: { emit: (event: DaemonEvent) => void events.push(event) } } as unknown as Parts[0],
    { standby: { isAlone: true } as Parts[1]['standby'], deliverer, over: over.signal },
  );
  await notifier.hand([{ id: 'one' } as unknown as Notice]);
  expect(ended).toEqual([]);
  const why = new Error('the daemon is stopping');
  over.abort(why);
  expect(ended).toEqual([why]);
  await new Promise(setImmediate);
  expect(events).toEqual([]);
});
