import path from 'node:path';
import type { Redis } from 'ioredis';
import type { Clock } from '../core/ports/clock.ts';
import type { OperatorTrust } from '../core/ports/operator-trust.ts';
import type { Telemetry } from '../core/ports/telemetry.ts';
import { systemTimers } from '../exchange/system-clock.ts';
import type { SharedTime } from '../pipeline/shared-time.ts';
import { createMirrorDirectory } from '../state/mirror/mirror-directory.ts';
import type { MirrorPlace } from '../state/mirror/mirror-place.ts';
import type { State } from '../state/state.ts';
import { InstanceClaim } from './instance-claim.ts';
import { openMirror } from './open-mirror.ts';

export interface AloneSurroundings {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly ordinal: number;
  readonly stateDirectory?: string;
}

export interface AloneParts {
  readonly redis: Redis;
  readonly prefix: string;
  readonly instance: string;
  readonly lost: string | undefined;
  /** The config's mirror directory. */
  readonly mirror: string | undefined;
  readonly state: State;
  readonly operators: OperatorTrust;
  readonly time: SharedTime;
}

/** Opens what a process needs to go on alone: a unique number and a mirror. Resolves to functions that close both. */
export async function openAlone(
  { clock, telemetry, ordinal, stateDirectory }: AloneSurroundings,
  { redis, prefix, instance, lost, mirror: configured, state, operators, time }: AloneParts,
): Promise<readonly (() => Promise<unknown>)[]> {
  const backend = state.standby;
  if (backend === undefined) return [];
  const claim = new InstanceClaim({
    redis,
    prefix,
    instance,
    ordinal,
    clock,
    timers: systemTimers,
    onCompany: (hasCompany) => {
      backend.hasCompany = hasCompany;
    },
    onTaken: (holder) => telemetry.emit({ kind: 'instanceTaken', ordinal, holder }),
  });
  if (lost === undefined) await claim.take();
  claim.start();
  const directory = configured ?? stateDirectory;
  const place = directory === undefined ? undefined : placeOf(directory, ordinal);
  const mirror = await openMirror(
    { ...(place === undefined ? {} : { place }), prefix, ordinal, operators },
    { backend, clock, timers: systemTimers, time, telemetry, ...(lost === undefined ? {} : { lost }) },
  );
  return [() => claim.release(), async () => await mirror?.close()];
}

function placeOf(directory: string, ordinal: number): MirrorPlace & { readonly where: string } {
  return { ...createMirrorDirectory(path.join(directory, `instance-${ordinal}`)), where: directory };
}
