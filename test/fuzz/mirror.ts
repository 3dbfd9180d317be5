import { BUCKETS } from '../../src/core/ports/state-store.ts';
import { systemClock } from '../../src/exchange/system-clock.ts';
import { createOperatorTrust } from '../../src/state/controls/operator-seal.ts';
import {
  accountFile,
  MirrorError,
  type MirrorOwner,
  PROCESS_FILE,
  segmentFile,
  writeMirrored,
  writeSegment,
} from '../../src/state/mirror/mirror-text.ts';
import { readMirror } from '../../src/state/mirror/read-mirror.ts';
import { createMemoryPlace, createMemoryState, createStandby } from '../../src/state/state.ts';
import { createMemoryDisk } from '../state/support/memory-mirror.ts';
import { commit, evaluation, load, note } from '../state/support/place.ts';
import { below, type Draw, mutatedJson, mutatedText, oneOf } from './mutate.ts';
import type { Boundary } from './target.ts';

const ID = 'desk';
const OPTIONS = { clock: systemClock, sharedNowMs: () => systemClock.nowMs() };
const KEY = 'a key of operators with 32 characters or more';

type Files = ReadonlyMap<string, string>;

/** What a process wrote while it was alone. */
async function filesOf(owner: MirrorOwner): Promise<Files> {
  const shared = createMemoryPlace(OPTIONS);
  const standby = createStandby(shared.backend, OPTIONS);
  standby.beginAlone(undefined, undefined);
  const state = createMemoryState(OPTIONS, { backend: standby });
  for (const step of [1, 2, 3]) {
    const base = await load(state, ID);
    const audit = [{ ...note(`counted ${step}`), attachments: { step } }];
    await commit(state, { base, documents: { evaluation: evaluation(ID, step) }, audit });
  }
  const source = standby.mirrored({ nowMs: () => systemClock.nowMs(), clockOffsetMs: () => 0 });
  const found = source.account(ID);
  if (found === undefined || found.records.length === 0) throw new Error('nothing was done alone');
  const { records, files, ...account } = found;
  return new Map([
    [PROCESS_FILE, writeMirrored(owner, source.process())],
    [accountFile(ID), writeMirrored(owner, account)],
    [segmentFile(ID), writeSegment(owner, { records, files })],
  ]);
}

/** A change by somebody with the key, or by a damaged disk: with a new seal, or with the old one. */
function changed(draw: Draw, text: string, { trust }: MirrorOwner): string {
  if (draw() < 0.2) return mutatedText(draw, text, '{}[]":,0123456789\n-e ');
  const lines = text.split('\n');
  const at = 1 + 2 * below(draw, Math.max(1, Math.floor(lines.length / 2)));
  const line = lines[at] ?? '';
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return mutatedText(draw, text, '{}":,09');
  }
  const next = mutatedJson(draw, value);
  const seal = draw() < 0.9 ? (trust.recordSeal(next) ?? '-') : (lines[at - 1] ?? '');
  return [...lines.slice(0, at - 1), seal, next, ...lines.slice(at + 1)].join('\n');
}

/** The files of a mirror are either loaded, or refused in words. */
export const MIRROR: Boundary = {
  name: 'mirror',
  async open() {
    const owners = [KEY, undefined].map((key): MirrorOwner => {
      const trust = createOperatorTrust({ key: () => key, isGuarded: true });
      return { prefix: 'bw', ordinal: 0, trust };
    });
    const written = await Promise.all(owners.map(async (owner) => ({ owner, files: await filesOf(owner) })));
    return {
      make(draw) {
        const { owner, files } = oneOf(draw, written);
        const name = oneOf(draw, [...files.keys()]);
        const text = changed(draw, files.get(name) ?? '', owner);
        return { text: `${name}\n${text}`, run: () => begin(new Map([...files, [name, text]]), owner) };
      },
      close: async () => undefined,
    };
  },
};

async function begin(files: Files, owner: MirrorOwner): Promise<void> {
  const place = createMemoryDisk();
  for (const [name, text] of files) await place.write(name, text);
  try {
    const found = await readMirror(place, owner);
    if (found === undefined) throw new Error('the mirror was overlooked');
    for (const fault of found.faults) worded(fault.words);
    const standby = createStandby(createMemoryPlace(OPTIONS).backend, OPTIONS);
    standby.beginAlone(found, undefined);
    const { store, audit } = createMemoryState(OPTIONS, { backend: standby });
    const { load: loaded } = await store.read(ID);
    if (loaded.kind === 'refused') worded(loaded.problem.message);
    const verdict = await audit.verify(ID);
    if (verdict.kind === 'broken') worded(verdict.words);
    const [bucket] = found.process.buckets;
    if (bucket !== undefined && bucket.index >= BUCKETS) throw new Error('a bucket that there is not');
  } catch (error) {
    if (!(error instanceof MirrorError)) throw error;
    worded(error.message);
  }
}

function worded(words: string): void {
  if (words === '' || words.length > 4_000) throw new Error(`words of ${words.length} characters`);
}
