import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { GCProfiler, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Memory in use after collection: the heap, and the buffers outside it. */
export async function settledBytes(): Promise<number> {
  collectGarbage();
  // Finalizers run in a later turn, and release memory for a second collection.
  await sleep(5);
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/**
 * Bytes allocated from now on. The heap is counted exactly, because collected bytes are added back; buffers outside it
 * count only by their growth. The whole process counts, including a server that the input talks to.
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
