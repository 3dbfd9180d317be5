/** Placeholders such as `{account}` in the links of notices. `page` is a path; the others are values and are escaped. */
export const LINK_PLACEHOLDERS = [
  'account',
  'rule',
  'subject',
  'market',
  'episode',
  'severity',
  'key',
  'page',
] as const;
export type LinkPlaceholder = (typeof LINK_PLACEHOLDERS)[number];
