import type { CompiledConfig } from '../config/compiled-config.ts';
import type { DoctorCheck } from './doctor-report.ts';

/** Whether somebody learns of problems, and can stop the daemon even while Redis is lost. */
export function examinePeople(config: CompiledConfig): readonly DoctorCheck[] {
  return [channelsOf(config), brakeOf(config)];
}

function channelsOf({ channels }: CompiledConfig): DoctorCheck {
  const name = 'channels';
  if (channels.length === 0) {
    const why = 'there is no channel, so messages reach the log only';
    return { name, status: 'warning', why, cure: 'Name one under `channels` (docs/notifications.md).' };
  }
  const why = `messages go to ${channels.map((channel) => channel.name).join(', ')}; breakwater notify test sends one`;
  return { name, status: 'passed', why };
}

/** Commands reach a daemon through Redis; without Redis, only through its web server. */
function brakeOf({ redis, web }: CompiledConfig): DoctorCheck {
  const name = 'brake';
  if (redis.required) {
    const why = 'while Redis is lost the daemon does nothing that is to be paused';
    return { name, status: 'passed', why };
  }
  const mayControl = Object.values(web.users).some(({ scopes }) => scopes.some((scope) => scope !== 'read'));
  if (web.controlToken !== undefined || mayControl) {
    const why = 'while Redis is lost pause goes through the web server of the daemon';
    return { name, status: 'passed', why };
  }
  const why =
    'while Redis is lost the daemon goes on acting, and nobody can pause it: there is no web.controlToken';
  return { name, status: 'warning', why, cure: 'Set web.controlToken (docs/without-redis.md).' };
}
