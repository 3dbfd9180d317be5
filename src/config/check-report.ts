import { modeOf } from '../core/rules/rule-parts.ts';
import { checkConfig } from './load-config.ts';
import { formatProblem } from './problem.ts';
import { durationInWords } from './shape/units.ts';
import type { ConfigSurroundings } from './surroundings.ts';
import { ruleInWords } from './words/rules.ts';

/** The output of `breakwater check`, as plain data. */
export type CheckReport = ReturnType<typeof reportCheck>;

/** Checks a config file without needing its secrets. */
export function reportCheck(file: string, surroundings: ConfigSurroundings) {
  const { problems, accounts, heartbeat } = checkConfig(file, surroundings);
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  return {
    ...(heartbeat === undefined
      ? {}
      : {
          heartbeat: `every ${durationInWords(heartbeat.everyMs)}, and at /fail when an account is not judged in time`,
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
    /** Empty if there is an error. */
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
