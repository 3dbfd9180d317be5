/** Built-in causes of notices; they stand in place of a rule id. */
export const OWN_RULES = {
  blind: 'built-in/blind',
  notJudged: 'built-in/not-judged',
  stateRefused: 'built-in/state-refused',
  configRefused: 'built-in/config-refused',
  watchesLess: 'built-in/watches-less',
  queuePaused: 'built-in/queue-paused',
  ownTicks: 'built-in/own-ticks',
  channelFailed: 'built-in/channel-failed',
  withoutRedis: 'built-in/without-redis',
  mirrorDamaged: 'built-in/mirror-damaged',
  auditCut: 'built-in/audit-cut',
  company: 'built-in/company',
} as const;

export type OwnRule = (typeof OWN_RULES)[keyof typeof OWN_RULES];
