import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { GCProfiler, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Memory in use after collection: the heap, and the buffers outside it. */
export async function settledBytes(): Promise<number> {
  collectGarbage();
  // Finalizers run in a turn of their own, and free what a second collection takes.
  await sleep(5);
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/**
 * Bytes allocated from now on: on the heap exactly, as what collections have freed meanwhile is counted in; of buffers
 * outside it only by how much they are more at the end. Everything in the process counts, a server that the input talks to too.
 */
export function allocatedBytes(): () => number {
  const profiler = new GCProfiler();
  profiler.start();
  const before = getHeapStatistics();
  return () => {
    const after = getHeapStatistics();
    const collections = profiler.stop()?.statistics ?? [];
    const freed = collections.reduce(
      (sum, { beforeGC, afterGC }) =>
        sum + beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize,
      0,
    );
    const heap = after.used_heap_size - before.used_heap_size + freed;
    return heap + Math.max(0, after.external_memory - before.external_memory);
  };
}
