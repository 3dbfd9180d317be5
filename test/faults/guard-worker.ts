import { registerHooks } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { GuardEdit, RemovedGuard } from './guards.ts';

/** Plays worlds in a program without one guard, one after another, by the seeds that it receives. */
const port = parentPort;
const { edits } = workerData as RemovedGuard;
const removed = new Set<GuardEdit>();

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const own = edits.filter(({ file }) => url.endsWith(`/src/${file}`));
    if (own.length === 0) return loaded;
    let source = new TextDecoder().decode(loaded.source as Uint8Array);
    for (const edit of own) {
      const { file, text, instead } = edit;
      if (source.split(text).length !== 2) throw new Error(`${file} has not once: ${text}`);
      removed.add(edit);
      source = source.replace(text, () => instead);
    }
    return { ...loaded, source };
  },
});

const [{ faultWorld }, { judge }] = await Promise.all([import('./fault-world.ts'), import('./judge.ts')]);
if (removed.size < edits.length) throw new Error('no world loads a file that lacks the guard');

port?.on('message', (seed: number) => {
  judge(faultWorld(seed)).then(
    (judged) => port.postMessage(judged),
    (error: unknown) => port.postMessage({ seed, violations: [`broken: ${String(error)}`] }),
  );
});
port?.postMessage('ready');
