import type { CompiledConfig } from '../../config/compiled-config.ts';
import { DoorFile, type DoorFilePlace } from '../door/door-file.ts';
import type { Base } from '../open-base.ts';
import type { StressSchedule } from '../scheduled-stress/stress-schedule.ts';
import { webContent } from './content.ts';
import { WebListener } from './listener.ts';

/** Opens the web server of a daemon. @throws WebServerError */
export async function openWeb(
  base: Base,
  { web, redis }: CompiledConfig,
  { webPort, configFile, env }: Omit<DoorFilePlace, 'mirror'> & { readonly webPort?: number },
  stress: StressSchedule,
): Promise<WebListener> {
  return await WebListener.open(web, {
    content: webContent(base, stress),
    port: webPort,
    onListening: (url) => base.telemetry.emit({ kind: 'listening', url }),
    door: new DoorFile({ configFile, mirror: redis.mirror, env }, base.ordinal),
  });
}
