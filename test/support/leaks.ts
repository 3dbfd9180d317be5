import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { runningTimers } from './timers.ts';

/** Resources that come and go within a turn; timers are tracked individually. */
const IGNORED = new Set([
  'Immediate',
  'TickObject',
  'FSReqCallback',
  'FSReqPromise',
  'CloseReq',
  'RandomBytesRequest',
  'Timeout',
]);
/** Much longer than the 2 s that ioredis gives a connection to close. */
const SETTLE_MS = 15_000;
const POLL_MS = 20;

/** Open resources of this process, and the processes it has started. */
export interface Footprint {
  readonly resources: ReadonlyMap<string, number>;
  /** By identity, with the stack of their start. */
  readonly timers: ReadonlyMap<number, string>;
  readonly processes: ReadonlyMap<number, string>;
  /** State shared by test files of one process: values by name. */
  readonly shared: ReadonlyMap<string, string>;
}

/** `mark`: a text in the environment of processes started since, which also finds orphans. */
export function takeFootprint(mark: string): Footprint {
  const resources = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) {
    if (!IGNORED.has(name)) resources.set(name, (resources.get(name) ?? 0) + 1);
  }
  const processes = existsSync('/proc/self/stat') ? fromProc(mark) : fromPs();
  return { resources, timers: runningTimers(), processes, shared: sharedValues() };
}

function sharedValues(): Map<string, string> {
  const found = new Map([['the working directory', process.cwd()]]);
  for (const [name, value = ''] of Object.entries(process.env))
    found.set(`environment variable ${name}`, value);
  for (const name of process.eventNames()) {
    found.set(`the number of process listeners for ${String(name)}`, String(process.listenerCount(name)));
  }
  return found;
}

/**
 * Waits for closing resources to be closed, and lists what is still open and not in `before`, in words.
 * An empty list means no leak.
 */
export async function leftOver(before: Footprint, mark: string, settleMs = SETTLE_MS): Promise<string[]> {
  const end = performance.now() + settleMs;
  for (;;) {
    // A resource just stopped, including this function's own timer, disappears only in the following turn.
    await nextTurn();
    await nextTurn();
    const found = difference(before, takeFootprint(mark));
    if (found.length === 0 || performance.now() >= end) return found;
    await sleep(POLL_MS);
  }
}

function difference(before: Footprint, after: Footprint): string[] {
  const found: string[] = [];
  for (const [name, count] of after.resources) {
    const more = count - (before.resources.get(name) ?? 0);
    if (more > 0) found.push(`${more} x ${name} (an open handle)`);
  }
  for (const [id, place] of after.timers) {
    if (!before.timers.has(id)) found.push(`a timer, started at ${place}`);
  }
  for (const [pid, command] of after.processes) {
    if (!before.processes.has(pid)) found.push(`process ${pid}: ${command}`);
  }
  for (const name of new Set([...before.shared.keys(), ...after.shared.keys()])) {
    if (before.shared.get(name) !== after.shared.get(name)) found.push(`${name}, changed`);
  }
  return found;
}

function fromProc(mark: string): Map<number, string> {
  const found = new Map<number, string>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // The name in parentheses may itself contain any character.
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const isOurs =
        Number(parent) === process.pid || readFileSync(`/proc/${name}/environ`, 'utf8').includes(mark);
      if (isOurs && state !== 'Z') found.set(pid, commandOf(name));
    } catch {
      // It has ended meanwhile, or belongs to another user.
    }
  }
  return found;
}

function commandOf(pid: string): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().slice(0, 200);
}

function fromPs(): Map<number, string> {
  const found = new Map<number, string>();
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,command='], { encoding: 'utf8' });
  for (const line of table.split('\n')) {
    const [, pid, parent, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    const isOurs = Number(parent) === process.pid && !command.startsWith('ps -A');
    if (isOurs) found.set(Number(pid), command.slice(0, 200));
  }
  return found;
}
