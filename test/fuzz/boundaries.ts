import { CONTROL, WEB } from './http.ts';
import { PAYLOADS } from './payloads.ts';
import { RECEIVERS } from './receivers.ts';
import { REDIS, SCRIPTS } from './redis.ts';
import { REPLIES } from './replies.ts';
import type { Boundary } from './target.ts';
import { CONFIG, PRICES } from './texts.ts';

export const BOUNDARIES: readonly Boundary[] = [
  REPLIES,
  PAYLOADS,
  RECEIVERS,
  REDIS,
  SCRIPTS,
  WEB,
  CONTROL,
  CONFIG,
  PRICES,
];
