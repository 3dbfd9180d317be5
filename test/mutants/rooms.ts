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
  coreRoom('fields', 40),
  coreRoom('costs', 25),
  coreRoom('digest', 25),
  coreRoom('approvals', 20),
  coreRoom('controls', 20),
  coreRoom('view', 45),
  { ...coreRoom('rest of the core', 20), sources: ['core/**/*.ts'], tests: ['core/{lines,redaction}/*'] },
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
  return { name: `exchange ${name}`, sources: [`exchange/${name}/*.ts`], tests, weight, goal: 0.85 };
}

/** Which worlds a mutant has to live through: those that take a second or two and differ most. */
const WORLDS = ['cancels', 'elsewhere', 'hedged', 'sets-refused', 'two-hands', 'unsure-orders'];
/** They work for seconds, and come last. */
const SLOW = [
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

/** Test files, by group; in each group in the order in which they are tried. */
export interface TestFiles {
  readonly own: ReadonlyMap<Room, readonly string[]>;
  readonly others: readonly string[];
}

export function testFiles(): TestFiles {
  const own = new Map(ROOMS.map((room) => [room, inOrder(room.tests).filter((file) => !isSlow(file))]));
  const others = [
    inOrder(['core/**/*', 'exchange/**/*']),
    inOrder(['pipeline/**/*']),
    inOrder(WORLDS.map((name) => `world/${name}`)),
  ].flat();
  return { own, others: [...others.filter((file) => !isSlow(file)), ...others.filter(isSlow)] };
}

function inOrder(patterns: readonly string[]): readonly string[] {
  const found = patterns.flatMap((pattern) => globSync(`test/${pattern}.test.ts`, { cwd: ROOT }));
  const used = [...new Set(found)].filter((file) => !LEFT_OUT.some((name) => file === testOf(name))).toSorted();
  return used;
}

function isSlow(file: string): boolean {
  return SLOW.some((name) => file === testOf(name));
}

function testOf(name: string): string {
  return `test/${name}.test.ts`;
}
