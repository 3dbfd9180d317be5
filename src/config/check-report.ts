import type { Mode, Severity } from '../core/rules/rule.ts';
import { exactSpan } from '../core/text/formats.ts';
import { checkConfig } from './load-config.ts';
import { formatProblem, type Place, type Problem } from './problem.ts';
import type { ConfigSurroundings } from './surroundings.ts';
import { modeOf, ruleInWords } from './words/rules.ts';

/** What `breakwater check` says; plain data. */
export interface CheckReport {
  readonly file: string;
  readonly ok: boolean;
  readonly errors: number;
  readonly warnings: number;
  readonly problems: readonly ReportedProblem[];
  /** By account; empty when there is an error. */
  readonly accounts: readonly ReportedAccount[];
  /** What the heartbeat tells whom, in words; absent without one. */
  readonly heartbeat?: string;
}

export interface ReportedProblem extends Omit<Problem, 'place'>, Place {
  /** All of it in one line, as it is printed. */
  readonly text: string;
}

export interface ReportedAccount {
  readonly id: string;
  readonly mode: Mode;
  readonly rules: readonly ReportedRule[];
}

export interface ReportedRule {
  readonly id: string;
  readonly mode: Mode;
  readonly severity: Severity;
  readonly words: string;
}

/** Checks a config file without needing its secrets. */
export function reportCheck(file: string, surroundings: ConfigSurroundings): CheckReport {
  const { problems, accounts, heartbeat } = checkConfig(file, surroundings);
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  return {
    ...(heartbeat === undefined
      ? {}
      : {
          heartbeat: `every ${exactSpan(heartbeat.everyMs)}, and at /fail when an account is not judged in time`,
        }),
    file,
    ok: errors === 0,
    errors,
    warnings: problems.length - errors,
    problems: problems.map((problem) => {
      const { severity, code, path, message, place } = problem;
      const { file: inFile, line, column } = place;
      return { severity, code, file: inFile, line, column, path, message, text: formatProblem(problem) };
    }),
    accounts: (accounts ?? []).map(({ id, settings, rules }) => ({
      id,
      mode: settings.mode,
      rules: rules.map((rule) => ({
        id: rule.id,
        mode: modeOf(rule, settings),
        severity: rule.severity,
        words: ruleInWords(rule),
      })),
    })),
  };
}
