import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Measures the memory that some work adds to another Node.js process, and for how long it blocks its event loop. Start
 * the process with `probed`, which loads this module in it; it then samples itself on request.
 */

/** Peak beyond the memory at the beginning, in megabytes. */
export interface Use {
  readonly rss: number;
  readonly heap: number;
  readonly external: number;
  /** Longest time between two samples of the event loop, in milliseconds. */
  readonly longestBlockMs: number;
  /** Processor time of all threads, in milliseconds. */
  readonly cpuMs: number;
  /** Megabytes at the beginning. */
  readonly before: { readonly rss: number; readonly heap: number };
}

type Question = { readonly probe: 'begin'; readonly gc: boolean } | { readonly probe: 'end' };
type Answer = { readonly probe: 'begun' } | { readonly probe: 'ended'; readonly use: Use };

const SAMPLE_MS = 1;
const MB = 1e6;
const SELF = import.meta.filename;

/** Starts a module in its own process that `measure` can query. */
export function probed(
  main: string,
  args: readonly string[],
  options: { readonly env: NodeJS.ProcessEnv; readonly execArgv?: readonly string[] },
): ChildProcess {
  const { env, execArgv = [] } = options;
  const channels: StdioOptions = ['ignore', 'ignore', 'ignore', 'ipc'];
  const flags = [...execArgv, '--expose-gc', '--import', SELF];
  return spawn(process.execPath, [...flags, path.resolve(main), ...args], {
    env: { ...env, BREAKWATER_PROBE: '1' },
    stdio: channels,
  });
}

/** With `gc` existing garbage does not count as memory at the beginning. */
export async function measure(child: ChildProcess, gc: boolean, work: () => Promise<unknown>): Promise<Use> {
  await ask(child, { probe: 'begin', gc });
  await work();
  const answer = await ask(child, { probe: 'end' });
  if (answer.probe !== 'ended') throw new Error(`the probe answered ${JSON.stringify(answer)}`);
  return answer.use;
}

async function ask(child: ChildProcess, question: Question): Promise<Answer> {
  const over = new AbortController();
  const { signal } = over;
  const ended = once(child, 'exit', { signal }).then(() => {
    throw new Error('the process that is measured has ended');
  });
  child.send(question);
  try {
    const [answer] = (await Promise.race([once(child, 'message', { signal }), ended])) as [Answer];
    return answer;
  } finally {
    over.abort();
    ended.catch(() => undefined);
  }
}

class Sampling {
  readonly #before = process.memoryUsage();
  readonly #cpu = process.cpuUsage();
  readonly #timer: NodeJS.Timeout;
  #peak = { ...this.#before };
  #atMs = performance.now();
  #longestMs = 0;

  constructor() {
    // Earlier peaks do not count.
    writeFileSync('/proc/self/clear_refs', '5');
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
  }

  #sample(): void {
    const now = performance.now();
    this.#longestMs = Math.max(this.#longestMs, now - this.#atMs);
    const usage = process.memoryUsage();
    for (const key of ['heapUsed', 'external'] as const) {
      this.#peak[key] = Math.max(this.#peak[key], usage[key]);
    }
    this.#atMs = performance.now();
  }

  end(): Use {
    this.#sample();
    clearInterval(this.#timer);
    const highest = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    const { user, system } = process.cpuUsage(this.#cpu);
    const before = this.#before;
    return {
      rss: (Number(highest) * 1024 - before.rss) / MB,
      heap: (this.#peak.heapUsed - before.heapUsed) / MB,
      external: (this.#peak.external - before.external) / MB,
      longestBlockMs: this.#longestMs,
      cpuMs: (user + system) / 1_000,
      before: { rss: before.rss / MB, heap: before.heapUsed / MB },
    };
  }
}

function answerQuestions(): void {
  let sampling: Sampling | undefined;
  process.on('message', (question: Question) => {
    if (question.probe === 'begin') {
      if (question.gc) globalThis.gc?.();
      sampling = new Sampling();
      process.send?.({ probe: 'begun' } satisfies Answer);
    } else if (sampling !== undefined) {
      process.send?.({ probe: 'ended', use: sampling.end() } satisfies Answer);
      sampling = undefined;
    }
  });
  // The measured process may end whenever it likes.
  process.channel?.unref();
}

if (process.env['BREAKWATER_PROBE'] === '1') answerQuestions();
