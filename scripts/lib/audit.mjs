/**
 * @typedef {{ kind: 'clean' | 'found' | 'unanswered', words: string }} AuditVerdict
 */

/** Severities that fail the check. */
const FAILING = ['high', 'critical'];

/**
 * Judges the output of `npm audit --json`. An unreachable registry is not a pass.
 * @param {string} output
 * @returns {AuditVerdict}
 */
export function judgeAudit(output) {
  const report = parse(output);
  const counts = report?.metadata?.vulnerabilities;
  if (report?.vulnerabilities === undefined || typeof counts?.total !== 'number') {
    const why = typeof report?.message === 'string' ? report.message : 'its answer could not be read';
    return {
      kind: 'unanswered',
      words: `NOT CHECKED for known weaknesses: the registry did not answer (${why})`,
    };
  }
  const bad = Object.entries(report.vulnerabilities).filter(([, { severity }]) => FAILING.includes(severity));
  if (bad.length > 0) {
    const listed = bad.map(([name, { severity }]) => `${name} (${severity})`).join(', ');
    return { kind: 'found', words: `known weaknesses: ${listed}; npm audit says more` };
  }
  return {
    kind: 'clean',
    words: `no known weakness of severity ${FAILING.join(' or ')}; ${counts.total} lesser`,
  };
}

/**
 * @param {string} text
 * @returns {{ message?: unknown, vulnerabilities?: Record<string, { severity: string }>, metadata?: { vulnerabilities?: { total?: unknown } } } | undefined}
 */
function parse(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
