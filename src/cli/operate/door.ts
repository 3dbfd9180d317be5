import type { Command } from 'commander';
import type { Door, DoorError } from '../../app.ts';
import type { Control } from '../../core/controls/controls.ts';
import type { AccountView } from '../../core/view/account-view.ts';
import { CliError, UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { type CliIo, printWarning } from '../io.ts';
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
  return command
    .option('-c, --config <file>', "the daemon's config, which says how to reach it", DEFAULT_CONFIG)
    .option(
      '--url <address>',
      'where the daemon listens, such as http://127.0.0.1:9642 (default: as it has written down here, or the config says)',
      daemonUrl,
    )
    .option(
      '--token <place>',
      'env:NAME or file:PATH of a token for it (default: BREAKWATER_TOKEN, else as the daemon has written down here, or the config says)',
    );
}

function tokenOf({ token }: DoorFlags, env: CliIo['env']): string | undefined {
  if (token === undefined) return env['BREAKWATER_TOKEN']?.trim() || undefined;
  const named = namedValue('--token', token, env);
  if (named === undefined) {
    throw new UsageError(
      '--token: every user of this machine can read a token on a command line.',
      'Put it into a variable or a file, and say --token env:NAME or file:PATH.',
    );
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
}

/** Finds the daemon, and runs `work` with it. */
export async function withDoor<T>(
  io: CliIo,
  flags: DoorFlags,
  words: Undone,
  work: (door: Door) => Promise<T>,
): Promise<T> {
  const token = tokenOf(flags, io.env);
  const { openDoor } = await import('../../app.ts');
  try {
    const door = await openDoor({
      env: io.env,
      config: flags.config ?? DEFAULT_CONFIG,
      ...(flags.url === undefined ? {} : { url: flags.url }),
      ...(token === undefined ? {} : { token }),
    });
    if (door.fault !== undefined) printWarning(io, door.fault);
    return await work(door);
  } catch (error) {
    throw isDoorError(error) ? failureOf(error, words) : explained(error);
  }
}

export function isDoorError(error: unknown): error is DoorError {
  return error instanceof Error && error.name === 'DoorError';
}

export function isRefusal(error: unknown, status: number): error is DoorError {
  return isDoorError(error) && error.kind === 'refused' && error.status === status;
}

function failureOf(error: DoorError, { undone, nobody }: Undone): CliError {
  const { kind, code, message } = error;
  const cause = { cause: error };
  switch (kind) {
    case 'unreachable':
    case 'silent': {
      const cure = kind === 'silent' || nobody === undefined ? error.cure : `${nobody} ${error.cure}`;
      return new CliError(code, `${undone}: ${message}.`, { ...cause, cure, exitCode: EXIT.unreachable });
    }
    case 'unclear':
      return new CliError(code, `${message}.`, {
        ...cause,
        cure: error.cure,
        exitCode: EXIT.unknownOutcome,
      });
    case 'refused':
      // What is wrong with the request itself is said like a wrong option.
      if (error.status === 400 || error.status === 404) return new UsageError(sentence(message));
      return new CliError(code, `not done: ${sentence(message)}`, cause);
    default:
      return new CliError(code, `${undone}: ${message}.`, { ...cause, cure: error.cure });
  }
}

function sentence(words: string): string {
  return /[.?]$/.test(words) ? words : `${words}.`;
}

/** One account, or all of the daemon's. */
export async function viewsOf(door: Door, accountId: string | undefined): Promise<readonly AccountView[]> {
  return accountId === undefined ? await door.views() : [await door.view(accountId)];
}

/** `--json` field of something that only one daemon has learned: the address of that daemon. */
export interface OutOfReach {
  readonly onlyAt?: string;
}

/** Warns that other processes may go on as before; the command has then failed in part. */
export async function sayOutOfReach(
  io: CliIo,
  door: Door,
  words: { readonly done: string; readonly others: string },
): Promise<OutOfReach> {
  // A daemon that no longer answers is not known to have told the others.
  const reachesAll = await door.overview().then(
    (overview) => overview.reachesAll,
    () => false,
  );
  if (reachesAll) return {};
  io.setExitCode(EXIT.failed);
  printWarning(
    io,
    `Only the daemon at ${door.base} ${words.done}. ${words.others} until Redis is back, or if they have another operators.key: ask each of them with --url.`,
  );
  return { onlyAt: door.base };
}

/** Lifts each of them. What fails after the first was lifted is a warning: that one is lifted. */
export async function liftAll(
  io: CliIo,
  door: Door,
  controls: readonly Control[],
  by: Parameters<Door['lift']>[1],
): Promise<readonly Control[]> {
  const lifted: Control[] = [];
  for (const control of controls) {
    try {
      lifted.push(...(await door.lift(control, by)));
    } catch (error) {
      if (lifted.length === 0 || !isDoorError(error)) throw error;
      io.setExitCode(EXIT.failed);
      printWarning(io, `Perhaps not lifted: ${control.kind} ${control.id}: ${error.message}.`);
    }
  }
  return lifted;
}
