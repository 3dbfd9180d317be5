import { registerHooks } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { RemovedGuard } from './guards.ts';

/** Plays worlds in a program without one guard: the worlds whose seeds it is sent, one after another. */
const port = parentPort;
const { file, text, instead } = workerData as RemovedGuard;
let isRemoved = false;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/src/${file}`)) return loaded;
    const source = new TextDecoder().decode(loaded.source as Uint8Array);
    if (source.split(text).length !== 2) throw new Error(`${file} has not once: ${text}`);
    isRemoved = true;
    return { ...loaded, source: source.replace(text, () => instead) };
  },
});

const [{ faultWorld }, { judge }] = await Promise.all([import('./fault-world.ts'), import('./judge.ts')]);
if (!isRemoved) throw new Error(`no world loads ${file}`);

port?.on('message', (seed: number) => {
  judge(faultWorld(seed)).then(
    (judged) => port.postMessage(judged),
    (error: unknown) => port.postMessage({ seed, violations: [`broken: ${String(error)}`] }),
  );
});
port?.postMessage('ready');
