import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import path from 'node:path';

/** Test files without real times, which run at a lower priority: names below `test/`, or their beginnings. */
const COMPUTING = [
  'baseline/',
  'calibration/',
  'config/',
  'core/',
  'faults/faults',
  'field/',
  'lint/',
  'mutants/',
  'prometheus/',
  'replay/report',
  'replay/run',
  'replay/scenarios',
  'replay/stress',
  'rulesets/',
  'scripts/release',
  'scripts/tools',
  'simulator/model',
  'simulator/prices',
  'world/',
];
/** Plays live times too. */
const EXCEPT = 'world/equivalence';

const TESTS = path.dirname(import.meta.dirname);

/** Its path below `test/`, without the ending. */
export function nameOf(file: string): string {
  return path.relative(TESTS, file).replace('.test.ts', '');
}

export function isComputing(file: string): boolean {
  const name = nameOf(file);
  return name !== EXCEPT && COMPUTING.some((beginning) => name.startsWith(beginning));
}

const LISTENING = 'tracing:net.server.listen:asyncStart';

/** Calls back for each server that this process begins, until the returned function is called. */
export function followServers(onListen: () => void): () => void {
  subscribe(LISTENING, onListen);
  return () => unsubscribe(LISTENING, onListen);
}
