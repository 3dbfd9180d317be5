import type { Command } from 'commander';
import { registerCall } from './call.ts';
import { registerCheck } from './check.ts';
import { registerDemo } from './demo/command.ts';
import type { CliIo } from './io.ts';
import { registerNotify } from './notify.ts';
import { registerRun } from './run-daemon.ts';
import { registerSimulate } from './simulate.ts';

/**
 * Adds one command to the program. Lives in a file of the command's name, gives it a summary, options
 * and examples (`withExamples`), and loads what it runs inside its action: `await import('../app.ts')`.
 */
export type RegisterCommand = (program: Command, io: CliIo) => void;

/** In the order of `breakwater --help`. */
export const COMMANDS: readonly RegisterCommand[] = [
  registerDemo,
  registerRun,
  registerSimulate,
  registerCall,
  registerCheck,
  registerNotify,
];
