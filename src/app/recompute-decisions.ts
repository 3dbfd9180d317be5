import { z } from 'zod';
import { AuditInputsError, type DecisionInputs, type StoredDecision } from '../core/audit/audit-record.ts';
import { differenceSchema, recompute } from '../core/audit/recompute.ts';
import type { AuditReader } from '../core/ports/audit-reader.ts';
import type { CompiledRules } from '../core/rules/compiled-rules.ts';
import type { OutputOf } from '../core/schema/parts.ts';
import { decisionsOfAuditFile } from '../state/audit/audit-file.ts';

/** Result of judging decisions again. */
export const recomputationSchema = z.strictObject({
  decisions: z.number().int().describe('In the trail.'),
  computed: z
    .number()
    .int()
    .describe('How many of them were judged again: an evenly spread sample if there are more.'),
  differing: z
    .array(
      z.strictObject({
        record: z.number().int().describe('Of stored trails its number, of exports its place in the chain.'),
        found: differenceSchema,
      }),
    )
    .describe('Oldest first.'),
});
export type Recomputation = OutputOf<typeof recomputationSchema>;
type Differing = Recomputation['differing'][number];

export interface RecomputeOptions {
  readonly most: number;
  readonly signal: AbortSignal;
}

const PAGE = 200;

/** Judges decisions of a stored trail again, from the inputs recorded with each. */
export async function recomputeTrail(
  audit: Omit<AuditReader, 'prune'>,
  accountId: string,
  { most, signal }: RecomputeOptions,
): Promise<Recomputation> {
  const numbers: number[] = [];
  for (let from = 1; ; ) {
    signal.throwIfAborted();
    const page = await audit.read(accountId, { from, limit: PAGE });
    for (const { number, record } of page) if (record.content.kind === 'decision') numbers.push(number);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    from = last.number + 1;
  }
  const judge = new Judge();
  for (const number of spread(numbers, most)) {
    signal.throwIfAborted();
    const { record } = (await audit.show(accountId, number)) ?? {};
    if (record?.content.kind !== 'decision') continue;
    try {
      const inputs = await audit.inputs(record);
      if (inputs !== undefined) judge.add(number, record.content, inputs);
    } catch (error) {
      if (!(error instanceof AuditInputsError)) throw error;
      judge.fail(number, error.message);
    }
  }
  return judge.result(numbers.length);
}

/** The same for an export, which has to be intact. */
export async function recomputeFile(
  lines: AsyncIterable<string>,
  { most, signal }: RecomputeOptions,
): Promise<Recomputation> {
  const read = await decisionsOfAuditFile(lines);
  const decisions = read.kind === 'read' ? read.decisions : [];
  const judge = new Judge();
  for (const { seq, recorded, inputs } of spread(decisions, most)) {
    signal.throwIfAborted();
    judge.add(seq, recorded, inputs);
  }
  return judge.result(decisions.length);
}

class Judge {
  readonly #compiled = new Map<string, CompiledRules>();
  readonly #differing: Differing[] = [];
  #computed = 0;

  add(record: number, recorded: StoredDecision, inputs: DecisionInputs): void {
    this.#computed += 1;
    const found = recompute(recorded, inputs, this.#compiled);
    if (found.kind !== 'same') this.#differing.push({ record, found });
  }

  fail(record: number, why: string): void {
    this.#computed += 1;
    this.#differing.push({ record, found: { kind: 'impossible', why } });
  }

  result(decisions: number): Recomputation {
    return { decisions, computed: this.#computed, differing: this.#differing };
  }
}

/** At most `most` items, evenly spread, the first and the last included. */
function spread<T>(all: readonly T[], most: number): readonly T[] {
  if (all.length <= most) return all;
  if (most <= 1) return all.slice(all.length - most);
  const step = (all.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, index) => all[Math.round(index * step)] as T);
}
