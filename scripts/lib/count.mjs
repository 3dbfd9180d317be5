/**
 * Counts the results of vitest's JSON reporter. It also counts as failures: a file that failed without a failing test
 * (it does not load, or leaks), a run that failed though every test passed, and a run without tests.
 * @param {any} report the parsed report; undefined if there is none
 * @param {number} exitCode of vitest
 * @returns {{ passed: number, failed: number }}
 */
export function countTests(report, exitCode) {
  const passed = whole(report?.numPassedTests);
  const failedTests = whole(report?.numFailedTests);
  /** @type {{ status?: string, assertionResults?: { status?: string }[] }[]} */
  const files = Array.isArray(report?.testResults) ? report.testResults : [];
  const failedFiles = files.filter(
    ({ status, assertionResults = [] }) =>
      status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
  );
  const failed = failedTests + failedFiles.length;
  const somethingElse = exitCode !== 0 || passed + failed === 0;
  return { passed, failed: failed === 0 && somethingElse ? 1 : failed };
}

/** @param {unknown} value */
function whole(value) {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : 0;
}
