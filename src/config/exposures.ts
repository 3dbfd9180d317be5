/** What may use plain text, or no password, if the operator declares the network private (`insecure`). */
export const EXPOSURES = ['exchange', 'redis', 'channels', 'web'] as const;
export type Exposure = (typeof EXPOSURES)[number];
