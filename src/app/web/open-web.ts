import type { RequestListener } from 'node:http';
import type { CompiledConfig } from '../../config/compiled-config.ts';
import { within } from '../../core/ports/within.ts';
import { systemTimers } from '../../exchange/system-clock.ts';
import { type DoorSocket, openDoorSocket } from '../door/door-socket.ts';
import type { Base } from '../open-base.ts';
import type { StressSchedule } from '../scheduled-stress/stress-schedule.ts';
import { webContent } from './content.ts';
import { WebListener } from './listener.ts';

export interface OpenWebOptions {
  readonly configFile: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly webPort?: number;
}

/** A disk that hangs keeps the daemon from nothing. */
const DISK_MS = 2_000;

/**
 * Opens the API of a process: to commands on this machine always, to others with the role `web`, which runs the stress
 * tests. @throws WebServerError
 */
export async function openWeb(
  base: Base,
  { web, redis: { mirror } }: CompiledConfig,
  { webPort, configFile, env }: OpenWebOptions,
  stress: StressSchedule | undefined,
): Promise<WebListener> {
  const { telemetry, instance, ordinal, roles } = base;
  const onSkipped = (error: unknown): void => telemetry.emit({ kind: 'webError', error });
  const openDoor = async (handler: RequestListener): Promise<DoorSocket | undefined> => {
    const folders = { configFile, mirror, env };
    const options = {
      folders,
      instance,
      ordinal,
      acts: roles.includes('poll') || roles.includes('act'),
      handler,
      onSkipped,
    };
    return await within(systemTimers, DISK_MS, openDoorSocket(options)).catch((error: unknown) => {
      onSkipped(error);
      return undefined;
    });
  };
  return await WebListener.open(web, {
    content: webContent(base, stress),
    port: webPort,
    isLocal: !roles.includes('web'),
    onListening: (url) => telemetry.emit({ kind: 'listening', url }),
    openDoor,
  });
}
