/** Words for the reasons why a process is degraded, for page and command line. */
const DEGRADED_WORDS: Readonly<Record<string, string>> = {
  redis: 'Redis is lost, this process goes on alone',
  exchange_store: 'nonces and limits are kept by this process alone',
  schedule: 'the schedule of polls was disturbed',
  notify: 'notifications are not delivered',
  commands: 'commands and buttons of a chat are not heard (its log line botListens says why)',
  log: 'lines of its log are lost',
  config: 'the changed config file is refused, the one before it is in force (see breakwater check)',
  mirror: 'what it knows cannot be kept on disk (stateDir)',
};

export interface ProcessHealth {
  readonly degraded: readonly string[];
  readonly health: {
    readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly why?: string | null }[];
  };
}

export function degradedWords(reason: string): string {
  return DEGRADED_WORDS[reason] ?? `degraded: ${reason}`;
}

/** Troubles of the process. Accounts not judged yet are reported with the account. */
export function processTroubles({ degraded, health }: ProcessHealth): readonly string[] {
  const redis = health.checks.flatMap(({ name, ok, why }) =>
    name === 'redis' && !ok ? (why ?? 'Redis does not answer') : [],
  );
  // The health check says more, for example whether the process still acts.
  const others = degraded.filter((reason) => reason !== 'redis' || redis.length === 0);
  return [...redis, ...others.map(degradedWords)];
}
