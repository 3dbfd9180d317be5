import type { Command } from 'commander';
import type { CliIo } from './io.ts';

/**
 * Adds a command from the file of its name: summary, options, examples (`withExamples`). Its action loads the code that
 * it runs.
 */
export type RegisterCommand = (program: Command, io: CliIo) => void;

/** In the order of `breakwater --help`. Loaded by name, so that a long-running daemon holds no other command. */
export const COMMANDS: Readonly<Record<string, () => Promise<RegisterCommand>>> = {
  demo: async () => (await import('./demo.ts')).registerDemo,
  replay: async () => (await import('./replay/command.ts')).registerReplay,
  stress: async () => (await import('./replay/stress.ts')).registerStress,
  init: async () => (await import('./init.ts')).registerInit,
  run: async () => (await import('./run-daemon.ts')).registerRun,
  simulate: async () => (await import('./simulate.ts')).registerSimulate,
  call: async () => (await import('./call.ts')).registerCall,
  check: async () => (await import('./check.ts')).registerCheck,
  notify: async () => (await import('./notify.ts')).registerNotify,
  doctor: async () => (await import('./doctor.ts')).registerDoctor,
  status: async () => (await import('./status.ts')).registerStatus,
  pause: async () => (await import('./pause.ts')).registerPause,
  resume: async () => (await import('./resume.ts')).registerResume,
  silence: async () => (await import('./silence.ts')).registerSilence,
  approve: async () => (await import('./operate/answer.ts')).registerApprove,
  veto: async () => (await import('./operate/answer.ts')).registerVeto,
  acknowledge: async () => (await import('./acknowledge.ts')).registerAcknowledge,
  reduce: async () => (await import('./reduce.ts')).registerReduce,
  flatten: async () => (await import('./flatten.ts')).registerFlatten,
  audit: async () => (await import('./audit.ts')).registerAudit,
  report: async () => (await import('./report.ts')).registerReport,
  digest: async () => (await import('./digest.ts')).registerDigest,
  token: async () => (await import('./token.ts')).registerToken,
  version: async () => (await import('./version.ts')).registerVersion,
  completion: async () => (await import('./completion.ts')).registerCompletion,
};

/** The command that a command line begins with, or all commands if it begins with none. */
export async function commandsFor(args: readonly string[]): Promise<readonly RegisterCommand[]> {
  const [name = ''] = args;
  const load = Object.hasOwn(COMMANDS, name) && !READS_ALL.has(name) ? COMMANDS[name] : undefined;
  return load === undefined ? await allCommands() : [await load()];
}

export async function allCommands(): Promise<readonly RegisterCommand[]> {
  return await Promise.all(Object.values(COMMANDS).map((load) => load()));
}

/** Commands whose output is made from the others. */
const READS_ALL: ReadonlySet<string> = new Set(['completion']);
