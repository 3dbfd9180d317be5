/** What may go in plain text, or without a password, once the operator has said that the network is private. */
export const EXPOSURES = ['exchange', 'redis', 'channels', 'web'] as const;
export type Exposure = (typeof EXPOSURES)[number];
