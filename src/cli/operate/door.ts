import type { Command } from 'commander';
import type { Door, DoorError, ProcessLine } from '../../app.ts';
import type { Control } from '../../core/controls/controls.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import { CliError, UsageError } from '../errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { type CliIo, printNote, printWarning } from '../io.ts';
import { DEFAULT_CONFIG, daemonUrl } from '../option-values.ts';
import { explained, namedValue } from './place.ts';

/** Options of every command that changes something; each also offers `--json`. */
export interface DoorFlags {
  readonly json?: boolean;
  readonly config?: string;
  readonly url?: string;
  readonly token?: string;
}

/** Commands that change something ask a daemon to, over its API. */
export function withDoorPlace(command: Command): Command {
  const found = "the daemon's config, by which it is found on this machine";
  return withDoorAddress(command.option('-c, --config <file>', found, DEFAULT_CONFIG));
}

export function withDoorAddress(command: Command): Command {
  return command
    .option('--url <address>', 'a daemon elsewhere, such as https://desk.example:9642', daemonUrl)
    .option(
      '--token <place>',
      "env:NAME or file:PATH of a token for --url (default: BREAKWATER_TOKEN, else the config's web.controlToken)",
    );
}

function tokenOf({ token, url }: DoorFlags, env: CliIo['env']): string | undefined {
  if (token !== undefined && url === undefined)
    throw new UsageError('--token is for a daemon elsewhere.', 'Add --url ADDRESS, or leave it out.');
  if (token === undefined) return env['BREAKWATER_TOKEN']?.trim() || undefined;
  const named = namedValue('--token', token, env);
  if (named === undefined) {
    const cure = 'Put it into a variable or a file, and say --token env:NAME or file:PATH.';
    throw new UsageError('--token: every user of this machine can read a token on a command line.', cure);
  }
  if (named.lacking !== undefined)
    throw new UsageError(`--token: expected a token ${named.where}, ${named.lacking}.`);
  return named.value;
}

/** What to say when nothing was done. */
export interface Undone {
  /** Such as `nothing was paused`. */
  readonly undone: string;
  /** Added if no daemon answers. */
  readonly nobody?: string;
  /** What to do if nobody knows whether it was done; default: look with status. */
  readonly again?: string;
  /** By when the answers are here; default: so that a command says what became of it within 3 s. */
  readonly withinMs?: number;
}

/** What a command says within 3 s includes its own start, from which `performance.now()` counts. */
const SAID_MS = 2_700;
/** On a machine that needs longer for the start. */
const LEAST_MS = 2_000;

/** A door whose answers are waited for together; the time begins anew when a person has answered a question. */
export type TimedDoor = Door & { readonly startOver: () => void };

/** Finds the daemon, and runs `work` with it. */
export async function withDoor<T>(
  io: CliIo,
  flags: DoorFlags,
  words: Undone,
  work: (door: TimedDoor) => Promise<T>,
): Promise<T> {
  const token = tokenOf(flags, io.env);
  const { openDoor } = await import('../../app.ts');
  const nowMs = performance.now();
  const { withinMs = Math.max((nowMs < SAID_MS ? 0 : nowMs) + SAID_MS - nowMs, LEAST_MS) } = words;
  let untilMs = nowMs + withinMs;
  try {
    const door = await openDoor({
      env: io.env,
      config: flags.config ?? DEFAULT_CONFIG,
      untilMs: () => untilMs,
      ...(flags.url === undefined ? {} : { url: flags.url }),
      ...(token === undefined ? {} : { token }),
    });
    for (const fault of door.faults) printWarning(io, fault);
    const startOver = (): void => {
      untilMs = performance.now() + (words.withinMs ?? SAID_MS);
    };
    return await work({ ...door, startOver });
  } catch (error) {
    throw isDoorError(error) ? failureOf(error, words) : explained(error);
  }
}

export function isDoorError(error: unknown): error is DoorError {
  return error instanceof Error && error.name === 'DoorError';
}

export function isRefusal(error: unknown, status: number): error is DoorError {
  return isDoorError(error) && error.refusal?.status === status;
}

function failureOf(error: DoorError, { undone, nobody = '', again }: Undone): CliError {
  const { kind, message, cure, refusal } = error;
  if (refusal === undefined) {
    const own = kind === 'unclear' ? (again ?? cure) : cure;
    return new CliError(`daemon-${kind}`, kind === 'unclear' ? `${message}.` : `${undone}: ${message}.`, {
      cause: error,
      cure: kind === 'unreachable' ? `${nobody} ${cure}`.trim() : own,
      exitCode: EXIT_OF[kind] ?? EXIT.failed,
    });
  }
  // A wrong request gets the same exit code as a wrong option.
  if (refusal.status === 400 || refusal.status === 404)
    return Object.assign(new UsageError(sentence(message)), { cause: error });
  const code = refusal.code.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return new CliError(code, `not done: ${sentence(message)}`, { cause: error });
}

const EXIT_OF: Partial<Record<DoorError['kind'], ExitCode>> = {
  unreachable: EXIT.unreachable,
  silent: EXIT.unreachable,
  unclear: EXIT.unknownOutcome,
};

export function sentence(words: string): string {
  return /[.?]$/.test(words) ? words : `${words}.`;
}

/** One account, or all of the daemon's, most endangered first. */
export async function viewsOf(door: Door, id: string | undefined): Promise<readonly AccountView[]> {
  if (id !== undefined) return [await door.ask('account', { params: { id } })];
  const views: AccountView[] = [];
  for (let total = 1; views.length < total; ) {
    const page = await door.ask('accounts', { query: { limit: 100, offset: views.length } });
    views.push(...page.accounts);
    total = page.accounts.length === 0 ? 0 : page.total;
  }
  return views;
}

const MOST_CONFIRMING_MS = 2_000;
/** What an answer takes on its way. */
const MARGIN_MS = 600;

/** `--json` field of everything that every process is to obey. */
export interface Reach {
  readonly processes: readonly ProcessLine[];
}

/** Says which processes have confirmed it; warns of those that may go on as before: it then holds in part. */
export async function sayReach(io: CliIo, door: Door, others: string): Promise<Reach> {
  const withinMs = Math.min(MOST_CONFIRMING_MS, Math.max(0, door.leftMs() - MARGIN_MS));
  const found = await door.ask('processes', { query: { withinMs } }).catch((error: unknown) => {
    if (isDoorError(error)) return undefined;
    throw error;
  });
  const { processes = [], reachesAll = false } = found ?? {};
  // The daemon that was asked does not know of a neighbour that acts on another store, or without one.
  const strangers = door.neighbours.filter((one) => !processes.some(({ instance }) => instance === one));
  const missing = [
    ...processes.filter(({ acts, confirmed }) => acts && !confirmed).map(nameOf),
    ...strangers.map((instance) => `${instance} on this machine`),
  ];
  const confirmed = processes.filter((one) => one.confirmed).map(nameOf);
  if (processes.length > 1) printNote(io, `Confirmed by ${confirmed.join(', ') || 'nobody'}.`);
  if (found !== undefined && !processes.some(({ acts }) => acts) && strangers.length === 0)
    printNote(io, 'No process that acts runs: it holds for those that start.');
  if (missing.length === 0 && reachesAll) return { processes };
  io.setExitCode(EXIT.inPart);
  const silent = `Which processes have confirmed it is not known: the daemon at ${door.base} does not answer any more.`;
  const who = missing.length === 0 ? 'others, of which this daemon does not know' : missing.join(', ');
  const words = found === undefined ? silent : `Not confirmed within 2 s by ${who}.`;
  printWarning(
    io,
    `${words} ${others} until they reach Redis again: ask each with --url, or end its process.`,
  );
  return { processes };
}

function nameOf({ instance, host }: ProcessLine): string {
  return `${instance} on ${host}`;
}

/** Lifts each of them. What fails after the first was lifted is a warning: that one is lifted. */
export async function liftAll(
  io: CliIo,
  door: Door,
  controls: readonly Control[],
  body: { readonly author: string; readonly reason: string },
): Promise<readonly Control[]> {
  const lifted: Control[] = [];
  for (const { kind, id } of controls) {
    try {
      lifted.push(...(await door.ask(`lift ${kind}`, { params: { id }, body })).lifted);
    } catch (error) {
      // It ended in the meantime.
      if (isRefusal(error, 404)) continue;
      if (lifted.length === 0 || !isDoorError(error)) throw error;
      io.setExitCode(EXIT.inPart);
      printWarning(io, `Perhaps not lifted: ${kind} ${id}: ${error.message}.`);
    }
  }
  return lifted;
}
