import { readFileSync } from 'node:fs';
import type { CheckReport } from './config/check-report.ts';
import type { RunningSimulator, SimulatorOptions } from './simulator/start.ts';

/**
 * The composition root: the only place where parts meet. What a command line or a web page needs
 * is composed here from the layers below and handed out as one object; no layer imports another.
 * Compose inside functions and import heavy parts there (`await import(...)`), so that a command
 * loads only what it runs.
 */

export type { CheckReport } from './config/check-report.ts';
export type { RunningSimulator, SimulatorOptions } from './simulator/start.ts';

/** Starts the simulated exchange. @throws an error with a `code` and a message that says what to change. */
export async function simulate(options: SimulatorOptions): Promise<RunningSimulator> {
  const { startSimulatedExchange } = await import('./simulator/start.ts');
  return await startSimulatedExchange(options);
}

/** What `breakwater simulate --help` lists: names and one line each. */
export async function simulatorVocabulary(): Promise<{
  readonly scenarios: Readonly<Record<string, string>>;
  readonly faults: Readonly<Record<string, string>>;
  readonly readings: Readonly<Record<string, string>>;
}> {
  const { vocabulary } = await import('./simulator/vocabulary.ts');
  return vocabulary();
}

/** Everything that is wrong or dangerous in a config file, and its rules in words. */
export async function checkConfigFile(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<CheckReport> {
  const [{ reportCheck }, { nodeSurroundings }] = await Promise.all([
    import('./config/check-report.ts'),
    import('./config/node-files.ts'),
  ]);
  return reportCheck(file, nodeSurroundings(env));
}

/** The version in package.json, which lies one folder up both from src/ and from dist/. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) {
    return String(manifest.version);
  }
  throw new Error('package.json has no version');
}
