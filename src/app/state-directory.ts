import { homedir } from 'node:os';
import path from 'node:path';
import { markOf } from './door/door-folders.ts';

export interface StateDirectoryPlace {
  readonly configFile: string;
  /** The config's `stateDir`. */
  readonly stateDir: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The directory that the config or the service manager names for what a process keeps; undefined: neither does. */
export function namedStateDirectory({
  stateDir,
  env,
}: Omit<StateDirectoryPlace, 'configFile'>): string | undefined {
  const [given = ''] = env['STATE_DIRECTORY']?.split(':') ?? [];
  return stateDir ?? (given === '' ? undefined : given);
}

/** The named directory, else one of this config below the user's home: two configs must not share a journal. */
export function stateDirectoryOf(place: StateDirectoryPlace): string {
  const { XDG_STATE_HOME, HOME } = place.env;
  const home = XDG_STATE_HOME || path.join(HOME || homedir(), '.local', 'state');
  return namedStateDirectory(place) ?? path.join(home, 'breakwater', markOf(place.configFile));
}
