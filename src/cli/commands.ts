import type { Command } from 'commander';
import { registerAcknowledge } from './acknowledge.ts';
import { registerApprove } from './approve.ts';
import { registerAudit } from './audit.ts';
import { registerCall } from './call.ts';
import { registerCheck } from './check.ts';
import { registerCompletion } from './completion.ts';
import { registerDemo } from './demo.ts';
import { registerDigest } from './digest.ts';
import { registerDoctor } from './doctor.ts';
import { registerFlatten } from './flatten.ts';
import { registerInit } from './init.ts';
import type { CliIo } from './io.ts';
import { registerNotify } from './notify.ts';
import { registerPause } from './pause.ts';
import { registerReduce } from './reduce.ts';
import { registerReplay } from './replay/command.ts';
import { registerStress } from './replay/stress.ts';
import { registerTune } from './replay/tune.ts';
import { registerReport } from './report.ts';
import { registerResume } from './resume.ts';
import { registerRun } from './run-daemon.ts';
import { registerSilence } from './silence.ts';
import { registerSimulate } from './simulate.ts';
import { registerStatus } from './status.ts';
import { registerToken } from './token.ts';
import { registerVersion } from './version.ts';
import { registerVeto } from './veto.ts';

/**
 * Adds a command from the file of its name: summary, options, examples (`withExamples`); loads what it runs in its
 * action.
 */
export type RegisterCommand = (program: Command, io: CliIo) => void;

/** In the order of `breakwater --help`. */
export const COMMANDS: readonly RegisterCommand[] = [
  registerDemo,
  registerReplay,
  registerStress,
  registerTune,
  registerInit,
  registerRun,
  registerSimulate,
  registerCall,
  registerCheck,
  registerNotify,
  registerDoctor,
  registerStatus,
  registerPause,
  registerResume,
  registerSilence,
  registerApprove,
  registerVeto,
  registerAcknowledge,
  registerReduce,
  registerFlatten,
  registerAudit,
  registerReport,
  registerDigest,
  registerToken,
  registerVersion,
  registerCompletion,
];
