import type { Clock, Timers } from '../core/ports/clock.ts';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import type { SharedTime } from '../pipeline/shared-time.ts';
import type { StandbyBackend } from '../state/account/backend-standby.ts';
import { Mirror } from '../state/mirror/mirror.ts';
import type { MirrorPlace } from '../state/mirror/mirror-place.ts';
import { type ReadMirror, readMirror } from '../state/mirror/read-mirror.ts';
import { beginAlone } from './begin-alone.ts';

export interface MirrorSettings {
  /** Absent: there is none. */
  readonly place?: MirrorPlace & { readonly where: string };
  readonly prefix: string;
  readonly ordinal: number;
  readonly operators: OperatorTrust;
}

export interface OpenMirrorParts {
  readonly backend: StandbyBackend;
  readonly clock: Clock;
  readonly timers: Pick<Timers, 'after'>;
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
  const { place, prefix, ordinal, operators: trust } = settings;
  const { backend, clock, timers, time, telemetry } = parts;
  if (place === undefined) {
    beginAlone(parts, 'there is no mirror (redis.mirror)');
    return undefined;
  }
  const owner = { prefix, ordinal, trust };
  let found: ReadMirror | string;
  try {
    found = (await readMirror(place, owner)) ?? `there is no mirror in ${place.where} yet`;
  } catch (error) {
    found = `the mirror cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    telemetry.emit({ kind: 'mirror', state: 'unread', error });
  }
  if (typeof found !== 'string') {
    backend.unattached.add(found.unattached);
    for (const words of found.faults)
      telemetry.emit({ kind: 'mirror', state: 'unread', error: new Error(words) });
  }
  beginAlone(parts, found);
  const source = backend.mirrored({
    nowMs: () => clock.nowMs(),
    clockOffsetMs: () => time.nowMs() - clock.nowMs(),
  });
  const mirror = new Mirror({
    place,
    owner,
    timers,
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
