import type { OxlintOverride } from 'oxlint';

/**
 * Who may import whom below src/, as rules of the linter. test/lint/import-direction.test.ts proves them: it plants a
 * violation of every kind.
 */

interface Layer {
  /** Folders below src/ that it may import from, itself apart; a file allows just that file. Absent: all of them. */
  readonly imports?: readonly string[];
  readonly rule: string;
  /** npm packages and node: modules; absent: all of them. */
  readonly packages?: readonly string[];
}

/** The timers of this machine, for layers that only ever run in real time; the others are handed theirs. */
const REAL_TIME = 'exchange/system-clock.ts';

const LAYERS: Readonly<Record<string, Layer>> = {
  'src/core': {
    imports: [],
    packages: ['node:crypto', 'zod'],
    rule: 'src/core is pure: it imports nothing but itself, zod, node:crypto (and the decimal library, in quantities/decimal.ts).',
  },
  'src/exchange': coreOnly('src/exchange'),
  'src/state': coreOnly('src/state', REAL_TIME),
  'src/owner': {
    imports: ['core/', 'state/'],
    rule: 'src/owner keeps the state of one process: it works on the core, the state and the ports it is handed.',
  },
  'src/queues': coreOnly('src/queues', REAL_TIME),
  'src/notify': coreOnly('src/notify'),
  'src/telemetry': coreOnly('src/telemetry'),
  'src/config': coreOnly('src/config'),
  'src/pipeline': {
    imports: ['core/'],
    rule: 'src/pipeline works on the core and the ports it is handed; it imports no other layer.',
  },
  'src/simulator': {
    imports: ['core/quantities/decimal.ts', 'core/ports/clock.ts'],
    rule: 'src/simulator may import src/core/quantities/decimal.ts and the port of the clock only: it must not inherit the mistakes of the client.',
  },
  'src/world': {
    imports: [
      'core/',
      'simulator/',
      'exchange/',
      'pipeline/',
      'queues/schedules.ts',
      'state/',
      'owner/open-own-state.ts',
      'config/',
      'app/configured-accounts.ts',
      'app/open-mirror.ts',
      'app/pipeline.ts',
      'app/poll-ticks.ts',
      'app/standby.ts',
    ],
    rule: 'src/world composes the daemon with the simulated exchange in virtual time: no sockets, no Redis, no other layer.',
  },
  'src/replay': {
    imports: ['core/', 'simulator/', 'world/', 'config/'],
    rule: 'src/replay runs worlds and reports on them; src/app.ts hands it to the command line.',
  },
  'src/web': {
    imports: ['core/', REAL_TIME, 'app.ts'],
    rule: 'src/web shows what it is handed; it reaches other layers through src/app.ts only.',
  },
  'src/redis-server': {
    imports: [],
    rule: 'src/redis-server starts a Redis server of its own; it imports no other layer.',
  },
  'src/demo': {
    imports: [
      'core/',
      'simulator/',
      'exchange/limits/',
      'redis-server/',
      'app/',
      'cli/io.ts',
      'cli/table.ts',
    ],
    rule: 'src/demo runs the daemon of src/app against src/simulator; it imports no other layer.',
  },
  'src/doctor': {
    imports: ['core/', 'config/', 'exchange/', 'state/', 'queues/', 'app/'],
    rule: 'src/doctor tries the parts that it names; src/app.ts hands it to the command line.',
  },
  'src/cli': {
    imports: ['core/', REAL_TIME, 'app.ts', 'demo/'],
    rule: 'src/cli runs things through src/app.ts; it does not reach into other layers.',
  },
  'src/package': {
    imports: ['core/', 'exchange/', 'simulator/', 'state/', 'app/read-version.ts'],
    rule: 'src/package offers the client and the simulated exchange to other programs; it imports no other layer.',
  },
  'src/app': { rule: 'src/app puts the parts together.' },
};

/**
 * The rooms of the core, each with the files that it means others to import. The rest of a room is its own business:
 * what is outside reaches it through these.
 */
export const CORE_ROOMS: Readonly<Record<string, readonly string[] | 'all'>> = {
  quantities: [
    'account',
    'closure',
    'credit-line',
    'decimal',
    'joint-pool',
    'least-joint-distance',
    'position',
    'quantity',
    'roughly',
    'settings',
    'shown-side',
    'snapshot',
    'transfer',
    'units',
  ],
  fields: ['field-cache', 'field-catalogue', 'field-values', 'field-words'],
  rules: [
    'account-state',
    'active-requests',
    'active-window',
    'compiled-rules',
    'condition',
    'decision',
    'evaluate',
    'filter',
    'memory',
    'overtaken',
    'own-rules',
    'elapsed',
    'reason',
    'rule',
    'rule-parts',
    'rule-run',
    'rule-state',
    'subject',
    'subjects',
  ],
  risk: ['cadence', 'forecast', 'plan-next', 'time-left'],
  approvals: ['ask', 'held-orders', 'judge', 'question', 'words'],
  intents: [
    'account-plan',
    'admission',
    'brake',
    'brake-count',
    'end-intent',
    'gate',
    'intent',
    'intent-target',
    'learn-maintenance',
    'own-margin',
    'renew',
    'settle-intents',
    'targets',
  ],
  orders: [
    'activation-gap',
    'after-outage',
    'beside',
    'cancel-policy',
    'fence',
    'ladder',
    'way-to-liquidation',
    'market-steps',
    'net-exposure',
    'order-prices',
    'order-request',
    'order-set',
    'outstanding',
    'protective-stop',
    'rejection',
    'trial-order',
    'want',
  ],
  lanes: [
    'absence',
    'contest',
    'account-lane',
    'lane',
    'lane-change',
    'lane-clock',
    'lane-observe',
    'lane-state',
    'own-order',
    'lane-step',
    'market-read',
    'recover-lane',
    'route-requests',
  ],
  audit: ['audit-event', 'audit-record', 'recompute', 'sha256'],
  costs: [
    'action-cost',
    'closing-words',
    'cost-report',
    'cost-words',
    'follow-costs',
    'note-fills',
    'would-have',
  ],
  digest: ['account-digest', 'digest', 'digest-words', 'sighting'],
  controls: ['acknowledge', 'controls', 'daemon-sign', 'open-orders', 'operator-schemas', 'order-plan'],
  lines: ['account-row', 'exchange-link', 'position-words', 'process-troubles'],
  view: [
    'account-view',
    'action-log',
    'action-alarm-words',
    'alert-words',
    'blindness',
    'marks',
    'notice-facts',
    'lane-lines',
    'record-words',
    'state-line',
    'state-of',
    'stored-figures',
    'story',
    'stress-result',
    'view-account',
  ],
  redaction: ['conceal', 'foreign-words', 'redactor'],
  schema: ['parts'],
  text: 'all',
  ports: 'all',
};

function coreOnly(name: string, ...files: readonly string[]): Layer {
  return { imports: ['core/', ...files], rule: `${name} may import src/core and itself, no other layer.` };
}

/** Matches nothing. */
const NEVER = '[^\\s\\S]';

/** How deep folders nest inside a layer, at most; test/lint checks that none is deeper. */
const DEPTHS = [0, 1, 2, 3];

/** The rules of all layers, of the rooms of the core, and of what puts the parts together. */
export function layerOverrides(): OxlintOverride[] {
  return [
    ...Object.entries(LAYERS).flatMap(([folder, layer]) => layerRules(folder, layer)),
    override(['src/*.ts', 'workers/*.ts'], roomPatterns('')),
    override(
      ['src/core/quantities/decimal.ts'],
      restrictions('src/core', { ...layerOf('src/core'), packages: ['big.js', 'node:crypto'] }, 1),
    ),
  ];
}

function layerOf(folder: string): Layer {
  const layer = LAYERS[folder];
  if (layer === undefined) throw new RangeError(`no layer ${folder}`);
  return layer;
}

/**
 * A file n folders deep in its layer leaves the layer with n + 1 times `../`, whatever the target is called:
 * everything that climbs that far is refused unless listed.
 */
function layerRules(folder: string, layer: Layer): OxlintOverride[] {
  return DEPTHS.map((depth) =>
    override([`${folder}/${'*/'.repeat(depth)}*.ts`], restrictions(folder, layer, depth)),
  );
}

interface Pattern {
  readonly regex: string;
  readonly message: string;
}

function override(files: string[], patterns: readonly Pattern[]): OxlintOverride {
  return {
    files,
    rules: {
      'no-restricted-imports': ['error', { patterns: [...patterns] }],
      'typescript/no-require-imports': 'error',
      'import/no-dynamic-require': ['error', { esmodule: true }],
    },
  };
}

function restrictions(folder: string, { imports, rule, packages }: Layer, depth: number): Pattern[] {
  const outside =
    imports === undefined ? [] : [{ regex: `^(?:\\.\\./){${depth + 1}}${noneOf(imports)}`, message: rule }];
  const other = packages === undefined ? [] : [{ regex: `^${noneOf(packages, './#')}`, message: rule }];
  return [
    ...outside,
    ...roomPatterns(folder),
    {
      regex: '^\\./(?:.*/)?\\.\\.(?:/|$)|[^./][^/]*/\\.\\.(?:/|$)',
      message: `${rule} Write the shortest path.`,
    },
    { regex: '^(?:/|file:|data:|#)', message: `${rule} Use a relative path.` },
    { regex: '^(?:node:)?module$', message: `${rule} No require.` },
    ...other,
  ];
}

/** Refuses what lies deeper in a room of the core than the room means to show. */
function roomPatterns(folder: string): Pattern[] {
  const toCore = folder === 'src/core' ? '^\\.\\./' : '^(?:\\./|(?:\\.\\./)+(?:src/)?)core/';
  const rooms = Object.entries(CORE_ROOMS).flatMap(([room, shown]) =>
    shown === 'all'
      ? []
      : [
          {
            regex: `${toCore}${room}/${noneOf(shown.map((name) => `${name}.ts`))}`,
            message: `src/core/${room} shows ${shown.join(', ')} only (oxlint.layers.ts); the rest is its own.`,
          },
        ],
  );
  if (folder === 'src/core') return rooms;
  const names = Object.keys(CORE_ROOMS).map((room) => `${room}/`);
  const unknown = `${toCore}${noneOf(names)}`;
  return [...rooms, { regex: unknown, message: 'src/core has no such room: name it in oxlint.layers.ts.' }];
}

/**
 * A regular expression for a text that is none of these names, where `name/` stands for everything that starts
 * so; letter by letter, as the lint engine has no lookahead. It does not match what starts with one of `except`.
 */
function noneOf(names: readonly string[], except = ''): string {
  const ends = names.map((name) => (name.endsWith('/') ? name : `${name}${END}`));
  return names.length === 0 && except === '' ? '' : mismatch(ends, except);
}

/** Stands for the end of a name that is a file. */
const END = '\0';

function mismatch(rests: readonly string[], except = ''): string {
  if (rests.includes('')) return NEVER;
  const firsts = [...new Set(rests.map((rest) => rest.charAt(0)))];
  const letters = firsts.filter((first) => first !== END);
  const known = `${letters.join('')}${except}`;
  const other = known === '' ? '.' : `[^${escaped(known)}]`;
  const deeper = letters.map((letter) => {
    const after = rests.filter((rest) => rest.startsWith(letter)).map((rest) => rest.slice(1));
    return `${escaped(letter)}${mismatch(after)}`;
  });
  return `(?:${[other, ...deeper, ...(firsts.includes(END) ? [] : ['$'])].join('|')})`;
}

function escaped(text: string): string {
  return text.replaceAll('.', '\\.');
}
