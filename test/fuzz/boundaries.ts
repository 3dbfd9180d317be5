import { CONFIG } from './config-files.ts';
import { MIRROR } from './mirror.ts';
import { PAYLOADS } from './payloads.ts';
import { RECEIVERS } from './receivers.ts';
import { REDIS, SCRIPTS } from './redis.ts';
import { POSITIONS, PRICES } from './replay-files.ts';
import { REPLIES } from './replies.ts';
import { BOARD, CONTROL, HEALTH, WEB } from './servers.ts';
import type { Boundary } from './target.ts';
import { HEARTBEAT, SMTP } from './wires.ts';

export const BOUNDARIES: readonly Boundary[] = [
  REPLIES,
  PAYLOADS,
  RECEIVERS,
  HEARTBEAT,
  SMTP,
  REDIS,
  SCRIPTS,
  MIRROR,
  WEB,
  BOARD,
  HEALTH,
  CONTROL,
  CONFIG,
  POSITIONS,
  PRICES,
];
