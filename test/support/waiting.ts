import path from 'node:path';

/** Test files that wait for real time, or compare times: names below `test/`, or their beginnings. */
const WAITING = [
  'cli/orders',
  'cli/process',
  'cli/status-lines',
  'contract/faults',
  'crash/',
  'daemon/',
  'demo/demo',
  'deployment/redis-',
  'docs/first-hour',
  'exchange/call/bounds',
  'faults/real',
  'grafana/panels',
  'outages/',
  'page/answers',
  'page/daemon',
  'pipeline/act/waiting',
  'queues/',
  'scripts/start',
  'security/crash',
  'security/planted',
  'security/slow',
  'web/events',
  'world/equivalence',
];

const TESTS = path.dirname(import.meta.dirname);

/** Its path below `test/`, without the ending. */
export function nameOf(file: string): string {
  return path.relative(TESTS, file).replace('.test.ts', '');
}

export function isWaiting(file: string): boolean {
  return WAITING.some((beginning) => nameOf(file).startsWith(beginning));
}
