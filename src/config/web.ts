import { secretRef } from './shape/references.ts';
import { number, oneOf, text, url } from './shape/scalars.ts';
import { list, section } from './shape/shape.ts';

const hostText = (expected: string): ReturnType<typeof text> =>
  text({ expected, pattern: /^[A-Za-z0-9_.:-]+$/, maxLength: 255 });

export const webSchema = section(
  {
    host: hostText('an IP address such as 127.0.0.1, or localhost').describe(
      'Address on which the status page, the API, /metrics, /healthz and /readyz are served. Any other than a loopback address needs `token`.',
    ),
    port: number({ min: 0, max: 65_535, integer: true, expected: 'a port from 0 to 65535' }).describe(
      'Its port; 0 takes a free one, which the log names.',
    ),
    token: secretRef()
      .optional()
      .describe(
        'Read token, at least 16 characters: readers send `Authorization: Bearer ...`. /healthz, the bare answer of /readyz and the files of the status page need none; the page asks for it.',
      ),
    controlToken: secretRef()
      .optional()
      .describe(
        'Control token, at least 16 characters: who has it may pause, resume, silence, make deposit links and change queues through the page and the API, and may read. Without it nothing can be changed there.',
      ),
    publicUrl: url('https:', 'http:')
      .optional()
      .describe(
        'Address under which people reach it; notifications then link to the page of what they are about.',
      ),
    names: list(hostText('a host name such as breakwater.internal')).describe(
      'Further names under which it is reached: requests for other names are refused (DNS rebinding).',
    ),
  },
  { host: '127.0.0.1', port: 9642, names: [] },
);

export const logSchema = section(
  {
    level: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal').describe(
      'Least level that is written; `--log-level` wins.',
    ),
    format: oneOf('auto', 'json', 'pretty').describe(
      '`json`: one object per line. `pretty`: for people. `auto`: pretty on a terminal, else JSON.',
    ),
  },
  { level: 'info', format: 'auto' },
);
