import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * What a piece of work adds to the memory of another Node.js process, and for how long it keeps its event loop. The
 * process is started with `probed`, which loads this very module in it; there it samples itself while it is asked to.
 */

/** At the peak, megabytes beyond what there was at the beginning. */
export interface Use {
  readonly rss: number;
  readonly heap: number;
  readonly external: number;
  /** Of the event loop, milliseconds: the longest time between two samples. */
  readonly longestBlockMs: number;
  /** Processor time of all threads, milliseconds. */
  readonly cpuMs: number;
  /** Megabytes at the beginning. */
  readonly before: { readonly rss: number; readonly heap: number };
}

type Question = { readonly probe: 'begin'; readonly gc: boolean } | { readonly probe: 'end' };
type Answer = { readonly probe: 'begun' } | { readonly probe: 'ended'; readonly use: Use };

const SAMPLE_MS = 1;
const MB = 1e6;
const SELF = import.meta.filename;

/** Starts a module as a process of its own that can be asked by `measure`. */
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

/** With `gc` what is garbage already does not count as there before. */
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
    // What it was at most before does not count.
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
  // Whoever is measured ends when it likes.
  process.channel?.unref();
}

if (process.env['BREAKWATER_PROBE'] === '1') answerQuestions();
