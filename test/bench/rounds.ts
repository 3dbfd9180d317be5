/** Figures from interleaved rounds, so that other load of the machine affects every contender alike. */

export interface Sample {
  /** Calls per second. */
  readonly throughput: number;
  /** Processor time of this process per call, in microseconds. */
  readonly cpuUs: number;
}

export type Contender = (calls: number) => Promise<void>;

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
};

/** The first round makes this many times the calls of the others; it warms up and does not count. */
const WARM_UP = 4;

/** Runs every contender once per round, in turn. */
export async function interleavedRounds<K extends string>(
  contenders: Readonly<Record<K, Contender>>,
  calls: number,
  rounds: number,
): Promise<Record<K, Sample[]>> {
  const names = Object.keys(contenders) as K[];
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample[]])) as Record<K, Sample[]>;
  for (let round = 0; round <= rounds; round += 1) {
    const order = round % 2 === 0 ? names : names.toReversed();
    for (const name of order) {
      const sample = await measure(contenders[name], round === 0 ? calls * WARM_UP : calls);
      if (round > 0) samples[name].push(sample);
    }
  }
  return samples;
}

async function measure(contender: Contender, calls: number): Promise<Sample> {
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  await contender(calls);
  const elapsedMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { throughput: (calls / elapsedMs) * 1000, cpuUs: (user + system) / calls };
}

/** Keeps `inFlight` calls under way until `calls` are done. */
export async function keepInFlight(
  inFlight: number,
  calls: number,
  call: () => Promise<void>,
): Promise<void> {
  let started = 0;
  const worker = async () => {
    while (started < calls) {
      started += 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

/** One figure, one line of JSON. */
export function report(figure: string, values: Readonly<Record<string, number>>): void {
  const rounded = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, Number(value.toPrecision(4))]),
  );
  process.stdout.write(`${JSON.stringify({ figure, ...rounded })}\n`);
}
