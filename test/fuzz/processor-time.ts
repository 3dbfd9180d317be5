import process from 'node:process';

let excludedMs = 0;

/** Runs the fuzzer's own work during an input: its time is excluded. */
export function excluded<T>(run: () => T): T {
  const spentMs = processorTime();
  try {
    return run();
  } finally {
    excludedMs += spentMs();
  }
}

/** Milliseconds of processor time from now on, without excluded work. */
export function countedTime(): () => number {
  const spentMs = processorTime();
  const before = excludedMs;
  return () => spentMs() - (excludedMs - before);
}

/** The same, for the longest turn of the event loop. */
export function longestTurn(): () => number {
  let longestMs = 0;
  let turn = countedTime();
  let next: NodeJS.Immediate | undefined;
  const look = (): void => {
    longestMs = Math.max(longestMs, turn());
    turn = countedTime();
    next = setImmediate(look);
  };
  next = setImmediate(look);
  return () => {
    clearImmediate(next);
    return Math.max(longestMs, turn());
  };
}

function processorTime(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
}
