import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { drawFrom } from './mutate.ts';
import { countedTime, longestTurn } from './processor-time.ts';
import type { Boundary, FuzzInput, FuzzTarget } from './target.ts';

interface FuzzFinding {
  /** `npm run fuzz -- --target NAME --input SEED` tries it again. */
  readonly seed: number;
  readonly what: 'crash' | 'slow' | 'hang';
  readonly words: string;
  readonly input: string;
}

interface FuzzReport {
  readonly target: string;
  readonly inputs: number;
  /** Processor time of the slowest input, milliseconds, the least of several tries. */
  readonly slowestMs: number;
  /** Of the heap after collection, from a tenth of the inputs to the last one. */
  readonly heapGrowthBytes: number;
  readonly findings: readonly FuzzFinding[];
}

/** Processor time that one input may take. */
const LONGEST_MS = 50;
const HANG_MS = 20_000;
const TRIES = 12;
/** Of processor time, for compiling what inputs are judged on later. */
const WARM_UP_MS = 500;
const WARM_UPS = { least: 10, most: 50 };
const MOST_FINDINGS = 20;

/** Input `seed` of a boundary: each has a seed of its own, so that one replays without those before it. */
export const inputOf = (target: FuzzTarget, seed: number): FuzzInput => target.make(drawFrom(seed));

export async function fuzz(
  boundary: Boundary,
  { from, count, signal }: { readonly from: number; readonly count: number; readonly signal?: AbortSignal },
): Promise<FuzzReport> {
  const target = await boundary.open();
  const findings: FuzzFinding[] = [];
  let slowestMs = 0;
  let [inputs, settledBytes] = [0, 0];
  try {
    await warmUp(target, from);
    for (let seed = from; seed < from + count && findings.length < MOST_FINDINGS; seed += 1) {
      if (signal?.aborted === true) break;
      const input = inputOf(target, seed);
      const found = await tried(input);
      inputs += 1;
      slowestMs = Math.max(slowestMs, found.ms);
      if (found.what !== undefined)
        findings.push({ seed, what: found.what, words: found.words, input: input.text });
      if (inputs === Math.ceil(count / 10)) settledBytes = heapBytes();
    }
    const heapGrowthBytes = heapBytes() - settledBytes;
    return { target: boundary.name, inputs, slowestMs, heapGrowthBytes, findings };
  } finally {
    await target.close();
  }
}

/** Runs the first inputs unjudged. They are judged afterwards as all others are, so nothing is missed. */
async function warmUp(target: FuzzTarget, from: number): Promise<void> {
  const spentMs = countedTime();
  for (let count = 0; count < WARM_UPS.most; count += 1) {
    if (count >= WARM_UPS.least && spentMs() > WARM_UP_MS) return;
    const input = count % 2 === 0 ? (target.valid ?? inputOf(target, from)) : inputOf(target, from + count);
    try {
      await inTime(input.run());
    } catch {
      // Found again when it is judged.
    }
  }
}

interface Tried {
  readonly ms: number;
  readonly what?: FuzzFinding['what'];
  readonly words: string;
}

async function tried(input: FuzzInput): Promise<Tried> {
  const { longestMs = LONGEST_MS } = input;
  let ms = Number.POSITIVE_INFINITY;
  // Collecting garbage may fall into some tries, not into all, and what is compiled late is so after some.
  for (let attempt = 0; attempt < TRIES && ms > longestMs; attempt += 1) {
    // Most take little altogether. Of others it counts how long they hold the loop at a time.
    const measure = attempt === 0 ? countedTime() : longestTurn();
    try {
      if ((await inTime(input.run())) === 'hang')
        return { ms: 0, what: 'hang', words: `no end within ${HANG_MS} ms` };
    } catch (error) {
      const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { ms: 0, what: 'crash', words: words.slice(0, 2_000) };
    } finally {
      ms = Math.min(ms, measure());
    }
  }
  return ms > longestMs
    ? { ms, what: 'slow', words: `${Math.round(ms)} ms of processor time` }
    : { ms, words: '' };
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

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
