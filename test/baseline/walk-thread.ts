import { registerHooks } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parentPort } from 'node:worker_threads';
import type { WorldSpec } from '../../src/world/spec.ts';
import { isNode, type Node, visit } from './syntax.ts';
import { type Walk, type WalkAnswer, walkOf } from './walk.ts';

/**
 * Plays a world whose daemon says which functions it enters, and answers with the walks of two ticks: from the entry of
 * the tick to its durable commit, everything that the daemon does in that time. The sources are changed as they are
 * loaded: each function first says its number. What stands in for the exchange, the network and the machines does not.
 */

const ROOT = path.join(import.meta.dirname, '../..');
/** Where a tick enters the daemon, from the queue. */
const ENTRY = { file: 'src/app/poll-ticks.ts', name: 'take' };
/** Below src, and not the daemon. */
const SURROUNDINGS = /^src\/(?:world|simulator)\//;

interface Place {
  readonly file: string;
  /** With its place in the text. */
  readonly name: string;
  readonly isEntry: boolean;
}

const places: Place[] = [];
let entered: Place[] = [];

Reflect.set(globalThis, '__enter', (number: number) => {
  const place = places[number];
  if (place?.isEntry === true) entered = [];
  if (place !== undefined) entered.push(place);
});

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const file = url.startsWith('file:') ? path.relative(ROOT, fileURLToPath(url)) : '';
    if (!file.startsWith('src/') || !file.endsWith('.ts') || SURROUNDINGS.test(file)) return loaded;
    return { ...loaded, source: woven(file, new TextDecoder().decode(loaded.source as Uint8Array)) };
  },
});

/** The text of a file, in which each function first says that it is entered. */
function woven(file: string, text: string): string {
  const added: { readonly at: number; readonly text: string }[] = [];
  visit(text, (node, around) => {
    const body = node['body'];
    if (!/^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) return;
    if (!isNode(body)) return;
    const name = nameOf(node, around);
    const isEntry = file === ENTRY.file && name === ENTRY.name;
    const call = `__enter(${places.push({ file, name: `${name}:${node.start}`, isEntry }) - 1})`;
    const isBlock = text[body.start] === '{' && body.type !== 'ObjectExpression';
    if (isBlock) added.push({ at: body.start + 1, text: ` ${call};` });
    else added.push({ at: body.start, text: `(${call}, ` }, { at: body.end, text: ')' });
  });
  let [result, from] = ['', 0];
  for (const { at, text: more } of added.toSorted((a, b) => a.at - b.at)) {
    result += text.slice(from, at) + more;
    from = at;
  }
  return result + text.slice(from);
}

function nameOf(node: Node, around: Node | undefined): string {
  const named = node['id'] ?? around?.['key'];
  return isNode(named) && typeof named['name'] === 'string' ? named['name'] : '';
}

const MINUTE_MS = 60_000;
/** By then everything that happens once after a start is over. */
const SETTLED_MS = MINUTE_MS;

/** One account with one position; for two minutes the price hardly moves, then it falls at once and the rule reduces. */
const WORLD: WorldSpec = {
  seed: 1,
  durationMs: 4 * MINUTE_MS,
  exchange: {
    accounts: [
      {
        id: 'desk-1',
        collateral: { USDT: '4000' },
        positions: [{ market: 'BTC_PERP', side: 'long', amount: '0.500' }],
      },
    ],
  },
  prices: [
    {
      market: 'BTC_USDT',
      points: [
        [0, '60000'],
        [2 * MINUTE_MS, '59900'],
        [2 * MINUTE_MS + 500, '56000'],
      ],
      tickMs: 500,
    },
  ],
  daemons: [
    {
      name: 'north',
      config: `mode: enforce
exchange:
  baseUrls: ["https://one.example"]
cadence: { calm: 5s, alert: 1s }
markets:
  BTC_PERP: { amountStep: "0.001", priceStep: "0.1", minAmount: "0.001", maintenanceMargin: 3% }
accounts:
  - { id: desk-1, apiKey: { env: KEY }, apiSecret: { env: SECRET }, rules: [near] }
rules:
  - id: near
    on: position
    when: { liquidationDistance: { below: 5%, clearAbove: 7% } }
    do: [{ notify: {} }, { reduce: { untilDistance: 9%, slippage: 1% } }]
    severity: critical
`,
    },
  ],
};

async function play(): Promise<WalkAnswer> {
  const { openWorld } = await import('../../src/world/open-world.ts');
  const found: { calm?: Walk; reducing?: Walk } = {};
  let walk: Walk | undefined;
  const world = openWorld(WORLD, {
    observe: () => ({
      emit: (event) => {
        if (event.kind === 'commit' && event.by === 'poll') {
          walk = entered[0]?.isEntry === true ? walkOf(entered) : undefined;
          entered = [];
        } else if (event.kind === 'evaluated' && walk !== undefined) {
          const isReducing = event.evaluation.active.length > 0;
          if (isReducing) found.reducing ??= walk;
          else if (world.elapsedMs() > SETTLED_MS) found.calm ??= walk;
        }
      },
    }),
  });
  await world.run(() => found.reducing !== undefined && found.calm !== undefined);
  if (!places.some(({ isEntry }) => isEntry))
    return { error: `${ENTRY.file} has no ${ENTRY.name}: the walk's entry` };
  const { calm, reducing } = found;
  if (calm === undefined || reducing === undefined)
    return { error: 'The walk met no calm tick, or none that reduces' };
  return { calm, reducing };
}

const port = parentPort;
port?.postMessage(await play());
