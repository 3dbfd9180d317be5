import { z } from 'zod';
import type { HeldNotice, HeldNotices } from '../core/ports/delivery.ts';
import { asUnproven, noticeSchema } from '../core/ports/notifier.ts';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { parsedJson } from '../core/text/parsed-json.ts';
import { notifyJobSchema } from '../queues/payloads.ts';
import type { HeldStore, WaitingText } from '../state/held/held-store.ts';

interface HeldParts {
  readonly store: HeldStore;
  readonly operators: Pick<OperatorTrust, 'noticeSeal' | 'noticeFault'>;
  readonly telemetry: Telemetry;
}

const schema = z.object({
  held: z.object({
    channel: z.string(),
    notice: noticeSchema,
    insteadOf: z.array(z.object({ channel: z.string(), words: z.string() })),
  }),
  seal: notifyJobSchema.shape.seal,
});

/** Notices as texts, sealed like those in the queue. One that somebody else wrote is marked as unproven. */
export function heldNotices({ store, operators, telemetry }: HeldParts): HeldNotices {
  const readHeld = ({ name, atMs, text, count }: WaitingText): readonly HeldNotice[] => {
    const written = parsedJson(text);
    const read = schema.safeParse(written);
    // Another version may be able to read it.
    if (!read.success) return [];
    const { held, seal } = read.data;
    if (nameOf(held) !== name || timeOf(held) !== atMs || !hasTimes(held)) return [];
    const fault = operators.noticeFault((written as { readonly held: unknown }).held, seal);
    if (fault === undefined) return [{ ...held, count }];
    telemetry.emit({ kind: 'noticeUnproven', queue: 'notify', words: fault });
    return [{ ...held, notice: asUnproven(held.notice, fault), count }];
  };
  return {
    async keep({ channel, notice, insteadOf }) {
      const held = { channel, notice, insteadOf };
      const seal = operators.noticeSeal(held);
      const text = JSON.stringify({ held, ...(seal === undefined ? {} : { seal }) });
      return await store.put(nameOf(held), timeOf(held), text);
    },
    all: async () => (await store.all()).flatMap(readHeld),
    count: async () => countHeld(await store.names()),
    async drop(told) {
      await store.drop(told.map((one) => ({ name: nameOf(one), atMs: timeOf(one) })));
    },
  };
}

type Named = Pick<HeldNotice, 'channel' | 'notice'>;

/** Number of notices among stored names; a name is a channel and a notice's key. */
export function countHeld(names: readonly string[]): number {
  const keys = names.flatMap((name) => {
    const named = parsedJson(name);
    return Array.isArray(named) && named.length === 2 ? [String(named[1])] : [];
  });
  return new Set(keys).size;
}

function nameOf({ channel, notice: { key } }: Named): string {
  return JSON.stringify([channel, key]);
}

/** Times outside the range of dates cannot be written, and one such notice must not block the others. */
function hasTimes({ notice: { atMs, sinceMs } }: Named): boolean {
  return [atMs, sinceMs].every((unixMs) => unixMs >= 0 && unixMs <= LATEST_MS);
}

const LATEST_MS = 8.64e15;

function timeOf({ notice: { atMs } }: Named): number {
  return Math.max(0, Math.floor(atMs));
}
