import path from 'node:path';
import type { Clock } from '../core/ports/clock.ts';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import type { SharedTime } from '../pipeline/shared-time.ts';
import type { StandbyBackend } from '../state/account/backend-standby.ts';
import { Mirror } from '../state/mirror/mirror.ts';
import { createMirrorDirectory } from '../state/mirror/mirror-directory.ts';
import { type ReadMirror, readMirror } from '../state/mirror/read-mirror.ts';
import { beginAlone } from './begin-alone.ts';

export interface MirrorSettings {
  /** Absent: there is none. */
  readonly directory?: string;
  readonly prefix: string;
  readonly ordinal: number;
  readonly operators: OperatorTrust;
}

export interface OpenMirrorParts {
  readonly backend: StandbyBackend;
  readonly clock: Clock;
  readonly time: SharedTime;
  readonly telemetry: Telemetry;
  /** Why the shared store is lost, in words; absent: it answers. */
  readonly lost?: string;
}

/**
 * Reads what this process wrote down before its last end, begins with it where it has to, and keeps it up to date from
 * then on.
 */
export async function openMirror(
  settings: MirrorSettings,
  parts: OpenMirrorParts,
): Promise<Mirror | undefined> {
  const { directory, prefix, ordinal, operators: trust } = settings;
  const { backend, clock, time, telemetry } = parts;
  if (directory === undefined) {
    beginAlone(parts, 'there is no mirror (redis.mirror)');
    return undefined;
  }
  const place = createMirrorDirectory(path.join(directory, `instance-${ordinal}`));
  const owner = { prefix, ordinal, trust };
  let found: ReadMirror | string;
  try {
    found = (await readMirror(place, owner)) ?? `there is no mirror in ${directory} yet`;
  } catch (error) {
    found = `the mirror cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    telemetry.emit({ kind: 'mirror', state: 'unread', error });
  }
  beginAlone(parts, found);
  const source = backend.mirrored({
    nowMs: () => clock.nowMs(),
    clockOffsetMs: () => time.nowMs() - clock.nowMs(),
  });
  const mirror = new Mirror({
    place,
    owner,
    timers: systemTimers,
    source,
    onState: (failing) =>
      telemetry.emit({
        kind: 'mirror',
        ...(failing === undefined ? { state: 'well' } : { state: 'failing', ...failing }),
      }),
  });
  backend.mirrorTo(mirror);
  mirror.start();
  return mirror;
}
