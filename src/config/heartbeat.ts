import type { z } from 'zod';
import type { Resolved } from './secrets.ts';
import { urlOrRef } from './shape/references.ts';
import { duration } from './shape/scalars.ts';
import { renamed, section } from './shape/shape.ts';

export const heartbeatSchema = renamed(
  section(
    {
      url: urlOrRef('https:', 'http:').describe(
        'Where to; as a reference when the address is a secret. `/start` and `/fail` are appended to its path.',
      ),
      every: duration({ minMs: 1000, maxMs: 3_600_000, bounds: 'from 1s to 1h' }).describe(
        'How often. A first failure, and a first success after one, are sent within ten seconds.',
      ),
      proxy: urlOrRef('http:', 'https:').exactOptional().describe('HTTP proxy on the way to it.'),
    },
    { every: '60s' },
  ),
  { every: 'everyMs' },
);

/** A dead-man service, which alarms when pings stop. `url` is absent only if a config is checked without its secret. */
export type CompiledHeartbeat = Resolved<z.output<typeof heartbeatSchema>>;
