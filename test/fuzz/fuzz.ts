import { setTimeout as sleep } from 'node:timers/promises';
import { allocatedBytes, settledBytes } from './memory.ts';
import { drawFrom } from './mutate.ts';
import { countedTime, longestTurn } from './processor-time.ts';
import type { Boundary, FuzzInput, FuzzTarget } from './target.ts';

interface FuzzFinding {
  /** `npm run fuzz -- --target NAME --input SEED` replays it. */
  readonly seed: number;
  readonly what: 'crash' | 'slow' | 'hang' | 'hungry' | 'grown';
  readonly words: string;
  readonly input: string;
}

interface FuzzReport {
  readonly target: string;
  readonly inputs: number;
  /** Processor time of the slowest input in milliseconds, the least of several tries. */
  readonly slowestMs: number;
  /** Bytes that the hungriest input allocated, the least of several tries. */
  readonly hungriestBytes: number;
  /** Growth of memory after collection, from a tenth of the inputs to the last one. */
  readonly heapGrowthBytes: number;
  readonly findings: readonly FuzzFinding[];
}

/** Limit of processor time per input. */
const LONGEST_MS = 50;
/** Limit of allocations per input: a reply of 4 MiB, the longest that is read, takes half of it. */
const MOST_BYTES = 64 * 2 ** 20;
/**
 * Limit of growth over the whole run. Leftovers of inputs must not add up; compiled code and bounded caches stay far
 * below.
 */
const MOST_GROWTH_BYTES = 8 * 2 ** 20;
const HANG_MS = 20_000;
const TRIES = 12;
/** Processor time for compiling the code before inputs are judged. */
const WARM_UP_MS = 500;
const WARM_UPS = { least: 10, most: 50 };
const MOST_FINDINGS = 20;
const MOST_SHOWN = 2_000;

/** Input `seed` of a boundary. Each input has its own seed, so that it replays without its predecessors. */
export const inputOf = (target: FuzzTarget, seed: number): FuzzInput => target.make(drawFrom(seed));

export async function fuzz(
  boundary: Boundary,
  { from, count, signal }: { readonly from: number; readonly count: number; readonly signal?: AbortSignal },
): Promise<FuzzReport> {
  const target = await boundary.open();
  const findings: FuzzFinding[] = [];
  let [inputs, slowestMs, hungriestBytes, beforeBytes] = [0, 0, 0, 0];
  try {
    await warmUp(target, from);
    for (let seed = from; seed < from + count && findings.length < MOST_FINDINGS; seed += 1) {
      if (signal?.aborted === true) break;
      const found = await triedSeed(target, seed);
      inputs += 1;
      slowestMs = Math.max(slowestMs, found.ms);
      hungriestBytes = Math.max(hungriestBytes, found.bytes);
      if (found.what !== undefined)
        findings.push({ seed, what: found.what, words: found.words, input: found.input });
      if (inputs === Math.ceil(count / 10)) beforeBytes = await restedBytes(target);
    }
    const heapGrowthBytes = beforeBytes === 0 ? 0 : await grownBytes(target, beforeBytes);
    if (heapGrowthBytes > MOST_GROWTH_BYTES) {
      const words = `${mib(heapGrowthBytes)} more in use after ${inputs} inputs`;
      findings.push({ seed: from, what: 'grown', words, input: 'all of them, from this one on' });
    }
    return { target: boundary.name, inputs, slowestMs, hungriestBytes, heapGrowthBytes, findings };
  } finally {
    await target.close();
  }
}

/** The input is not kept by the caller's frame: the last one, of megabytes, would count as growth. */
async function triedSeed(target: FuzzTarget, seed: number): Promise<Tried & { readonly input: string }> {
  const input = inputOf(target, seed);
  const found = await tried(input);
  return { ...found, input: found.what === undefined ? '' : shortened(input.text) };
}

/** A copy of the beginning: a substring would keep the whole string alive, and count as growth. */
function shortened(text: string): string {
  return structuredClone(text.slice(0, MOST_SHOWN));
}

/** Runs the first inputs unjudged. They are judged later like all others, so nothing is missed. */
async function warmUp(target: FuzzTarget, from: number): Promise<void> {
  const spentMs = countedTime();
  for (let count = 0; count < WARM_UPS.most; count += 1) {
    if (count >= WARM_UPS.least && spentMs() > WARM_UP_MS) return;
    const input = count % 2 === 0 ? (target.valid ?? inputOf(target, from)) : inputOf(target, from + count);
    try {
      await inTime(input.run());
    } catch {
      // Found again when the input is judged.
    }
  }
}

/** Collects repeatedly: sockets and timers release memory in turns that a busy machine delays. */
async function grownBytes(target: FuzzTarget, beforeBytes: number): Promise<number> {
  let grown = Number.POSITIVE_INFINITY;
  for (let look = 1; look <= 5 && grown > MOST_GROWTH_BYTES; look += 1) {
    if (look > 1) await sleep(100 * look);
    grown = Math.min(grown, (await restedBytes(target)) - beforeBytes);
  }
  return grown;
}

async function restedBytes(target: FuzzTarget): Promise<number> {
  await target.rest?.();
  return await settledBytes();
}

const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

interface Tried {
  readonly ms: number;
  readonly bytes: number;
  readonly what?: FuzzFinding['what'];
  readonly words: string;
}

async function tried(input: FuzzInput): Promise<Tried> {
  const { longestMs = LONGEST_MS, mostBytes = MOST_BYTES } = input;
  let [ms, bytes] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // Garbage collection affects some tries, not all; late compilation affects only the first ones.
  for (let attempt = 0; attempt < TRIES && (ms > longestMs || bytes > mostBytes); attempt += 1) {
    const allocated = allocatedBytes();
    // Most inputs take little in total. For the others only the longest block of the event loop counts.
    const measure = attempt === 0 ? countedTime() : longestTurn();
    try {
      if ((await inTime(input.run())) === 'hang')
        return { ms: 0, bytes: 0, what: 'hang', words: `no end within ${HANG_MS} ms` };
    } catch (error) {
      const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { ms: 0, bytes: 0, what: 'crash', words: words.slice(0, 2_000) };
    } finally {
      ms = Math.min(ms, measure());
      bytes = Math.min(bytes, allocated());
    }
  }
  if (ms > longestMs) return { ms, bytes, what: 'slow', words: `${Math.round(ms)} ms of processor time` };
  if (bytes > mostBytes) return { ms, bytes, what: 'hungry', words: `${mib(bytes)} allocated` };
  return { ms, bytes, words: '' };
}

async function inTime(running: void | Promise<void>): Promise<'done' | 'hang'> {
  if (running === undefined) return 'done';
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'hang'>((resolve) => {
    timer = setTimeout(() => resolve('hang'), HANG_MS);
  });
  try {
    return await Promise.race([running.then(() => 'done' as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
