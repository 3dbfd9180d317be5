import { globSync } from 'node:fs';
import path from 'node:path';

/** The strata of the sample: what of the sources they hold, their share of it, and what must be killed there. */

export const ROOT = path.resolve(import.meta.dirname, '../..');

export interface Room {
  readonly name: string;
  /** Globs below src/; a file belongs to the first room that has it. */
  readonly sources: readonly string[];
  /** Globs below test/ of the room's own tests, which are tried first. */
  readonly tests: readonly string[];
  /** Globs below test/ of tests of other layers that are about it, too. */
  readonly further?: readonly string[];
  /** Its part of a sample. */
  readonly weight: number;
  /** Smallest part of its mutants that has to be killed. */
  readonly goal: 0.9 | 0.85;
}

export const ROOMS: readonly Room[] = [
  {
    name: 'gate and fence',
    sources: ['core/intents/{gate,admission}.ts', 'core/orders/fence.ts', 'core/lanes/*doubt*.ts'],
    tests: ['core/{intents,lanes,orders}/*'],
    weight: 50,
    goal: 0.9,
  },
  coreRoom('orders', 75, 0.9),
  coreRoom('lanes', 75, 0.9),
  coreRoom('intents', 55, 0.9),
  coreRoom('rules', 65, 0.9),
  coreRoom('risk', 40),
  coreRoom('quantities', 50),
  { ...coreRoom('fields', 40), further: ['config/{generated,words,golden}'] },
  { ...coreRoom('costs', 25), further: ['cli/report', 'world/{priced,would-have}'] },
  { ...coreRoom('digest', 25), further: ['cli/digest', 'world/standing-alarm'] },
  { ...coreRoom('approvals', 20), further: ['web/orders', 'world/approval'] },
  {
    ...coreRoom('controls', 20),
    further: ['state/controls/*', 'web/{orders,links,api}', 'cli/{controls,orders}'],
  },
  { ...coreRoom('view', 45), further: ['cli/{status-lines,report}', 'notify/*', 'web/{api,action-feed}'] },
  {
    ...coreRoom('rest of the core', 20),
    sources: ['core/**/*.ts'],
    tests: ['core/{audit,lines,ports,redaction}/*'],
    further: ['state/{audit,mirror}/*', 'telemetry/*', 'notify/*', 'web/{links,api}', 'cli/audit'],
  },
  exchangeRoom('schemas', 25),
  exchangeRoom('nonce', 20),
  exchangeRoom('limits', 20),
  { ...exchangeRoom('client', 60), sources: ['exchange/**/*.ts'], tests: ['exchange/{,call/}*'] },
];

function coreRoom(name: string, weight: number, goal: Room['goal'] = 0.85): Room {
  return { name, sources: [`core/${name}/*.ts`], tests: [`core/${name}/*`], weight, goal };
}

function exchangeRoom(name: string, weight: number): Room {
  const tests = [`exchange/${name}/*`];
  const further = ['contract/{endpoints,errors,decimals,official-examples}', 'cli/call'];
  return { name: `exchange ${name}`, sources: [`exchange/${name}/*.ts`], tests, further, weight, goal: 0.85 };
}

/** Which worlds a mutant has to live through, last. */
const WORLDS = ['transcripts', 'unsure-orders'];
/** They work for seconds: of the others than worlds they come last, and for mutants of their own room only. */
const SLOW = [
  'exchange/call/held-loop',
  'exchange/nonce/nonce-sequences',
  'core/view/rule-lines',
  'core/redaction/conceal',
  'core/orders/client-order-id',
  'core/rules/evaluate',
  'pipeline/act/urgent',
  'pipeline/act/run-lane',
  'exchange/call/network',
  'exchange/call/deadlines',
  'exchange/call/sockets',
  'exchange/call/fates',
];
/** They take too long to be run for each mutant, wait, compare live times, or start processes that load the plain sources. */
const LEFT_OUT = [
  'core/lanes/histories',
  'core/lanes/starvation',
  'pipeline/act/waiting',
  'exchange/call/bounds',
  'exchange/nonce/nonce-processes',
];

/** Files of the sources with their room. */
export function sourceFiles(): ReadonlyMap<string, Room> {
  const found = new Map<string, Room>();
  for (const room of ROOMS) {
    for (const pattern of room.sources) {
      for (const file of globSync(`src/${pattern}`, { cwd: ROOT }).toSorted()) {
        if (!found.has(file)) found.set(file, room);
      }
    }
  }
  return found;
}

/** The tests that a mutant has to live through, in their order. */
export function testFilesOf(room: Room): readonly string[] {
  const isOfCore = room.sources.some((glob) => glob.startsWith('core/'));
  const own = inOrder(room.tests);
  const files = [
    ...own,
    ...inOrder([isOfCore ? 'core/**/*' : 'exchange/**/*', 'pipeline/**/*']),
    ...inOrder(room.further ?? []),
  ];
  const worlds = inOrder(WORLDS.map((name) => `world/${name}`));
  return [...new Set([...files.filter((file) => !isSlow(file)), ...own.filter(isSlow), ...worlds])];
}

function inOrder(patterns: readonly string[]): readonly string[] {
  const found = patterns.flatMap((pattern) => globSync(`test/${pattern}.test.ts`, { cwd: ROOT }));
  return [...new Set(found)].filter((file) => !LEFT_OUT.some((name) => file === testOf(name))).toSorted();
}

function isSlow(file: string): boolean {
  return SLOW.some((name) => file === testOf(name));
}

function testOf(name: string): string {
  return `test/${name}.test.ts`;
}
