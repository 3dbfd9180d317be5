/** The oldest version that runs the program, as in `engines` of package.json. */
export const OLDEST_NODE = '22.19';

/** Message for a Node that is too old, such as `v20.20.2`; undefined: it is new enough. Runs on any Node. */
export function tooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = numbersOf(version.replace('v', ''));
  const [oldest = 0, oldestMinor = 0] = numbersOf(OLDEST_NODE);
  if (major > oldest || (major === oldest && minor >= oldestMinor)) return undefined;
  return `this needs Node.js ${OLDEST_NODE} or newer, and this is ${version}. Install a newer one from https://nodejs.org; in a checkout, \`npm run breakwater\` brings its own on Linux.`;
}

function numbersOf(version: string): readonly number[] {
  return version.split('.').map(Number);
}
