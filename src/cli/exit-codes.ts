/** All exit codes of commands. Scripts rely on the numbers: add, never renumber. `breakwater --help` prints them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  unknownOutcome: 3,
  held: 4,
  unreachable: 5,
  inPart: 6,
  bug: 70,
  hangup: 129,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANING: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'done as asked',
  failed: 'what was asked for failed; the message says why',
  usage: 'the command line is wrong; nothing was done',
  unknownOutcome: 'the outcome of a request is unknown: read before you repeat it',
  held: 'order kept, nothing is sent now: nobody polls, a pause, or observe mode',
  unreachable: 'no daemon answers that could do it; nothing was done',
  inPart: 'it holds in part: not every process that acts has confirmed it',
  bug: 'a defect in Breakwater; please report it with the output of --debug',
  hangup: 'stopped because its terminal went away (SIGHUP)',
  interrupted: 'stopped by Ctrl-C (SIGINT)',
  terminated: 'stopped by SIGTERM',
};
