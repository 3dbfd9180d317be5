import path from 'node:path';
import type { Disk } from '../core/ports/disk.ts';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import { createDiskDirectory } from '../owner/disk-directory.ts';
import type { SharedTime } from '../pipeline/shared-time.ts';
import type { State } from '../state/state.ts';
import { lostBy } from './connect-redis.ts';
import { type ClaimParts, InstanceClaim } from './instance-claim.ts';
import { openMirror } from './open-mirror.ts';

export interface AloneSurroundings extends Pick<ClaimParts, 'clock' | 'ordinal'> {
  readonly telemetry: Telemetry;
}

export interface AloneParts extends Pick<ClaimParts, 'redis' | 'prefix' | 'instance'> {
  /** Why Redis was lost at the start, in words; absent: it answered. */
  readonly lost: string | undefined;
  /** Absent: it keeps no mirror. */
  readonly stateDirectory: string | undefined;
  readonly state: State;
  readonly operators: OperatorTrust;
  readonly time: SharedTime;
}

/** Opens what a process needs to go on alone: a unique number and a mirror. Redis may be lost meanwhile. */
export async function openAlone(surroundings: AloneSurroundings, parts: AloneParts) {
  const { clock, telemetry, ordinal } = surroundings;
  const { prefix, lost: lostBefore, stateDirectory, operators, time } = parts;
  const backend = parts.state.standby;
  if (backend === undefined) return { lost: lostBefore, closers: [] };
  const claim = new InstanceClaim({
    ...surroundings,
    ...parts,
    timers: systemTimers,
    onCompany: (hasCompany) => {
      backend.hasCompany = hasCompany;
    },
    onTaken: (holder) => telemetry.emit({ kind: 'instanceTaken', ordinal, holder }),
  });
  const lost = lostBefore ?? (await lostBy(() => claim.take(), true));
  claim.start();
  const place = stateDirectory === undefined ? undefined : placeOf(stateDirectory, ordinal);
  const mirror = await openMirror(
    { ...(place === undefined ? {} : { place }), prefix, ordinal, operators },
    { backend, clock, timers: systemTimers, time, telemetry, ...(lost === undefined ? {} : { lost }) },
  );
  return { lost, closers: [() => claim.release(), async () => await mirror?.close()] };
}

function placeOf(directory: string, ordinal: number): Disk & { readonly where: string } {
  return { ...createDiskDirectory(path.join(directory, `instance-${ordinal}`)), where: directory };
}
