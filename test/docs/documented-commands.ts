import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** A block of commands of a page, and the output shown below it. */
export interface Block {
  readonly script: string;
  /**
   * `background`: keeps running beside the others. `fails`: exits with another code than 0. `checkout`: for people who
   * have installed nothing.
   */
  readonly how: 'foreground' | 'background' | 'fails' | 'checkout';
  readonly output?: {
    readonly text: string;
    /** Times and order prices differ between runs, and there may be further lines. */
    readonly isLive: boolean;
    /** Position of the text in the page. */
    readonly start: number;
    readonly end: number;
  };
}

const BLOCK = /^```sh(?: (background|fails|checkout))?\n([\s\S]*?)^```\n(\n```text( live)?\n)?/gm;

/** Blocks of `sh`, each with the block of `text` that directly follows it. */
export function blocksOf(page: string): readonly Block[] {
  return [...page.matchAll(BLOCK)].map((match) => blockOf(page, match));
}

function blockOf(page: string, match: RegExpExecArray): Block {
  const [whole, how = 'foreground', script = '', opening, live] = match;
  const block = { script, how: how as Block['how'] };
  if (opening === undefined) return block;
  const start = match.index + whole.length;
  const end = page.indexOf('```\n', start);
  return { ...block, output: { text: page.slice(start, end), isLive: live !== undefined, start, end } };
}

/** Whether a command printed what the page shows. */
export function isAsShown({ text, isLive }: NonNullable<Block['output']>, printed: string): boolean {
  if (!isLive) return printed === text;
  if (text === '') return false;
  const rest = printed.split('\n').map(withoutMoving);
  return text.split('\n').every((line) => {
    const at = rest.indexOf(withoutMoving(line));
    if (at < 0) return false;
    rest.splice(0, at + 1);
    return true;
  });
}

/** Parts that differ between runs: times, ids, versions, starting lines of the audit, and order prices. */
const MOVING: readonly (readonly [pattern: RegExp, shown: string])[] = [
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [/^\d+ (?=TIME)/, 'SEQ '],
  [/\bbw2\.[0-9a-f]+/g, 'ID'],
  [/\b[0-9a-f]{8}-\d+\b/g, 'REFERENCE'],
  [/\b\d\d:\d\d:\d\d UTC\b/g, 'CLOCK'],
  [/\bversion [\d.]+/g, 'VERSION'],
  [/\b(?:under )?[\d.]+ (?:ms|s|min|h)(?: [\d.]+ (?:s|min))?\b/g, 'DURATION'],
  [/\b\d{5,}(?:\.\d+)?\b/g, 'PRICE'],
  [/\([\d.]+ % from the mark/g, '(NEAR the mark'],
];

function withoutMoving(line: string): string {
  return MOVING.reduce((text, [pattern, shown]) => text.replace(pattern, shown), line).trimEnd();
}

export interface Shell {
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The page's ports, and the ports used instead. */
  readonly ports: ReadonlyMap<string, string>;
}

/** The width of the page's outputs. */
const COLUMNS = '120';

export interface Ended {
  /** Both outputs as a terminal shows them, with the ports of the page. */
  readonly printed: string;
  readonly exitCode: number | null;
}

export async function runBlock({ script, output }: Block, shell: Shell): Promise<Ended> {
  // Different figures change where lines are broken or cut.
  const env = { ...shell.env, COLUMNS: output?.isLive === true ? '' : COLUMNS };
  const child = launch(`set -e\nexec 2>&1\n${script}`, { ...shell, env });
  let printed = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    printed += String(chunk);
  });
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { printed: asOnPage(printed, shell), exitCode };
}

export interface Background {
  stop(): Promise<void>;
}

/** Starts a background block, and waits for the output that shows it is ready. */
export async function startBlock({ script }: Block, shell: Shell, ready: RegExp): Promise<Background> {
  const child = launch(`exec 2>&1\nexec ${script}`, shell);
  const closed = once(child, 'close');
  let printed = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    printed += String(chunk);
  });
  const end = performance.now() + READY_MS;
  while (!ready.test(printed)) {
    if (child.exitCode !== null || performance.now() > end) {
      child.kill('SIGKILL');
      throw new Error(`${script} was not ready: ${printed}`);
    }
    await sleep(20);
  }
  return {
    stop: async () => {
      child.kill('SIGINT');
      await closed;
    },
  };
}

const READY_MS = 30_000;

function launch(script: string, { folder, env, ports }: Shell): ChildProcess {
  const own = [...ports].reduce((text, [page, used]) => text.replaceAll(page, used), script);
  return spawn('sh', ['-c', own], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
}

function asOnPage(printed: string, { ports }: Shell): string {
  return [...ports].reduce((text, [page, used]) => text.replaceAll(used, page), printed);
}
